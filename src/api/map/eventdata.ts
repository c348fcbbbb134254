import type { z } from 'zod'
import { prepareArea } from '../../geo/prepared-area.js'
import { defineMethod } from '../../rpc/define-method.js'
import { streamed } from '../../rpc/result.js'
import type { LoaderTable, TableQuery } from '../../storage/tables.js'
import { unknownTable } from '../../tables/loader.js'
import { collectionText } from '../feature-collection.js'
import { readPeriod } from '../period.js'
import { type MapContext, requireReading } from './context.js'
import { EventdataParams, EventdataResult } from './schema.js'

export const eventdata = defineMethod({
  name: 'mapserv.eventdata',
  summary:
    'Records of a data loader table whose geometry intersects an area exactly. A dataset needs dataset:read, too',
  scope: 'map:read',
  errors: ['UNKNOWN_TABLE', 'BAD_CONDITION'],
  params: EventdataParams,
  result: EventdataResult,
  paramsIn: 'array',
  async handle(params, context: MapContext) {
    const name = params.properties.table
    const table = await context.tables.find(name)
    if (table === undefined) throw unknownTable(name)
    requireReading(table, context)
    return streamed(collectionText(undefined, readFeatures(table, queryOf(params, context), context)))
  },
})

/** Returns the query of a call; an absent member is left out instead of set to undefined. */
function queryOf(params: z.output<typeof EventdataParams>, { timeZoneMin }: MapContext): TableQuery {
  const { columns, conds, limit, offset, order } = params.properties
  const query: TableQuery = { columns, conds, order }
  const span = readPeriod(params.properties, timeZoneMin)
  if (params.geometry !== null) query.area = prepareArea(params.geometry)
  if (span !== undefined) query.span = span
  if (limit !== undefined) query.limit = limit
  if (offset !== undefined) query.offset = offset
  return query
}

/** Yields texts of Features. The property `table` comes first; a column of that name replaces it. */
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
