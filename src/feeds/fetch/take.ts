import { isAppError } from '../../errors.js'
import type { Log } from '../../log.js'
import type { FeedInbox, FeedRows, ReceivedRow } from '../../storage/exchange/feeds.js'
import type { LoaderTable } from '../../storage/tables.js'
import { malformed, shorten } from '../../sync/faults.js'
import { type DecodedBatch, decodeBatch } from '../batch/decode.js'
import { type RefusedRow, readRows, rowsAtOnce } from '../batch/read-rows.js'
import { isSameState, requireColumns } from '../receive/receiver.js'
import type { AskedAgain } from '../send/link.js'
import type { FeedState, Session } from '../send/sender-deps.js'

/** Dependencies of storing a batch that was asked for. */
export interface TakeDeps {
  readonly inbox: FeedInbox
  readonly feeds: Pick<FeedRows, 'setAside' | 'countSetAside' | 'listSetAside' | 'forgetAside'>
  /** UUID of this node */
  readonly nodeId: string
  /** `limits.valueBytes` */
  readonly valueBytes: number
  /** @throws AppError DISK_FULL */
  requireSpace(bytes: number): Promise<void>
  readonly log: Pick<Log, 'warn'>
  /** takes a batch that begins before the cursor, as one of a bundle may */
  readonly takesOverlaps?: boolean
}

/**
 * Stores a batch with the cursor after it. Rows that this gateway refuses for good are set aside.
 *
 * @param onOpened called with the last change of the batch before its rows are stored
 * @returns rows of the batch
 * @throws AppError BAD_BATCH, UPSTREAM_REFUSED for another batch than was asked for, CURSOR_MISMATCH,
 *   UNKNOWN_FEED, DISK_FULL, BUSY
 */
export async function takeBatch(
  deps: TakeDeps,
  state: Pick<FeedState, 'record'>,
  session: Session,
  table: LoaderTable,
  { body, onOpened }: { body: Uint8Array; onOpened(last: number): void },
): Promise<number> {
  await deps.requireSpace(body.byteLength)
  const batch = await decodeBatch(body)
  try {
    requireAsked(state, session, table, batch, deps.takesOverlaps)
    onOpened(batch.header.last)
    const { after } = batch.header
    return await storeBatch(deps, state, { session, table }, batch, (at) => after + 1 + at)
  } finally {
    batch.release()
  }
}

/**
 * Stores rows that came once more; the cursor stays. Those that were set aside are tried again.
 *
 * @returns rows of the batch
 * @throws AppError as `takeBatch` does
 */
export async function takeAgain(
  deps: TakeDeps,
  state: Pick<FeedState, 'record'>,
  { session, table }: { session: Session; table: LoaderTable },
  { body, afterRow, tooLarge }: Pick<AskedAgain, 'body' | 'tooLarge'> & { afterRow: number },
): Promise<number> {
  await deps.requireSpace(body.byteLength)
  const batch = await decodeBatch(body)
  try {
    const { after, last, rows } = batch.header
    requireAsked(state, session, table, batch)
    if (last !== after) throw malformed(`rows once more of the changes up to ${last}`)
    await forgetAside(deps, state, table, { batch, tooLarge })
    // no change has a number below 0, and no other row of the upstream these
    const changeOf = (at: number) => -(afterRow + 1 + at)
    if (tooLarge !== undefined) {
      const row = { change: changeOf(0), rowKey: tooLarge.key, reason: tooLarge.reason }
      await deps.feeds.setAside(state.record.feedId, [row])
    }
    await storeBatch(deps, state, { session, table }, batch, changeOf)
    return rows
  } finally {
    batch.release()
  }
}

/** Forgets that rows of a batch were set aside. */
async function forgetAside(
  { feeds }: TakeDeps,
  { record: { feedId } }: Pick<FeedState, 'record'>,
  table: LoaderTable,
  { batch, tooLarge }: { batch: DecodedBatch } & Pick<AskedAgain, 'tooLarge'>,
): Promise<void> {
  const count = await feeds.countSetAside(feedId)
  if (count === 0) return
  const keys = new Set(Array.from({ length: batch.header.rows }, (_, index) => keyOf(table, batch, index)))
  if (tooLarge !== undefined) keys.add(tooLarge.key)
  const aside = await feeds.listSetAside(feedId, count)
  const back = aside.flatMap(({ change, rowKey }) => (keys.has(rowKey) ? [change] : []))
  await feeds.forgetAside(feedId, back)
}

