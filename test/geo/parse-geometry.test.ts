import { deepStrictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { parseGeometry } from '../../src/geo/parse-geometry.js'
import { anyGeometry, earthPosition } from '../support/geometries.js'

const plain = anyGeometry(earthPosition)

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
    [{ type: 'Point', coordinates: [1] }, '$.g.coordinates', 'a position of 2 or 3 numbers'],
    [{ type: 'MultiPoint', coordinates: [[]] }, '$.g.coordinates[0]', 'a position of 2 or 3 numbers'],
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
