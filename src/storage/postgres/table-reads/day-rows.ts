import type { DayFilter, DayRow, DayRows } from '../../exchange/day-rows.js'
import { START } from '../../records/record-plan.js'
import type { LoaderTable } from '../../tables.js'
import type { Rows, TextRow } from '../connection/database.js'
import { ORIGIN_SQL, selectChanged } from '../tables/changed-sql.js'
import { CHANGE_SQL, columnName, rowsName } from '../tables/ddl.js'
import { toChangedRow } from './changed-row.js'
import { decide } from './condition-sql.js'
import { needsTest } from './matches.js'
import { planQuery, type QueryPlan, whereSql } from './query.js'

/** Paths of a condition, for messages. */
const PATHS = { conds: '$.conds', order: '$.order', columns: '$.columns' }
/** Row ids that are looked at in one statement of a count whose rows are tested here. */
const COUNT_WINDOW = 2000

/** Creates the reader of the rows of some days. */
export function createDayRows(rows: Rows): DayRows {
  return {
    async ofDays(table, afterRow, window, filter) {
      const { base, first, last } = await readRange(rows, table)
      const after = Math.max(afterRow, first - 1)
      const until = Math.min(after + window, last)
      const plan = await planDays(rows, table, filter)
      const found = plan.isEmpty ? [] : await readWindow(rows, plan, [after, until])
      return { rows: found.map((row) => toDayRow(table, row, base)), until, isEnd: until >= last }
    },
    async countOfDays(table, filter) {
      const plan = await planDays(rows, table, filter)
      if (plan.isEmpty) return 0
      if (!needsTest(plan)) {
        const sql = `SELECT count(*) FROM ${rowsName(table)} AS t ${whereSql(plan)}`
        return Number((await rows.lists(sql, plan.values, 'once'))[0]?.[0])
      }
      const { first, last } = await readRange(rows, table)
      let count = 0
      for (let after = first - 1; after < last; after += COUNT_WINDOW)
        count += (await readWindow(rows, plan, [after, after + COUNT_WINDOW])).length
      return count
    },
  }
}

interface Range {
  /** base of the versions of this hub's own rows */
  readonly base: number
  /** smallest row id; 1 for an empty table */
  readonly first: number
  /** largest row id that was given */
  readonly last: number
}

async function readRange(rows: Rows, table: LoaderTable): Promise<Range> {
  const sql = `SELECT last_row AS last, versions_from_us AS base,
      (SELECT coalesce(min(row_id), 1) FROM ${rowsName(table)}) AS first
    FROM loader_state JOIN loader_table USING (table_id) WHERE table_id = $1`
  return (await rows.get<Range>(sql, table.tableId)) ?? { base: 0, first: 1, last: 0 } // none: it was dropped
}

/** Makes the plan of the rows of some days. */
async function planDays(
  rows: Rows,
  table: LoaderTable,
  { fromDay, toDay, afterChange, untilChange, conds, env, backlog }: DayFilter,
): Promise<QueryPlan> {
  const plan = await planQuery(rows, table, conds === null ? {} : { conds }, env, PATHS)
  const values = [...plan.values]
  const bind = (value: number) => `$${values.push(value)}::bigint`
  const inBacklog =
    backlog === undefined
      ? []
      : [
          `(${CHANGE_SQL} > ${bind(backlog.untilChange)} OR t.${columnName(START)} >= ${bind(backlog.fromUs)})`,
        ]
  const days = [
    `t.day BETWEEN ${bind(fromDay)} AND ${bind(toDay)}`,
    `${CHANGE_SQL} > ${bind(afterChange)}`,
    `${CHANGE_SQL} <= ${bind(untilChange)}`,
  ]
  return { ...plan, values, where: [...plan.where, ...days, ...inBacklog] }
}

/** Values of a row before those of its columns: id, number of the change, origin, day, version, sender. */
const HEAD = 6

async function readWindow(
  rows: Rows,
  plan: QueryPlan,
  [after, until]: readonly [number, number],
): Promise<TextRow[]> {
  const { table, residual, outputs } = plan
  const values = [...plan.values]
  const window = [`t.row_id > $${values.push(after)}::bigint`, `t.row_id <= $${values.push(until)}::bigint`]
  const select = ['t.row_id', CHANGE_SQL, selectChanged(table, ORIGIN_SQL), ...outputs].join(', ')
  const sql = `SELECT ${select} FROM ${rowsName(table)} AS t ${whereSql(plan, window)} ORDER BY t.row_id`
  const found = await rows.lists(sql, values, 'once')
  if (residual === undefined) return found
  return found.filter((row) => decide(residual, row.slice(HEAD + table.columns.length)) === true)
}

function toDayRow(table: LoaderTable, [id, ...row]: TextRow, base: number): DayRow {
  return { rowId: Number(id), ...toChangedRow(table, row, base) }
}
