import type { ValueEnv } from '../../columns/column-type.js'
import type { DayRows } from '../../exchange/day-rows.js'
import { START } from '../../records/record-plan.js'
import type { ChangedRow, ChangeFilter, LoaderTable, TableChanges } from '../../tables.js'
import type { Rows, TextRow } from '../connection/database.js'
import { changedAfterSql, ORIGIN_SQL, selectChanged } from '../tables/changed-sql.js'
import { columnName, rowsName } from '../tables/ddl.js'
import type { TablesContext } from '../tables/store.js'
import { CHANGED_HEAD, toChangedRow } from './changed-row.js'
import { decide } from './condition-sql.js'
import { createDayRows } from './day-rows.js'
import { planQuery, whereSql } from './query.js'

/** Paths of a condition of changed rows, for messages. */
const PATHS = { conds: '$.conds', order: '$.order', columns: '$.columns' }

/** Creates the reader of changes. A change that it has passed by never comes later: writers of a table take turns. */
export function createTableChanges({ db }: Pick<TablesContext, 'db'>): TableChanges & DayRows {
  const { read } = db
  return {
    last: async (table) => (await readNumbers(read, table)).last,
    after: async (table, change, limit) =>
      readAfter(read, table, await readNumbers(read, table), { change, limit }),
    ...createDayRows(read),
    matching: (table, change, limit, filter) => readMatching(read, table, { change, limit }, filter),
  }
}

/** Numbers of a table. */
interface Numbers {
  /** number of the last change, 0 for an empty table and one that was dropped */
  readonly last: number
  /** base of the versions of this hub's own rows */
  readonly base: number
}

/** Reads the numbers: before the rows, so that none is passed by that is committed meanwhile. */
async function readNumbers(rows: Rows, table: LoaderTable): Promise<Numbers> {
  const sql = `SELECT last_change AS last, versions_from_us AS base
    FROM loader_state JOIN loader_table USING (table_id) WHERE table_id = $1`
  return (await rows.get<Numbers>(sql, table.tableId)) ?? { last: 0, base: 0 }
}

interface Window {
  /** rows that changed after it */
  readonly change: number
  /** most rows, or changes that are looked at */
  readonly limit: number
}

async function readAfter(
  rows: Rows,
  table: LoaderTable,
  { base }: Numbers,
  { change, limit }: Window,
): Promise<ChangedRow[]> {
  const found = await rows.lists(changedAfterSql(table, ORIGIN_SQL), [change, limit], 'kept')
  return found.map((row) => toChangedRow(table, row, base))
}

/**
 * Reads the rows of a condition. Without one the reading jumps from change to change; with one it looks at a window of
 * change numbers, so that a condition that few rows match costs no scan of the table.
 */
async function readMatching(
  rows: Rows,
  table: LoaderTable,
  window: Window,
  { conds, env, backlog }: ChangeFilter,
): Promise<{ rows: ChangedRow[]; until: number }> {
  const numbers = await readNumbers(rows, table)
  const isAll =
    (conds === undefined || conds === null) && (backlog === undefined || window.change >= backlog.untilChange)
  if (isAll) {
    const found = await readAfter(rows, table, numbers, window)
    const last = found.at(-1)?.change ?? 0
    return { rows: found, until: found.length < window.limit ? Math.max(numbers.last, last) : last }
  }
  const first = await rows.lists(`SELECT min(row_id) FROM ${rowsName(table)}`, [], 'once')
  const before = Number(first[0]?.[0] ?? 1) - 1
  // a change has no smaller number than its row id
  const until = Math.min(Math.max(window.change, before) + window.limit, numbers.last)
  const found = await readWindow(
    rows,
    table,
    { after: window.change, until },
    { conds: conds ?? {}, env, backlog },
  )
  return { rows: found.map((row) => toChangedRow(table, row, numbers.base)), until }
}

async function readWindow(
  rows: Rows,
  table: LoaderTable,
  { after, until }: { after: number; until: number },
  { conds, env, backlog }: { conds: unknown; env: ValueEnv; backlog: ChangeFilter['backlog'] },
): Promise<TextRow[]> {
  const plan = await planQuery(rows, table, { conds }, env, PATHS)
  if (plan.isEmpty) return []
  const values = [...plan.values]
  const bind = (value: number | bigint) => `$${values.push(value)}::bigint`
  const [from, to] = [bind(after), bind(until)]
  const inBacklog = (change: string) =>
    backlog === undefined
      ? []
      : [`(${change} > ${bind(backlog.untilChange)} OR t.${columnName(START)} >= ${bind(backlog.fromUs)})`]
  const part = (change: string, isPut: string) =>
    `SELECT ${[`${change} AS number`, selectChanged(table, ORIGIN_SQL), ...plan.outputs].join(', ')}
     FROM ${rowsName(table)} AS t
     ${whereSql(plan, [`${change} > ${from}`, `${change} <= ${to}`, isPut, ...inBacklog(change)])}`
  const sql = `${part('t.row_id', 't.change IS NULL')} UNION ALL ${part('t.change', 't.change IS NOT NULL')} ORDER BY 1`
  const found = await rows.lists(sql, values, 'once')
  const { residual } = plan
  if (residual === undefined) return found
  const at = CHANGED_HEAD + table.columns.length
  return found.filter((row) => decide(residual, row.slice(at)) === true)
}
