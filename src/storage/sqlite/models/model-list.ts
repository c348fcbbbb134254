import type { ValueEnv } from '../../columns/column-type.js'
import { typeOf, type UdtName } from '../../columns/column-types.js'
import { compileCondition } from '../../columns/condition.js'
import { parseOrder } from '../../columns/order.js'
import type { Db } from '../connection/database.js'
import type { StateDb } from '../connection/state-db.js'
import { MODEL_SELECT, type ModelRecord, type ModelRow, SHOWN, toModelRecord } from './model.js'
import { type ModelStoreRecord, toStoreRecord } from './model-store.js'

/** `conds`, `order`, `limit` and `offset` as a caller sent them. Absent `limit` means all. */
export interface ListQuery {
  conds?: unknown
  order?: unknown
  limit?: number | undefined
  offset?: number | undefined
  env: ValueEnv
}

/** Lists of `state.db` that callers may filter. @throws AppError BAD_CONDITION naming the place */
export interface Lists {
  models(storeId: number, query: ListQuery): Promise<ModelRecord[]>
  stores(query: ListQuery): Promise<ModelStoreRecord[]>
}

/** Names that callers know → where the value stands. */
export type ListFields = Record<string, { sql: string; type: UdtName }>

const MODEL_FIELDS: ListFields = {
  model_id: { sql: 'm.model_id', type: 'text' },
  model_kind: { sql: 'm.kind', type: 'text' },
  model_description: { sql: 'm.description', type: 'text' },
  model_meta: { sql: 'm.meta', type: 'text' },
  model_hash: { sql: 'm.md5', type: 'text' },
  model_sha256: { sql: 'm.sha256', type: 'text' },
  model_size: { sql: 'm.size_bytes', type: 'int8' },
  model_state: { sql: 'm.state', type: 'int4' },
  hop_count: { sql: 'm.hop_count', type: 'int4' },
  round: { sql: 'm.round', type: 'int4' },
  start_datetime: { sql: 'm.start_us', type: 'timestamptz' },
  end_datetime: { sql: 'm.end_us', type: 'timestamptz' },
  tenant_id: { sql: 'm.tenant_id', type: 'text' },
}

const STORE_FIELDS: ListFields = {
  id: { sql: 's.store_id', type: 'int8' },
  model_store_ddc: { sql: 's.name', type: 'text' },
  long_form: { sql: 's.long_form', type: 'text' },
  created_at: { sql: 's.created_at_us', type: 'timestamptz' },
}

export function createLists({ db }: StateDb): Lists {
  return {
    async models(storeId, query) {
      const tail = listTail(MODEL_FIELDS, 'm.seq', query)
      const sql = `${MODEL_SELECT} WHERE m.store_id = ? AND ${SHOWN} AND ${tail.sql}`
      return all<ModelRow>(db, sql, [storeId, ...tail.values]).map(toModelRecord)
    },
    async stores(query) {
      const tail = listTail(STORE_FIELDS, 's.store_id', query)
      type Row = Parameters<typeof toStoreRecord>[0]
      return all<Row>(db, `SELECT s.* FROM model_store s WHERE ${tail.sql}`, tail.values).map(toStoreRecord)
    },
  }
}

/**
 * What follows `WHERE` in a list that callers may filter and order.
 *
 * @param tieSql column that makes the order total, so that paging is stable
 */
export function listTail(
  fields: ListFields,
  tieSql: string,
  query: ListQuery,
): { sql: string; values: unknown[] } {
  const columns = new Map(
    Object.entries(fields).map(([name, { type }]) => [
      name,
      { type: typeOf(type), isEncrypted: false, srid: null },
    ]),
  )
  const sqlOf = (name: string) => fields[name]?.sql ?? 'NULL' // the column was looked up before
  const condition = compileCondition(
    query.conds,
    { columns, env: query.env, sqlOf, addArea: () => 0 },
    '$.conds',
  )
  const terms = parseOrder(query.order, columns, '$.order').map(
    ({ column, isDescending }) => `${sqlOf(column)}${isDescending ? ' DESC' : ''}`,
  )
  return {
    sql: `${condition.sql} ORDER BY ${[...terms, tieSql].join(', ')} LIMIT ? OFFSET ?`,
    values: [...condition.params, query.limit ?? -1, query.offset ?? 0],
  }
}

/** Prepared anew each time: the texts come from callers, so there is no bound to how many there are. */
export function all<Row>(db: Db, sql: string, values: unknown[]): Row[] {
  return db.prepare<unknown[], Row>(sql).all(...values)
}
