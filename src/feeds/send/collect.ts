import type { ChangedRow, ChangeFilter, Column, LoaderTable } from '../../storage/tables.js'
import { untilBeatMs } from '../../sync/beat.js'
import { type BatchText, beginBatch, type HeaderStart, type SentSlot } from '../batch/encode.js'
import { SENT_ROWS } from '../batch/format.js'
import type { CollectDeps, CollectState, OutgoingBatch, SenderDeps, Session } from './sender-deps.js'

/** Changes that are read at a time, so that the event loop turns between, and rows die young: about 1 ms. */
const PAGE_ROWS = 250
/** Changes of which the rows of a condition are read at a time. */
const WINDOW_ROWS = 1000
/** Bytes of rows after which a batch is full; the text is a little longer. */
export const FULL_BYTES = 3 * 1024 * 1024
/** Most windows of a condition that are looked at for one batch. */
const MAX_PAGES = 100
/** Share of `sync.batchWaitS` by which a wait ends before the beat: a timer may come a little early. */
const EARLY = 0.1

/**
 * Reads the next rows of a feed and makes their batch.
 *
 * @returns undefined when there is no row to send: `session.scanned` is as far as was looked then. A row that
 *   is too large for any batch is returned alone, without a body
 */
export async function collectBatch(
  deps: CollectDeps,
  state: CollectState,
  session: Session,
  table: LoaderTable,
): Promise<OutgoingBatch | { tooLarge: ChangedRow } | undefined> {
  const slots = slotsOf(table, state.record.columns)
  for (;;) {
    const batch = beginBatch(deps.nodeId, slots)
    const into: Collecting = { batch, first: undefined, last: session.scanned, bytes: 0 }
    try {
      const isEnd = await readPages(deps, state, session, { table, into })
      const { first, last } = into
      const { changes } = batch
      if (first === undefined) {
        session.scanned = last
        if (isEnd || state.isPatient === false) return undefined
        continue
      }
      const body = await batch.seal(headerOf(deps, state, session, last))
      if (body !== undefined) return { changes, body, last, isEnd }
      if (changes.length === 1) return { tooLarge: first }
      state.maxRows = Math.max(1, changes.length >> 1)
    } finally {
      batch.release()
    }
  }
}

/**
 * Time until which a feed has no further turn after one in which it sent all that was there: just before the next
 * beat, so that rows wait for `sync.batchWaitS` at most, at whatever time between two beats the turn began.
 *
 * @returns monotonic clock, as `beganMs`
 */
export function collectUntilMs({ batchWaitMs }: Pick<SenderDeps, 'batchWaitMs'>, beganMs: number): number {
  return beganMs + untilBeatMs(batchWaitMs, beganMs) - batchWaitMs * EARLY
}

/** Makes the header of a batch of a feed. @param last change with which it ends */
export function headerOf(
  { nodeId }: CollectDeps,
  { record }: CollectState,
  { tableUuid, epoch, digest, cursor }: Session,
  last: number,
): HeaderStart {
  return { node: nodeId, feed: record.feedId, table: tableUuid, epoch, digest, after: cursor, last }
}

/** Batch that is being collected. */
interface Collecting {
  readonly batch: BatchText
  /** first row */
  first: ChangedRow | undefined
  /** last change that was looked at */
  last: number
  /** of its rows, about */
  bytes: number
}

/**
 * Reads pages until a batch is full, nothing is left, or many changes hold no row of the feed.
 *
 * @returns true when no change is left
 */
async function readPages(
  deps: CollectDeps,
  state: CollectState,
  session: Session,
  { table, into }: { table: LoaderTable; into: Collecting },
): Promise<boolean> {
  const { conds } = state.record
  const backlog = backlogOf(state, session)
  const { changes } = into.batch
  const most = Math.min(state.maxRows, SENT_ROWS)
  const pageRows = (conds ?? null) === null && backlog === undefined ? PAGE_ROWS : WINDOW_ROWS
  for (let page = 0; page < MAX_PAGES; page++) {
    const limit = Math.min(pageRows, most - changes.length)
    const filter = { conds, env: deps.env(), backlog }
    const { rows, until } = await deps.changes.matching(table, into.last, limit, filter)
    if (until === into.last && rows.length === 0) return true
    if (addRows(state, session, into, rows)) return false
    into.last = until
    await state.hold?.(into.bytes)
    if (changes.length >= most) return false
    await new Promise((resolve) => setImmediate(resolve))
  }
  return false
}

function backlogOf({ record: { start } }: CollectState, { tableUuid }: Session): ChangeFilter['backlog'] {
  const { untilChange, fromUs } = start
  return fromUs === null || start.tableUuid !== tableUuid ? undefined : { untilChange, fromUs }
}

/** Adds the rows that go to the receiver. @returns true when the batch is full: some rows are left */
function addRows(
  { aside }: CollectState,
  { peer }: Session,
  into: Collecting,
  rows: readonly ChangedRow[],
): boolean {
  const added: ChangedRow[] = []
  let isFull = false
  for (const row of rows) {
    const size = sizeOf(row)
    isFull = into.first !== undefined && into.bytes + size > FULL_BYTES
    if (isFull) break
    into.last = row.change
    if (isKnownTo(peer, row) || aside.has(row.change)) continue
    into.bytes += size
    into.first ??= row
    added.push(row)
  }
  into.batch.add(added)
  return isFull
}

/** True for a row that goes neither back to the node where it was put first, nor to the one that sent it. */
export function isKnownTo(peer: string, { origin, sender }: ChangedRow): boolean {
  return origin === peer || sender === peer
}

/** Returns the length of the text of a row, about. */
export function sizeOf({ values }: ChangedRow): number {
  let size = 0
  for (const value of values)
    if (typeof value === 'string') size += value.length + 3
    else if (value instanceof Uint8Array) size += value.byteLength * 2 + 3
    else size += 20
  return size
}

/** Returns the columns that a feed carries: the reserved ones, and those that it names. */
export function slotsOf(table: LoaderTable, wanted: readonly string[] | null): SentSlot[] {
  return table.columns
    .map((column, slot) => ({ column, slot }))
    .filter(({ column, slot }) => slot < RESERVED || wanted === null || wanted.includes(column.name))
}

const RESERVED = 3

/** Returns the values of the unique key of a row as JSON text, for messages. */
export function keyText(table: LoaderTable, { values }: ChangedRow): string {
  const shownOf = ({ name }: Pick<Column, 'name'>) => {
    const value = values[table.columns.findIndex((column) => column.name === name)]
    if (value instanceof Uint8Array) return `${value.byteLength} bytes`
    if (typeof value !== 'bigint') return value
    return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
  }
  const text = JSON.stringify(
    Object.fromEntries(table.uniqueColumns.map((name) => [name, shownOf({ name })])),
  )
  return text.length > 500 ? `${text.slice(0, 500)}…` : text
}
