import { utcDayOf } from '../../../datetime.js'
import { placeOf } from '../../records/place.js'
import { END, LOCATION, START } from '../../records/record-plan.js'
import {
  type Interval,
  intervalsOf,
  type KnownInterval,
  knownColumns,
  unknownSummary,
  valuesOf,
  withKnown,
} from '../../removal/intervals.js'
import type { ThinRule } from '../../retention.js'
import { ROW_COUNT, type SummaryColumns, summaryColumns } from '../../summary-table.js'
import type { Column, LoaderTable } from '../../tables.js'
import type { Rows, TextRow } from '../connection/database.js'
import type { Catalog } from '../tables/catalog.js'
import { columnName, keySql, rowsName, sqlTypeOf } from '../tables/ddl.js'
import type { NewRow } from '../tables/plan-rows.js'
import { CHUNK_ROWS, requireKeyFits } from '../tables/put-call.js'
import { createRowWriter } from '../tables/row-writer.js'
import { arrayText, readStored } from '../tables/stored-values.js'
import { lockTable } from '../tables/table-state.js'
import { slotOfColumn } from './read-rows.js'
import type { ThinAction } from './thin-action.js'

/**
 * Creates the thinning that moves rows into a summary: one row for each series and interval, with count, minimum, mean and
 * maximum of each number column. Rows that come later are added to it. Rows of other nodes stay: each node summarises its own.
 *
 * @param table table that is thinned
 */
export function createInto(catalog: Catalog, table: LoaderTable, rule: ThinRule, into: string): ThinAction {
  const columns = summaryColumns(table, rule.by)
  return {
    columns: ['location', ...columns.map(({ source }) => source)],
    restart: () => undefined,
    async take(rows, thinned, nowUs) {
      const own = thinned.filter(({ originId }) => originId === 0)
      if (own.length === 0) return []
      const named = await catalog.find(rows, into)
      if (named === undefined) throw unknownSummary(table, into)
      const state = await lockTable(rows, named)
      const summary = await catalog.findById(rows, named.tableId)
      if (summary === undefined) throw unknownSummary(table, into) // no test: the summary is locked
      const options = { table: summary, state, originId: 0, senderId: null, onDuplicate: 'override' as const }
      const writer = createRowWriter(rows, options)
      const intervals = intervalsOf(own, rule, columns.length)
      for (let at = 0; at < intervals.length; at += CHUNK_ROWS) {
        const chunk = intervals.slice(at, at + CHUNK_ROWS)
        const known = await readKnown(rows, summary, { rule, columns }, chunk)
        const day = utcDayOf(nowUs)
        await writer.write(
          chunk.map((interval, index) =>
            toNewRow(summary, { rule, columns }, withKnown(interval, known.get(index)), { day, index }),
          ),
        )
      }
      return own.map(({ rowId }) => rowId)
    },
  }
}

interface Summing {
  readonly rule: ThinRule
  readonly columns: readonly SummaryColumns[]
}

/** Reads the rows that a summary has of some intervals, by the position of the interval. */
async function readKnown(
  rows: Rows,
  summary: LoaderTable,
  { rule, columns }: Summing,
  intervals: readonly Interval[],
): Promise<Map<number, KnownInterval>> {
  const series = rule.by.map((name) => summary.columns[slotOfColumn(summary, name)] as Column)
  const keys = [...series.map(sqlTypeOf), 'bigint' as const]
  const isKey = series.map((column, at) => {
    const slot = slotOfColumn(summary, column.name)
    return `${keySql(column, `t.${columnName(slot)}`)} = ${keySql(column, `g.k${at}`)}`
  })
  const start = `t.${columnName(START)} = g.k${series.length}`
  const sql = `SELECT g.at - 1, ${knownSql(summary, columns)}
    FROM unnest(${keys.map((type, at) => `$${at + 1}::${type}[]`).join(', ')}) WITH ORDINALITY
      AS g(${[...keys.map((_, at) => `k${at}`), 'at'].join(', ')})
    CROSS JOIN LATERAL (SELECT * FROM ${rowsName(summary)} AS t
      WHERE ${[...isKey, start, 't.origin = 0'].join(' AND ')} OFFSET 0) AS t`
  const values = keys.map((type, at) =>
    arrayText(
      type,
      intervals.map(({ key, startUs }) => (at < series.length ? key[at] : startUs)),
    ),
  )
  const found = await rows.lists(sql, values, 'once')
  return new Map(found.map(([at, ...row]) => [Number(at), toKnown(row)]))
}

function knownSql(summary: LoaderTable, columns: readonly SummaryColumns[]): string {
  const sqlOf = (name: string | null) =>
    name === null ? 'NULL' : `t.${columnName(slotOfColumn(summary, name))}`
  const names = knownColumns(summary, columns).map(sqlOf)
  return [`coalesce(${sqlOf(ROW_COUNT)}, 0)`, `t.${columnName(LOCATION)}`, ...names].join(', ')
}

function toKnown([count, location, ...numbers]: TextRow): KnownInterval {
  return [
    Number(count),
    readStored('bytea', location) as Uint8Array | null,
    ...numbers.map((text) => (text == null ? null : Number(text))),
  ]
}

function toNewRow(
  summary: LoaderTable,
  summing: Summing,
  interval: Interval,
  { day, index }: { day: number; index: number },
): NewRow {
  const { values } = valuesOf(summary, summing, interval)
  requireKeyFits(summary, values, index)
  const [box] = placeOf({
    location: values[LOCATION] as Uint8Array | null,
    start_datetime: values[START] as bigint,
    end_datetime: values[END] as bigint,
  })
  return { values, box, day, version: null }
}
