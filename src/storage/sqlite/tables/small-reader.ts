import type { ValueEnv } from '../../columns/column-type.js'
import { isEmptyCondition, isEqualityOf } from '../../columns/condition.js'
import type { SmallReads, TableQuery, TableReaderOptions, TableRow } from '../../tables.js'
import type { Pause } from '../../work/pause.js'
import { openSnapshotReader, type SnapshotReader } from '../connection/data-db.js'
import { VALUE_TOO_LARGE } from '../connection/sql-functions.js'
import { findTable } from './catalog.js'
import { readPagesWithin } from './reader.js'

/** Most rows of a small read. */
const MAX_ROWS = 1000
/** Longest stretch of work between two turns of the event loop, ms; a statement may take a little longer. */
const SLICE_MS = 4
/** Longest work of a small read, ms. A thread that begins it again takes about 3 ms longer. */
const MAX_MS = 12
/** Connections, which bound the small reads that take turns; a read that finds none free is not small. */
const MAX_CONNECTIONS = 2
/** Rows between two readings of the clock. */
const PAGE_ROWS = 100
const CACHE_KIB = 1024

interface SmallReaderOptions extends TableReaderOptions {
  /** clock of the time limit, ms; the process's own unless given */
  nowMs?(): number
}

interface SmallReader extends SmallReads {
  close(): void
}

/**
 * Opens the reader of small answers for the main thread: what is not finished within some rows, bytes and
 * milliseconds is given up. Each answer is of one state of the table.
 */
export function openSmallReader(file: string, options: SmallReaderOptions): SmallReader {
  const idle: SnapshotReader[] = []
  let opened = 0
  const take = (): SnapshotReader | undefined => {
    const free = idle.pop()
    if (free !== undefined || opened === MAX_CONNECTIONS) return free
    opened++
    return openSnapshotReader(file, { cacheKib: CACHE_KIB })
  }
  return {
    async read(name, query) {
      const snapshot = take()
      if (snapshot === undefined) return undefined
      snapshot.begin(() => undefined)
      try {
        return await readRows(snapshot, options, name, query)
      } finally {
        snapshot.end()
        idle.push(snapshot)
      }
    },
    close() {
      for (const snapshot of idle.splice(0)) snapshot.close()
    },
  }
}

async function readRows(
  { db }: SnapshotReader,
  options: SmallReaderOptions,
  name: string,
  query: TableQuery,
): ReturnType<SmallReads['read']> {
  const table = findTable(db, name)
  if (table === undefined || table.columns.some(({ file }) => file !== null) || !isSmall(query, table))
    return undefined
  const env: ValueEnv = { timeZoneMin: options.timeZoneMin, nowUs: BigInt(options.nowUs()) }
  const { nowMs = () => performance.now() } = options
  const pause = createSmallPause(nowMs)
  const rows: TableRow[] = []
  const inPages = { ...options, pageRows: PAGE_ROWS }
  try {
    for await (const page of readPagesWithin({ db, options: inPages, env, pause }, table, query)) {
      rows.push(...page)
      if (rows.length > MAX_ROWS) return undefined
    }
  } catch (error) {
    if (error === VALUE_TOO_LARGE) return undefined
    throw error
  }
  return { table, rows }
}

/**
 * Returns a function that lets the event loop turn when a slice of work is over. That function throws
 * VALUE_TOO_LARGE after `MAX_MS` of work.
 */
function createSmallPause(nowMs: () => number): Pause {
  let leftMs = MAX_MS
  let startedMs = nowMs()
  return () => {
    const workedMs = nowMs() - startedMs
    if (workedMs > leftMs) throw VALUE_TOO_LARGE
    if (workedMs < SLICE_MS) return undefined
    leftMs -= workedMs
    return new Promise((resolve) => {
      setImmediate(() => {
        startedMs = nowMs()
        resolve()
      })
    })
  }
}

/** True for a read that an index or its limit keeps short: other reads are not tried here. */
function isSmall(
  { conds, order, limit = Infinity, offset = 0, area, span }: TableQuery,
  { uniqueColumns }: { uniqueColumns: readonly string[] },
): boolean {
  if (order !== undefined || offset > MAX_ROWS) return false
  if (isEmptyCondition(conds)) return limit <= MAX_ROWS || area !== undefined || span !== undefined
  const [only, ...more] = uniqueColumns
  return more.length === 0 && only !== undefined && isEqualityOf(conds, only)
}
