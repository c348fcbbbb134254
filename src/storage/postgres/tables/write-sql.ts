import type { Bbox } from '../../../geo/types.js'
import type { Column, LoaderTable } from '../../tables.js'
import { CHANGE_SQL, columnName, keySql, rowsName, type SqlType, sqlTypeOf } from './ddl.js'

/** Sums are numbers modulo this: 2^256. */
export const SUM_BASE = 2n ** 256n

/** Statements that write rows of a table, and what they are bound to. */
export interface WriteSql {
  /**
   * writes rows, unless one of their keys exists: answers the stored rows of those keys then, and writes nothing. The
   * last row of the answer has null and the number of instants that are new
   */
  readonly text: string
  /** the same, with the values of the stored rows */
  readonly withValues: string
  /** answers the stored rows of keys, with their values: id of the new row, then as `withValues` answers them */
  readonly find: string
  /** columns of the key, whose values `find` takes after the origin of all rows, and ids and origins of each */
  readonly keySlots: readonly number[]
  readonly types: readonly SqlType[]
}

/** Names and types of the columns of a new row before its values. */
const ROW_COLUMNS: readonly (readonly [string, string])[] = [
  ['row_id', 'bigint'],
  ['change', 'bigint'],
  ['is_new', 'boolean'],
  ['day', 'integer'],
  ['version', 'bigint'],
  ['place', 'text'],
  // null for the origin and the sender of all rows of the statement
  ['from_origin', 'integer'],
  ['from_sender', 'integer'],
]

/** Parameters before those of the rows. */
const PARAMS = {
  tableId: '$1::bigint',
  origin: '$2::integer',
  sender: '$3::integer',
  looksUp: '$4::boolean',
  versions: '$5::bigint',
  lastRow: '$6::bigint',
  lastChange: '$7::bigint',
  counted: '$8::bigint',
  writer: '$9::text',
  writeId: '$10::text',
  days: '$11::integer[]',
  dayRows: '$12::bigint[]',
  daySums: '$13::numeric[]',
  west: '$14::double precision',
  south: '$15::double precision',
  east: '$16::double precision',
  north: '$17::double precision',
  startsUs: '$18::bigint',
  endsUs: '$19::bigint',
  times: '$20::bigint[]',
  dayOrigins: '$21::integer[]',
} as const
const FIRST_ROW_PARAM = 22
/** Origin and sender of a new row, over an alias. */
const originOf = (alias: string) => `coalesce(${alias}.from_origin, ${PARAMS.origin})`
const senderOf = (alias: string) => `coalesce(${alias}.from_sender, ${PARAMS.sender})`

const made = new WeakMap<LoaderTable, WriteSql>()

/** Returns the statements of a table; they are made once for each definition. */
export function writeSqlOf(table: LoaderTable): WriteSql {
  const known = made.get(table)
  if (known !== undefined) return known
  const sql: WriteSql = {
    text: writeSql(table, []),
    withValues: writeSql(table, [...table.columns.keys()]),
    find: findSql(table),
    keySlots: keySlotsOf(table),
    types: table.columns.map(sqlTypeOf),
  }
  made.set(table, sql)
  return sql
}

/**
 * One statement, because each costs a round trip: rows, sums, numbers of the table and the mark of the writer.
 *
 * @param slots columns of the stored rows that are answered
 */
