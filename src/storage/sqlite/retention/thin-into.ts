import { placeOf } from '../../records/place.js'
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
import type { LoaderTable } from '../../tables.js'
import { type Db, identifier, statement } from '../connection/database.js'
import { findTable } from '../tables/catalog.js'
import { ROW_ORIGIN, tableSql } from '../tables/ddl.js'
import { MAX_SEGMENT_ROWS } from '../tables/segment-index.js'
import { createRowWriter } from '../tables/writer.js'
import type { ThinAction } from './thin-scan.js'

/**
 * Creates the thinning that moves rows into a summary: one row for each series and interval, with count, minimum, mean and
 * maximum of each number column. Rows that come later are added to it. Rows of other nodes stay: each node summarises its own.
 *
 * @param table table that is thinned
 */
export function createInto(table: LoaderTable, rule: ThinRule, into: string): ThinAction {
  const columns = summaryColumns(table, rule.by)
  return {
    columns: ['location', ...columns.map(({ source }) => source)],
    restart: () => undefined,
    take(db, rows, nowUs) {
      const own = rows.filter(({ originId }) => originId === 0)
      if (own.length === 0) return []
      const summary = findTable(db, into)
      if (summary === undefined) throw unknownSummary(table, into)
      const known = findKnown(db, summary, { rule, columns })
      const writer = createRowWriter(db, summary, { ifExists: 'override' }, { timeZoneMin: 0, nowUs })
      for (const interval of intervalsOf(own, rule, columns.length))
        writer.put(rowOf(summary, { rule, columns }, withKnown(interval, known(interval))))
      writer.finish(MAX_SEGMENT_ROWS)
      return own.map(({ rowId }) => rowId)
    },
  }
}

interface Summing {
  readonly rule: ThinRule
  readonly columns: readonly SummaryColumns[]
}

/** Prepares the search for the row of a summary that an interval has already; keys with a null equal no other. */
function findKnown(
  db: Db,
  summary: LoaderTable,
  { rule, columns }: Summing,
): (interval: Interval) => KnownInterval | undefined {
  const names = knownColumns(summary, columns).map((name) => (name === null ? 'NULL' : identifier(name)))
  const isKey = [...rule.by, 'start_datetime'].map((name) => `${identifier(name)} = ?`).join(' AND ')
  const find = statement<KnownInterval>(
    db,
    `SELECT ${[`coalesce(${ROW_COUNT}, 0)`, 'location', ...names].join(', ')} FROM ${tableSql(summary)}
     WHERE ${isKey} AND ${ROW_ORIGIN} = 0`,
  ).raw()
  return ({ key, startUs }) => find.get(...key, startUs)
}

function rowOf(summary: LoaderTable, summing: Summing, interval: Interval) {
  const { values, startUs, endUs } = valuesOf(summary, summing, interval)
  const [box] = placeOf({ location: interval.location, start_datetime: startUs, end_datetime: endUs })
  return { values, box, startUs, endUs, files: [] }
}
