import type { Isochrone } from '../routing/search/isochrone.js'

/**
 * Writes the result of `routing.isochrone`: a GeoJSON FeatureCollection with a feature for each cost.
 *
 * @param costs hours, in the order of the isochrones
 * @returns JSON text
 */
export function isochroneText(
  map: string,
  costs: readonly number[],
  isochrones: readonly Isochrone[],
): string {
  const features = isochrones.map(({ junctionCount, polygons }, i) => ({
    type: 'Feature',
    geometry: { type: 'MultiPolygon', coordinates: polygons },
    properties: { cost: costs[i], nodes: junctionCount, map },
  }))
  return JSON.stringify({ type: 'FeatureCollection', features })
}
