import type { Geometry } from './types.js'

/** Splits a geometry into its areas, and its points and lines. Either may be an empty collection. */
export function splitByDimension(geometry: Geometry): { areas: Geometry; flat: Geometry } {
  const areas: Geometry[] = []
  const flat: Geometry[] = []
  sort(geometry, areas, flat)
  return {
    areas: { type: 'GeometryCollection', geometries: areas },
    flat: { type: 'GeometryCollection', geometries: flat },
  }
}

function sort(geometry: Geometry, areas: Geometry[], flat: Geometry[]): void {
  if (geometry.type === 'GeometryCollection') {
    for (const member of geometry.geometries) sort(member, areas, flat)
  } else if (geometry.type === 'Polygon' || geometry.type === 'MultiPolygon') {
    areas.push(geometry)
  } else {
    flat.push(geometry)
  }
}
