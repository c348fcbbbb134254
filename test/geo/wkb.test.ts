import { deepStrictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { isFault } from '../../src/geo/fault.js'
import { GEOMETRY_LIMITS } from '../../src/geo/limits.js'
import type { Geometry } from '../../src/geo/types.js'
import { decodeHexWkb, decodeWkb, encodeHexWkb, encodeWkb } from '../../src/geo/wkb.js'
import { anyGeometry, earthPosition } from '../support/geometries.js'

const bytesOf = (hex: string) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))

const plain = anyGeometry(earthPosition)

t.test('property: wkb: decoding restores what was encoded', async () => {
  fc.assert(
    fc.property(plain, (geometry) => deepStrictEqual(decodeWkb(encodeWkb(geometry)), unsigned(geometry))),
    { numRuns: 200 },
  )
  fc.assert(
    fc.property(plain, (geometry) =>
      deepStrictEqual(decodeHexWkb(encodeHexWkb(geometry)), unsigned(geometry)),
    ),
    { numRuns: 50 },
  )
})

/** A geometry whose zeros have no sign. */
function unsigned(geometry: Geometry): Geometry {
  return JSON.parse(JSON.stringify(geometry)) as Geometry // the text of -0 is 0
}

t.test('property: wkb: cut or changed bytes give a geometry or a fault, never a throw', async () => {
  fc.assert(
    fc.property(plain, fc.nat(), fc.nat({ max: 255 }), fc.nat(), (geometry, at, byte, end) => {
      const bytes = encodeWkb(geometry)
      const cut = decodeWkb(bytes.subarray(0, end % bytes.length))
      bytes[at % bytes.length] = byte
      // the beginning of another type may be a whole geometry
      for (const changed of [bytes, bytes.subarray(0, end % bytes.length)]) decodeWkb(changed)
      return isFault(cut)
    }),
    { numRuns: 300 },
  )
  t.pass()
})

t.test('wkb: accepted forms', async (t) => {
  const point: Geometry = { type: 'Point', coordinates: [1, 2] }
  const accepted: [string, string, Geometry][] = [
    ['little endian', '0101000000000000000000F03F0000000000000040', point],
    ['big endian', '00000000013FF00000000000004000000000000000', point],
    ['EWKB with SRID', '0101000020E6100000000000000000F03F0000000000000040', point],
    [
      'EWKB Z',
      '0101000080000000000000F03F00000000000000400000000000000840',
      { type: 'Point', coordinates: [1, 2, 3] },
    ],
    [
      'ISO Z',
      '01E9030000000000000000F03F00000000000000400000000000000840',
      { type: 'Point', coordinates: [1, 2, 3] },
    ],
    [
      'members of mixed byte order',
      `0000000004000000010101000000000000000000F03F0000000000000040`,
      { type: 'MultiPoint', coordinates: [[1, 2]] },
    ],
    ['empty line', '010200000000000000', { type: 'LineString', coordinates: [] }],
    ['hex with \\x', '\\x0101000000000000000000f03f0000000000000040', point],
  ]
  for (const [name, hex, expected] of accepted) t.strictSame(decodeHexWkb(hex), expected, name)
  const inside = new Uint8Array(40)
  inside.set(bytesOf('0101000000000000000000F03F0000000000000040'), 7)
  t.strictSame(decodeWkb(inside.subarray(7, 28)), point, 'a view into a larger buffer')
  t.equal(encodeHexWkb(point), '0101000000000000000000F03F0000000000000040')
})

t.test('wkb: refused forms name the byte', async (t) => {
  const refused: [string, string, string][] = [
    ['nothing', '', 'WKB byte 0'],
    ['byte order 2', '0201000000000000000000F03F0000000000000040', 'WKB byte 0'],
    ['type 8', '0108000000000000000000F03F0000000000000040', 'WKB byte 5'],
    ['measures, ISO', '01D1070000000000000000F03F00000000000000400000000000000840', 'WKB byte 5'],
    ['measures, EWKB', '0101000040000000000000F03F00000000000000400000000000000840', 'WKB byte 5'],
    ['one byte short', '0101000000000000000000F03F00000000000000', 'WKB byte 5'],
    ['one byte more', '0101000000000000000000F03F000000000000004000', 'WKB byte 21'],
    ['a count beyond the bytes', '0102000000FFFFFF7F', 'WKB byte 9'],
    ['a line in a multipoint', '010400000001000000010200000000000000', 'WKB byte 14'],
  ]
  for (const [name, hex, path] of refused)
    t.match(decodeWkb(bytesOf(hex)), { path, found: String, expected: String }, name)
  for (const hex of ['zz', '010', '']) t.match(decodeHexWkb(hex), { path: 'hex WKB' })
})

t.test('wkb: collections nested too deep are refused', async (t) => {
  const bytes = new Uint8Array(9 * 40)
  for (let at = 0; at < bytes.length; at += 9) bytes.set([1, 7, 0, 0, 0, 1, 0, 0, 0], at)
  t.match(decodeWkb(bytes), { found: 'a deeper collection' })
  const nested = (depth: number): Geometry =>
    depth === 0
      ? { type: 'Point', coordinates: [1, 2] }
      : { type: 'GeometryCollection', geometries: [nested(depth - 1)] }
  const { maxDepth } = GEOMETRY_LIMITS
  t.same(decodeWkb(encodeWkb(nested(maxDepth))), nested(maxDepth), 'as deep as allowed')
  t.match(decodeWkb(encodeWkb(nested(maxDepth + 1))), { found: 'a deeper collection' })
})
