import { deepStrictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { GEOMETRY_LIMITS } from '../../src/geo/limits.js'
import type { Geometry } from '../../src/geo/types.js'
import { decodeWkt, encodeWkt } from '../../src/geo/wkt.js'
import { anyGeometry, earthPosition } from '../support/geometries.js'

const plain = anyGeometry(earthPosition)

/** JSON has no -0; neither do we promise it in text */
const positive = (geometry: Geometry): Geometry =>
  JSON.parse(JSON.stringify(geometry, (_, value) => (value === 0 ? 0 : value)))

t.test('property: wkt: decoding restores what was encoded', async () => {
  fc.assert(
    fc.property(plain.map(positive), (geometry) => deepStrictEqual(decodeWkt(encodeWkt(geometry)), geometry)),
    { numRuns: 200 },
  )
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
    ['POINT EMPTY', { type: 'Point', coordinates: [] as unknown as [number, number] }],
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

t.test('wkt: more positions than allowed are refused', async (t) => {
  const { maxPositions } = GEOMETRY_LIMITS
  const points = (count: number) => `MULTIPOINT (${'0 0,'.repeat(count - 1)}0 0)`
  t.match(decodeWkt(points(maxPositions + 2)), { expected: `at most ${maxPositions} positions` })
  t.match(decodeWkt(points(maxPositions)), { type: 'MultiPoint' })
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
