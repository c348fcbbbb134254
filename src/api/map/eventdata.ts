import type { z } from 'zod'
import { AppError } from '../../errors.js'
import { prepareArea } from '../../geo/prepared-area.js'
import { defineMethod } from '../../rpc/define-method.js'
import { streamed } from '../../rpc/result.js'
import type { LoaderTable, TableQuery } from '../../storage/tables.js'
import { collectionText } from './collection.js'
import type { MapContext } from './context.js'
import { readPeriod } from './read-period.js'
import { EventdataParams, EventdataResult } from './schema.js'

export const eventdata = defineMethod({
  name: 'mapserv.eventdata',
  summary: 'Records of a data loader table whose geometry intersects an area exactly',
  scope: 'map:read',
  errors: ['UNKNOWN_TABLE', 'BAD_CONDITION'],
  params: EventdataParams,
  result: EventdataResult,
  paramsIn: 'array',
  handle(params, context: MapContext) {
    const name = params.properties.table
    const table = context.tables.find(name)
    if (table === undefined) throw unknownTable(name)
    return streamed(collectionText(undefined, readFeatures(table, queryOf(params, context), context)))
  },
})

/** A member that is not asked for is left out, not undefined: the reader tells the two apart. */
function queryOf(params: z.output<typeof EventdataParams>, { timeZoneMin }: MapContext): TableQuery {
  const { columns, conds, limit, offset, order } = params.properties
  const span = readPeriod(params.properties, timeZoneMin)
  return {
    columns,
    conds,
    order,
    ...(params.geometry === null ? {} : { area: prepareArea(params.geometry) }),
    ...(span === undefined ? {} : { span }),
    ...(limit === undefined ? {} : { limit }),
    ...(offset === undefined ? {} : { offset }),
  }
}

/** `table` stands first among the properties; a column of that name, which is legal, takes its place. */
async function* readFeatures(
  table: LoaderTable,
  query: TableQuery,
  { tables, signal }: MapContext,
): AsyncGenerator<string[]> {
  const name = `${table.schema}.${table.tableName}`
  for await (const page of tables.pages(table, query, signal)) {
    yield page.map(({ geometry, properties }) =>
      JSON.stringify({ type: 'Feature', geometry, properties: { table: name, ...properties } }),
    )
  }
}

function unknownTable(name: string): AppError {
  const shown = name.slice(0, 100)
  const message = `found ${JSON.stringify(shown)}, expected the name of a registered table`
  return new AppError('UNKNOWN_TABLE', { data_name: shown }, { message: `Unknown table: ${message}` })
}
