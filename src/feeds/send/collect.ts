import type { ChangedRow, Column, LoaderTable } from '../../storage/tables.js'
import { encodeBatch, type SentSlot } from '../batch/encode.js'
import { SENT_ROWS } from '../batch/format.js'
import type { CollectDeps, CollectState, Session } from './sender-deps.js'

/** Changes that are read at a time, so that the event loop turns between: 1,000 rows take 1 to 4 ms. */
const PAGE_ROWS = 1000
/** Bytes of rows after which a batch is full; the text is a little longer. */
export const FULL_BYTES = 3 * 1024 * 1024
/** Most windows of a condition that are looked at for one batch. */
const MAX_PAGES = 100

/** A batch to send. */
export interface OutgoingBatch {
  readonly rows: readonly ChangedRow[]
  readonly body: Uint8Array
  readonly last: number
}

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
  for (;;) {
    const { rows, last, isEnd } = await readRows(deps, state, session, table)
    if (rows.length === 0) {
      session.scanned = last
      if (isEnd || state.isPatient === false) return undefined
      continue
    }
    const slots = slotsOf(table, state.record.columns)
    const body = await encodeBatch(headerOf(deps, state, session, { rows, last, slots }), slots, rows)
    if (body !== undefined) return { rows, body, last }
    const [only] = rows
    if (rows.length === 1 && only !== undefined) return { tooLarge: only }
    state.maxRows = Math.max(1, rows.length >> 1)
  }
}

/** Makes the header of a batch of a feed. */
export function headerOf(
  { nodeId }: CollectDeps,
  { record }: CollectState,
  { tableUuid, epoch, digest, cursor }: Session,
  { rows, last, slots }: { rows: readonly ChangedRow[]; last: number; slots: readonly SentSlot[] },
) {
  return {
    ...{ node: nodeId, feed: record.feedId, table: tableUuid, epoch, digest },
    ...{ after: cursor, last, rows: rows.length, columns: slots.map(({ column }) => column.name) },
  }
}

/** Reads pages until a batch is full, nothing is left, or many changes hold no row of the feed. */
async function readRows(
  deps: CollectDeps,
  state: CollectState,
  session: Session,
  table: LoaderTable,
): Promise<{ rows: ChangedRow[]; last: number; isEnd: boolean }> {
  const { conds, start } = state.record
  const isFirstTable = start.tableUuid === session.tableUuid
  const backlog =
    start.fromUs === null || !isFirstTable
      ? undefined
      : { untilChange: start.untilChange, fromUs: start.fromUs }
  const rows: ChangedRow[] = []
  let last = session.scanned
  let bytes = 0
  for (let page = 0; page < MAX_PAGES; page++) {
    const left = Math.min(state.maxRows, SENT_ROWS) - rows.length
    const limit = Math.min(PAGE_ROWS, left)
    const found = await deps.changes.matching(table, last, limit, { conds, env: deps.env(), backlog })
    for (const row of found.rows) {
      const size = sizeOf(row)
      if (rows.length > 0 && bytes + size > FULL_BYTES) return { rows, last, isEnd: false }
      last = row.change
      if (isKnownTo(session.peer, row) || state.aside.has(row.change)) continue
      bytes += size
      rows.push(row)
    }
    if (found.until === last && found.rows.length === 0) return { rows, last, isEnd: true }
    last = found.until
    await state.hold?.(bytes)
    if (rows.length >= Math.min(state.maxRows, SENT_ROWS)) break
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { rows, last, isEnd: false }
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
