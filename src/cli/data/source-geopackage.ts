import { statSync } from 'node:fs'
import { stateColumn } from '../../storage/columns/state-column.js'
import { openGeopackage } from '../../storage/formats/read-geopackage.js'
import { batched, type FeatureSource } from './feature-source.js'

/** What locations of a table are in. */
const WGS84 = 4326

/**
 * The first layer of a GeoPackage: its geometry is the feature's, its other columns are the properties.
 *
 * @throws Error in one line when there is no layer, or it is in other coordinates
 */
export function openGeopackageFeatures(file: string): FeatureSource {
  const { size } = statSync(file)
  const opened = openGeopackage(file)
  const columns = (opened.columns ?? []).map(stateColumn)
  const place = columns.findIndex(({ srid }) => srid !== null)
  const srid = columns[place]?.srid ?? WGS84
  if (srid !== WGS84) {
    opened.close()
    throw new Error(`${file} has coordinates of EPSG:${srid}, expected EPSG:4326: convert it first`)
  }
  let count = 0
  async function* features(): AsyncGenerator<unknown> {
    for await (const values of opened.records(columns)) {
      count++
      const properties = columns.flatMap(({ name }, at) => (at === place ? [] : [[name, values[at]]]))
      yield { type: 'Feature', geometry: values[place] ?? null, properties: Object.fromEntries(properties) }
    }
  }
  // a row takes some hundred bytes: the bar shows that something moves, not when it ends
  return {
    batches: () => batched(features()),
    fraction: () => Math.min(0.99, (count * 300) / size),
    close: () => opened.close(),
  }
}
