import type { Stored } from '../../columns/column-type.js'
import type { DayFilter, DayRow } from '../../exchange/day-rows.js'
import type { LoaderTable } from '../../tables.js'
import { type Db, identifier, statement } from '../connection/database.js'
import { ROW_CHANGE, ROW_DAY, ROW_ID, ROW_VERSION, tableSql } from './ddl.js'
import { ORIGIN_SQL, SENDER_SQL } from './origins.js'
import { planQuery } from './query.js'
import { versionBase } from './row-versions.js'

type Found = [
  ...[
    rowId: bigint,
    change: bigint,
    origin: string,
    day: bigint,
    version: bigint | null,
    sender: string | null,
  ],
  ...values: Stored[],
]

/** Paths of a condition, for messages. */
const PATHS = { conds: '$.conds', order: '$.order', columns: '$.columns' }
/** Number of a row's last change. */
const CHANGE = `coalesce(t.${ROW_CHANGE}, t.${ROW_ID})`

/** Reads the rows of some days among a window of row ids, in the order of the ids. */
export function readDayRows(
  db: Db,
  table: LoaderTable,
  [after, until]: readonly [number, number],
  filter: DayFilter,
): DayRow[] {
  const base = versionBase(db, table)
  const names = table.columns.map(({ name }) => `t.${identifier(name)}`)
  const select = [
    `t.${ROW_ID}`,
    CHANGE,
    ORIGIN_SQL,
    `t.${ROW_DAY}`,
    `t.${ROW_VERSION}`,
    SENDER_SQL,
    ...names,
  ].join(', ')
  return withWhere(db, table, filter, (where, params) =>
    statement<Found>(
      db,
      `SELECT ${select} FROM ${tableSql(table)} AS t WHERE t.${ROW_ID} > ? AND t.${ROW_ID} <= ? AND ${where}
       ORDER BY t.${ROW_ID}`,
    )
      .raw()
      .safeIntegers()
      .all(after, until, ...params)
      .map(([rowId, change, origin, day, version, sender, ...values]) => ({
        ...{
          rowId: Number(rowId),
          change: Number(change),
          origin,
          day: Number(day),
          sender: sender ?? '',
          values,
        },
        version: origin === '' ? base + Number(change) : Number(version), // null, of before versions, is 0
      })),
  )
}

/** Counts the rows of some days among a window of row ids. */
export function countDayRows(
  db: Db,
  table: LoaderTable,
  [after, until]: readonly [number, number],
  filter: DayFilter,
): number {
  return withWhere(db, table, filter, (where, params) =>
    Number(
      statement<bigint | number>(
        db,
        `SELECT count(*) FROM ${tableSql(table)} AS t WHERE t.${ROW_ID} > ? AND t.${ROW_ID} <= ? AND ${where}`,
      )
        .pluck()
        .get(after, until, ...params),
    ),
  )
}

function withWhere<T>(
  db: Db,
  table: LoaderTable,
  { fromDay, toDay, afterChange, untilChange, conds, env, backlog }: DayFilter,
  read: (where: string, params: readonly unknown[]) => T,
): T {
  const inBacklog = backlog === undefined ? '' : `AND (${CHANGE} > ? OR t.start_datetime >= ?)`
  const bound = backlog === undefined ? [] : [backlog.untilChange, backlog.fromUs]
  const plan = planQuery(db, table, conds === null ? {} : { conds }, env, PATHS)
  try {
    return read(
      `t.${ROW_DAY} BETWEEN ? AND ? AND ${CHANGE} > ? AND ${CHANGE} <= ? ${inBacklog} AND (${plan.where})`,
      [fromDay, toDay, afterChange, untilChange, ...bound, ...plan.params],
    )
  } finally {
    plan.release()
  }
}
