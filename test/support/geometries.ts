import fc from 'fast-check'
import type { Geometry, Position } from '../../src/geo/types.js'

/** Any valid GeoJSON geometry over the given positions, empty ones and nested collections too. */
export function anyGeometry(position: fc.Arbitrary<Position>): fc.Arbitrary<Geometry> {
  const line = fc.array(position, { minLength: 2, maxLength: 6 })
  const ring = fc
    .array(position, { minLength: 3, maxLength: 6 })
    .map((open) => [...open, open[0] as Position])
  const rings = fc.array(ring, { maxLength: 3 })
  const simple: fc.Arbitrary<Geometry> = fc.oneof(
    record({ type: fc.constant('Point' as const), coordinates: position }),
    // the type of a point has a position; an empty one has none
    record({ type: fc.constant('Point' as const), coordinates: fc.constant([] as unknown as Position) }),
    record({
      type: fc.constant('MultiPoint' as const),
      coordinates: fc.array(position, { maxLength: 5 }),
    }),
    record({
      type: fc.constant('LineString' as const),
      coordinates: fc.oneof(line, fc.constant<Position[]>([])),
    }),
    record({
      type: fc.constant('MultiLineString' as const),
      coordinates: fc.array(line, { maxLength: 3 }),
    }),
    record({ type: fc.constant('Polygon' as const), coordinates: rings }),
    record({ type: fc.constant('MultiPolygon' as const), coordinates: fc.array(rings, { maxLength: 3 }) }),
  )
  const { geometry } = fc.letrec<{ geometry: Geometry; collection: Geometry }>((tie) => ({
    collection: record({
      type: fc.constant('GeometryCollection' as const),
      geometries: fc.array(tie('geometry'), { maxLength: 3 }),
    }),
    geometry: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      { arbitrary: simple, weight: 4 },
      tie('collection'),
    ),
  }))
  return geometry
}

/** Positions anywhere on Earth, with every kind of double, some with heights. */
export const earthPosition: fc.Arbitrary<Position> = fc.oneof(
  fc.tuple(degrees(180), degrees(90)),
  fc.tuple(degrees(180), degrees(90), fc.double({ noNaN: true, min: -1e5, max: 1e5 })),
) as fc.Arbitrary<Position>

/** Positions on a small lattice, where touching, crossing and running along are common. */
export function latticePosition(max: number): fc.Arbitrary<Position> {
  return fc.tuple(fc.nat({ max }), fc.nat({ max })) as fc.Arbitrary<Position>
}

function degrees(limit: number): fc.Arbitrary<number> {
  return fc.double({ noNaN: true, min: -limit, max: limit })
}

/** Records as `JSON.parse` makes them. */
function record<T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> {
  return fc.record(model, { noNullPrototype: true }) as fc.Arbitrary<T>
}
