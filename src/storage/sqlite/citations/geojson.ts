import { formatDatetime } from '../../../datetime.js'
import type { Stored, ValueEnv } from '../../columns/column-type.js'
import type { StateColumn } from '../datasets/column.js'
import type { ExportedState } from './export.js'

/** RFC 7946 knows no other. */
const WGS84 = 4326

/**
 * A state as a GeoJSON FeatureCollection (RFC 7946), a Feature a line. The first geometry column is the Feature's geometry,
 * the others are GeoJSON within the properties. Values are as event data has them. The member `citation` says what is
 * cited and what the columns are.
 *
 * @throws Error when the geometry is not in WGS 84
 */
export async function* geojsonText(state: ExportedState): AsyncGenerator<string> {
  const { columns, pages, env } = state
  const place = columns.findIndex(({ srid }) => srid !== null)
  const srid = columns[place]?.srid ?? WGS84
  if (srid !== WGS84)
    throw new Error(
      `GeoJSON is WGS 84 and ${columns[place]?.name} has srid ${srid}: export it as gpkg or csv`,
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
              at === place ? [] : [[column.name, jsonValue(column, values[at] as Stored, env)]],
            ),
          )
          const geometry =
            place === -1 ? null : jsonValue(columns[place] as StateColumn, values[place] as Stored, env)
          return JSON.stringify({ type: 'Feature', geometry, properties })
        })
        .join(',\n')
    before = ',\n'
  }
  yield '\n]}\n'
}

/** What a file says of itself. */
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
  if (column.isFile) return Buffer.from(stored as Uint8Array).toString('base64')
  return column.isEncrypted ? stored : column.type.print(stored, env)
}