/** @throws AppError UPSTREAM_REFUSED for another batch than was asked for */
function requireAsked(
  { record }: Pick<FeedState, 'record'>,
  session: Session,
  table: LoaderTable,
  batch: DecodedBatch,
  takesOverlaps = false,
): void {
  const { header } = batch
  const asked = { ...session, senderTable: session.tableUuid }
  if (header.node !== session.peer || header.feed !== record.feedId || !isSameState(asked, batch))
    throw malformed('the batch of another feed')
  const isWithin = takesOverlaps && header.after <= session.cursor && session.cursor < header.last
  if (header.after !== session.cursor && !isWithin) throw malformed(`a batch after ${header.after}`)
  requireColumns(table, header.columns)
}

async function storeBatch(
  deps: TakeDeps,
  state: Pick<FeedState, 'record'>,
  { session, table }: { session: Session; table: LoaderTable },
  batch: DecodedBatch,
  changeOf: (at: number) => number,
): Promise<number> {
  const { header } = batch
  const { feedId } = state.record
  const { tableUuid: senderTable, epoch, digest, peer: sender } = session
  const { last } = header
  const taken = { sender, feed: feedId, senderTable, epoch, digest, after: session.cursor, last }
  try {
    // rows that were put here first are never taken back
    await deps.inbox.take({ ...taken, ...rowsAtOnce(table, batch, deps.nodeId, deps.valueBytes) }, feedId)
  } catch (error) {
    if (!isAppError(error) || error.errorName !== 'BAD_RECORD') throw error
    const fitting = await fittingRows(deps, state, table, batch, changeOf)
    const rows = fitting.filter(({ origin }) => origin !== deps.nodeId)
    await deps.inbox.take({ ...taken, rows }, feedId)
  }
  session.cursor = last
  session.scanned = last
  return header.rows
}

/** Returns the rows that fit the table, and sets the others aside. */
async function fittingRows(
  deps: TakeDeps,
  state: Pick<FeedState, 'record'>,
  table: LoaderTable,
  batch: DecodedBatch,
  changeOf: (at: number) => number,
): Promise<ReceivedRow[]> {
  let rest = batch
  let count = 0
  for (;;) {
    const read = await readRows(table, rest, deps.valueBytes)
    if ('rows' in read) return read.rows
    const first = count
    await setAside(deps, state, table, rest, {
      refused: read.refused,
      changeOf: (at) => changeOf(first + at),
    })
    count += read.refused.length
    rest = without(rest, new Set(read.refused.map(({ index }) => index)))
  }
}

/** A batch has at least as many changes as rows: each refused row gets a number of its own among them. */
async function setAside(
  { feeds, log }: TakeDeps,
  { record }: Pick<FeedState, 'record'>,
  table: LoaderTable,
  batch: DecodedBatch,
  { refused, changeOf }: { refused: readonly RefusedRow[]; changeOf: (at: number) => number },
): Promise<void> {
  const rows = refused.map(({ index, column, reason }, at) => ({
    change: changeOf(at),
    rowKey: keyOf(table, batch, index),
    reason: shorten(column === null ? reason : `${column}: ${reason}`),
  }))
  await feeds.setAside(record.feedId, rows)
  const [first] = rows
  const fields = { feed: record.feedId, table: table.dataName, rows: rows.length }
  const message = 'rows of a feed were set aside: this gateway refuses them'
  log.warn({ ...fields, key: first?.rowKey, reason: first?.reason }, message)
}

/** Returns the unique key of a row as JSON text. */
function keyOf(table: LoaderTable, { header, columns }: DecodedBatch, index: number): string {
  const sentOf = (name: string) => columns[header.columns.indexOf(name)]?.slice(index, index + 1)[0]
  const text = JSON.stringify(Object.fromEntries(table.uniqueColumns.map((name) => [name, sentOf(name)])))
  return text.length > 500 ? `${text.slice(0, 500)}…` : text
}

function without(batch: DecodedBatch, refused: ReadonlySet<number>): DecodedBatch {
  const kept = <T>(list: readonly T[]) => list.filter((_, index) => !refused.has(index))
  return {
    ...batch,
    header: { ...batch.header, rows: batch.header.rows - refused.size },
    origins: kept(batch.origins),
    days: kept(batch.days),
    versions: kept(batch.versions),
    columns: batch.columns.map((line) => kept(line.slice(0, line.length))),
  }
}
