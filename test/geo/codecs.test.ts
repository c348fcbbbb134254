import { deepStrictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { isFault } from '../../src/geo/fault.js'
import { parseGeometry } from '../../src/geo/parse-geometry.js'
import type { Geometry } from '../../src/geo/types.js'
import { decodeHexWkb, decodeWkb, encodeHexWkb, encodeWkb } from '../../src/geo/wkb.js'
import { decodeWkt, encodeWkt } from '../../src/geo/wkt.js'
import { anyGeometry, earthPosition } from '../support/geometries.js'

const bytesOf = (hex: string) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
const plain = anyGeometry(earthPosition)
/** JSON has no -0; neither do we promise it in text */
const positive = (geometry: Geometry): Geometry =>
  JSON.parse(JSON.stringify(geometry, (_, value) => (value === 0 ? 0 : value)))

t.test('property: wkb: reading gives back what was written', async () => {
  fc.assert(
    fc.property(plain, (geometry) => deepStrictEqual(decodeWkb(encodeWkb(geometry)), geometry)),
    { numRuns: 200 },
  )
  fc.assert(
    fc.property(plain, (geometry) => deepStrictEqual(decodeHexWkb(encodeHexWkb(geometry)), geometry)),
    { numRuns: 50 },
  )
})

t.test('property: wkt: reading gives back what was written', async () => {
  fc.assert(
    fc.property(plain.map(positive), (geometry) => deepStrictEqual(decodeWkt(encodeWkt(geometry)), geometry)),
    { numRuns: 200 },
  )
})

t.test('property: wkb: cut or changed bytes give a geometry or a fault, never a throw', async () => {
  fc.assert(
    fc.property(plain, fc.nat(), fc.nat({ max: 255 }), fc.nat(), (geometry, at, byte, end) => {
      const bytes = encodeWkb(geometry)
      bytes[at % bytes.length] = byte
      decodeWkb(bytes)
      const cut = decodeWkb(bytes.subarray(0, end % bytes.length))
      return isFault(cut)
    }),
    { numRuns: 300 },
  )
  t.pass()
})

t.test('property: wkt: any text gives a geometry or a fault, never a throw', async (t) => {
  const text = fc.oneof(
    fc.string(),
    fc.stringMatching(/^(POINT|POLYGON|MULTIPOINT|GEOMETRYCOLLECTION) ?Z? ?[()0-9 ,.e-]*$/),
  )
  fc.assert(
    fc.property(text, (value) => typeof decodeWkt(value) === 'object'),
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
})

t.test('wkt: accepted forms', async (t) => {
  const accepted: [string, Geometry][] = [
    ['POINT(1 2)', { type: 'Point', coordinates: [1, 2] }],
    ['  point z ( -1.5e1 +.5 3. ) ', { type: 'Point', coordinates: [-15, 0.5, 3] }],
    ['SRID=4326;POINTZ(1 2 3)', { type: 'Point', coordinates: [1, 2, 3] }],
    [
      'MULTIPOINT(1 2, (3 4))',
      {
        type: 'MultiPoint',
        coordinates: [
          [1, 2],
          [3, 4],
        ],
      },
    ],
    ['POLYGON EMPTY', { type: 'Polygon', coordinates: [] }],
    [
      'LINESTRING(0 0,1 1)',
      {
        type: 'LineString',
        coordinates: [
          [0, 0],
          [1, 1],
        ],
      },
    ],
    [
      'GEOMETRYCOLLECTION(POINT(1 2),GEOMETRYCOLLECTION EMPTY)',
      {
        type: 'GeometryCollection',
        geometries: [
          { type: 'Point', coordinates: [1, 2] },
          { type: 'GeometryCollection', geometries: [] },
        ],
      },
    ],
  ]
  for (const [text, expected] of accepted) t.strictSame(decodeWkt(text), expected, text)
})

t.test('wkt: refused forms name the character', async (t) => {
  const refused = [
    '',
    'POINT',
    'POINT()',
    'POINT(1)',
    'POINT(1 2 3 4)',
    'POINT M (1 2 3)',
    'POINT (1 1e400)',
    'POINT(1 2',
    'POINT(1 2))',
    'POINT EMPTY',
    'CIRCLE(1 2)',
    'POINT(1, 2)',
    'POINT(a b)',
    'POINT(1 2) x',
    'LINESTRING((0 0))',
    `${'GEOMETRYCOLLECTION('.repeat(40)}POINT(1 2)${')'.repeat(40)}`,
  ]
  for (const text of refused)
    t.match(decodeWkt(text), { path: /^WKT character \d+$/, expected: String }, text.slice(0, 30))
})

t.test('property: parseGeometry: every valid geometry passes unchanged', async () => {
  fc.assert(
    fc.property(plain, (geometry) => deepStrictEqual(parseGeometry(geometry, '$'), geometry)),
    { numRuns: 200 },
  )
})

t.test('parseGeometry: faults name the place, what was found and what was expected', async (t) => {
  const ring = [
    [0, 0],
    [1, 0],
    [1, 1],
    [0, 0],
  ]
  const refused: [unknown, string, string][] = [
    [null, '$.g', 'a GeoJSON geometry object'],
    [[1, 2], '$.g', 'a GeoJSON geometry object'],
    [{ type: 'Circle', coordinates: [1, 2] }, '$.g.type', 'one of'],
    [{ type: 'toString', coordinates: [1, 2] }, '$.g.type', 'one of'],
    [{ type: 'Point' }, '$.g.coordinates', 'an array'],
    [{ type: 'Point', coordinates: [] }, '$.g.coordinates', 'a position of 2 or 3 numbers'],
    [{ type: 'Point', coordinates: [1, 2, 3, 4] }, '$.g.coordinates', 'a position of 2 or 3 numbers'],
    [{ type: 'Point', coordinates: [181, 2] }, '$.g.coordinates[0]', 'a longitude from -180 to 180'],
    [{ type: 'Point', coordinates: [18, -90.001] }, '$.g.coordinates[1]', 'a latitude from -90 to 90'],
    [{ type: 'Point', coordinates: [18, '9'] }, '$.g.coordinates[1]', 'a finite number'],
    [{ type: 'Point', coordinates: [Number.NaN, 0] }, '$.g.coordinates[0]', 'a finite number'],
    [{ type: 'Point', coordinates: [0, Infinity] }, '$.g.coordinates[1]', 'a finite number'],
    [{ type: 'MultiPoint', coordinates: [[1, 2], 3] }, '$.g.coordinates[1]', 'a position'],
    [{ type: 'LineString', coordinates: [[1, 2]] }, '$.g.coordinates', 'a line of 2 or more positions'],
    [
      {
        type: 'LineString',
        coordinates: [
          [1, 2],
          [3, null],
        ],
      },
      '$.g.coordinates[1][1]',
      'a finite number',
    ],
    [
      {
        type: 'Polygon',
        coordinates: [
          [
            [0, 0],
            [1, 1],
            [0, 0],
          ],
        ],
      },
      '$.g.coordinates[0]',
      'a ring of 4',
    ],
    [
      {
        type: 'Polygon',
        coordinates: [
          [
            [0, 0],
            [1, 1],
            [1, 0],
            [0, 1],
          ],
        ],
      },
      '$.g.coordinates[0]',
      'a closed ring',
    ],
    [{ type: 'Polygon', coordinates: [ring, 'x'] }, '$.g.coordinates[1]', 'an array of positions'],
    [{ type: 'MultiPolygon', coordinates: [[ring], ring] }, '$.g.coordinates[1][0]', 'a ring of 4'],
    [
      { type: 'GeometryCollection', geometries: [{ type: 'Point', coordinates: [0, 91] }] },
      '$.g.geometries[0].coordinates[1]',
      'a latitude',
    ],
    [{ type: 'GeometryCollection', coordinates: [] }, '$.g.geometries', 'an array of geometries'],
  ]
  for (const [json, path, expected] of refused) {
    const fault = parseGeometry(json, '$.g')
    t.match(fault, { path, found: String, expected: new RegExp(`^${expected}`) }, JSON.stringify(json))
  }
})

t.test('parseGeometry: bounds on nesting, on positions, and on coordinates of other srids', async (t) => {
  let nested: unknown = { type: 'Point', coordinates: [0, 0] }
  for (let depth = 0; depth < 20; depth++) nested = { type: 'GeometryCollection', geometries: [nested] }
  t.match(parseGeometry(nested, '$'), { expected: 'at most 16 nested collections' })
  const many = { type: 'MultiPoint', coordinates: Array.from({ length: 1_000_001 }, () => [0, 0]) }
  t.match(parseGeometry(many, '$'), { expected: 'at most 1000000 in one geometry' })
  const projected = { type: 'Point', coordinates: [400_000, 5_600_000] }
  t.strictSame(parseGeometry(projected, '$', 32633), projected)
  t.match(parseGeometry({ type: 'Point', coordinates: [0, 1e200] }, '$', 32633), { path: '$.coordinates[1]' })
})