function writeSql(table: LoaderTable, slots: readonly number[]): string {
  const name = rowsName(table)
  const columns = [...table.columns.keys()].map(columnName)
  const given = [
    ...ROW_COLUMNS,
    ...table.columns.map((column, slot) => [columnName(slot), sqlTypeOf(column)]),
  ]
  const params = given.map(([, type], at) => `$${FIRST_ROW_PARAM + at}::${type}[]`)
  const old = oldColumns(slots)
  return `WITH given AS MATERIALIZED (
    SELECT * FROM unnest(${params.join(', ')}) AS g(${given.map(([column]) => column).join(', ')})
  ), old AS MATERIALIZED (
    ${storedOf(table, slots, originOf('g'))} WHERE ${PARAMS.looksUp}
  ), free AS MATERIALIZED (
    SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM old)
  ), inserted AS (
    INSERT INTO ${name} (row_id, origin, change, day, version, sender, place, ${columns.join(', ')})
    SELECT row_id, ${originOf('g')}, change, day, version, ${senderOf('g')}, place::box, ${columns.join(', ')}
    FROM given AS g, free WHERE is_new
  ), updated AS (
    UPDATE ${name} AS t SET change = g.change, day = g.day, version = g.version, sender = ${senderOf('g')},
      place = g.place::box, ${columns.map((column) => `${column} = g.${column}`).join(', ')}
    FROM given AS g, free WHERE NOT g.is_new AND t.row_id = g.row_id
  ), summed AS (
    INSERT INTO loader_digest_day AS d (table_id, origin_id, day, rows, sum)
    SELECT ${PARAMS.tableId}, s.origin, s.day, s.rows, s.sum
    FROM unnest(${PARAMS.dayOrigins}, ${PARAMS.days}, ${PARAMS.dayRows}, ${PARAMS.daySums})
      AS s(origin, day, rows, sum), free
    ON CONFLICT (table_id, origin_id, day)
      DO UPDATE SET rows = d.rows + excluded.rows, sum = mod(d.sum + excluded.sum, ${SUM_BASE})
  ), timed AS (
    INSERT INTO loader_change (table_id, at_us) SELECT ${PARAMS.tableId}, at FROM unnest(${PARAMS.times}) AS at, free
    ON CONFLICT DO NOTHING RETURNING 1
  ), counted AS (
    UPDATE loader_state SET last_row = ${PARAMS.lastRow}, last_change = ${PARAMS.lastChange},
      data_version = data_version + ${PARAMS.versions}, counted = coalesce(${PARAMS.counted}, counted),
      time_count = time_count + (SELECT count(*) FROM timed),
      west = least(west, ${PARAMS.west}), south = least(south, ${PARAMS.south}),
      east = greatest(east, ${PARAMS.east}), north = greatest(north, ${PARAMS.north}),
      starts_us = least(starts_us, ${PARAMS.startsUs}), ends_us = greatest(ends_us, ${PARAMS.endsUs})
    FROM free WHERE table_id = ${PARAMS.tableId}
  ), marked AS (
    INSERT INTO loader_writer (table_id, writer, write_id)
    SELECT ${PARAMS.tableId}, ${PARAMS.writer}, ${PARAMS.writeId} FROM free WHERE ${PARAMS.writer} IS NOT NULL
    ON CONFLICT (table_id, writer) DO UPDATE SET write_id = excluded.write_id
  )
  SELECT * FROM old UNION ALL SELECT NULL, (SELECT count(*) FROM timed), ${old
    .slice(1)
    .map(() => 'NULL')
    .join(', ')}`
}

function keySlotsOf({ columns, uniqueColumns }: LoaderTable): number[] {
  return uniqueColumns.map((unique) => columns.findIndex((column) => column.name === unique))
}

/** Columns of a stored row that are answered. */
function oldColumns(slots: readonly number[]): string[] {
  const found = ['row_id', `${CHANGE_SQL} AS last_change`, 'day', 'coalesce(t.version, 0) AS version']
  return [...found, ...slots.map(columnName)].map((sql) => (sql.includes('(') ? sql : `t.${sql}`))
}

/**
 * Selects the stored rows of the keys in `given`. OFFSET keeps the search of each key a search of its own: in a join the
 * rows of an origin are guessed to be few.
 */
function storedOf(table: LoaderTable, slots: readonly number[], origin: string): string {
  const isSameKey = keySlotsOf(table).map((slot) => {
    const sql = (alias: string) => keySql(table.columns[slot] as Column, `${alias}.${columnName(slot)}`)
    return `${sql('t')} = ${sql('g')}`
  })
  return `SELECT g.row_id AS given_id, found.* FROM given AS g CROSS JOIN LATERAL (
      SELECT ${oldColumns(slots).join(', ')} FROM ${rowsName(table)} AS t
      WHERE ${[...isSameKey, `t.origin = ${origin}`].join(' AND ')} OFFSET 0
    ) AS found`
}

function findSql(table: LoaderTable): string {
  const given = [
    ['row_id', 'bigint'],
    ['from_origin', 'integer'],
    ...keySlotsOf(table).map((slot) => [columnName(slot), sqlTypeOf(table.columns[slot] as Column)]),
  ]
  const params = given.map(([, type], at) => `$${2 + at}::${type}[]`)
  return `WITH given AS MATERIALIZED (
    SELECT * FROM unnest(${params.join(', ')}) AS g(${given.map(([column]) => column).join(', ')})
  )
  ${storedOf(table, [...table.columns.keys()], 'coalesce(g.from_origin, $1::integer)')}`
}

/** Returns the text of a box; null for none. */
export function boxText(box: Bbox | undefined): string | null {
  return box === undefined ? null : `(${box[2]},${box[3]}),(${box[0]},${box[1]})`
}
