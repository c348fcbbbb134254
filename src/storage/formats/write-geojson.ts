import { formatDatetime } from '../../datetime.js'
import type { Stored, ValueEnv } from '../columns/column-type.js'
import type { StateColumn } from '../columns/state-column.js'
import type { ExportedState } from './exported-state.js'

/** The only reference system of RFC 7946. */
const WGS84 = 4326

/**
 * Yields rows as a GeoJSON FeatureCollection (RFC 7946), one Feature per line. The first geometry column is
 * the Feature's geometry; further ones are GeoJSON among the properties. Values have the form of event data.
 * The member `citation` describes the cited state and its columns.
 *
 * @throws Error when the geometry is not in WGS 84
 */
export async function* geojsonText(state: ExportedState): AsyncGenerator<string> {
  const { columns, pages, env } = state
  const geometryAt = columns.findIndex(({ srid }) => srid !== null)
  const place = columns[geometryAt]
  if (place !== undefined && place.srid !== WGS84)
    throw new Error(
      `${place.name}: found srid ${place.srid}, GeoJSON has ${WGS84} only; export it as gpkg or csv`,
    )
  const citation = JSON.stringify(describeCitation(state))
  yield `{"type":"FeatureCollection","citation":${citation},"features":[`
  let before = '\n'
  for await (const rows of pages) {
    yield before +
      rows
        .map(({ values }) => {
          const properties = Object.fromEntries(
            columns.flatMap((column, at) =>
              at === geometryAt ? [] : [[column.name, jsonValue(column, values[at] ?? null, env)]],
            ),
          )
          const geometry = place === undefined ? null : jsonValue(place, values[geometryAt] ?? null, env)
          return JSON.stringify({ type: 'Feature', geometry, properties })
        })
        .join(',\n')
    before = ',\n'
  }
  yield '\n]}\n'
}

/** Returns the description of the cited state that exported files carry. */
export function describeCitation({ citation, columns, keyColumns, env }: ExportedState) {
  const time = (us: number) => formatDatetime(us, env.timeZoneMin)
  return {
    long_form: citation.longForm,
    dataset_name: citation.datasetName,
    transaction_time: time(citation.transactionTimeUs),
    created_at: time(citation.createdAtUs),
    checksum: citation.checksum,
    columns: columns.map(({ name, typeText, isNullable }) => ({
      column_name: name,
      data_type: typeText,
      nullable: isNullable,
    })),
    key_columns: keyColumns,
  }
}

function jsonValue(column: StateColumn, stored: Stored, env: ValueEnv): unknown {
  if (stored === null) return null
  if (column.isFile && stored instanceof Uint8Array) return Buffer.from(stored).toString('base64')
  return column.isEncrypted ? stored : column.type.print(stored, env)
}
