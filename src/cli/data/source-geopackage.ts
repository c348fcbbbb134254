import { statSync } from 'node:fs'
import { stateColumn } from '../../storage/columns/state-column.js'
import { openGeopackage } from '../../storage/formats/read-geopackage.js'
import { batched, type FeatureSource } from './feature-source.js'

/** EPSG code of the locations of a table. */
const WGS84 = 4326

/**
 * Opens the first layer of a GeoPackage: its geometry is that of the feature, its other columns are the
 * properties.
 *
 * @throws Error in one line when there is no layer, or its reference system is not WGS 84
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
  async function* features(onRead: (share: number) => void): AsyncGenerator<unknown> {
    let count = 0
    for await (const values of opened.records(columns)) {
      count++
      // rows have a few hundred bytes: the progress is a guess
      onRead(Math.min(0.99, (count * 300) / size))
      const properties = columns.flatMap(({ name }, at) => (at === place ? [] : [[name, values[at]]]))
      yield { type: 'Feature', geometry: values[place] ?? null, properties: Object.fromEntries(properties) }
    }
  }
  return {
    ...{ format: 'gpkg', places: 'records', close: () => opened.close() },
    batches: (onRead = () => undefined) => batched(features(onRead)),
  }
}
