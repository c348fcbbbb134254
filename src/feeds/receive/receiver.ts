import { type Caller, isAllowed } from '../../auth/caller.js'
import { AppError, isAppError } from '../../errors.js'
import type { AskedFeeds, FeedInbox, FeedSenders, SenderState } from '../../storage/exchange/feeds.js'
import type { LoaderTable, TableDefinition } from '../../storage/tables.js'
import { type DecodedBatch, decodeBatch } from '../batch/decode.js'
import { definitionDigest, type TableOffer } from '../batch/definition.js'
import { readRows, rowsAtOnce } from '../batch/read-rows.js'
import { lacksRelay, requireNode, requireWritable, unknownFeed } from './rights.js'
import { type Registering, registerOnce, requireSame } from './same-table.js'

/** Result of a batch. */
export interface BatchResult {
  readonly cursor: number
  /** rows that were put or overridden; the others were here already, or are this node's own */
  readonly written: number
}

/** Receives tables of other nodes. */
export interface FeedReceiver {
  /**
   * Takes an offer: registers the table if no table has its name.
   *
   * @param columns of the offered table, checked
   * @returns node id of this gateway, and the change after which the feed goes on
   * @throws AppError TABLE_DIFFERS, FORBIDDEN, LOOP, STALE_EPOCH, ALREADY_REGISTERED, DISK_FULL
   */
  offer(
    caller: Caller,
    offer: TableOffer,
    columns: TableDefinition,
  ): Promise<{ node: string; cursor: number }>
  /**
   * Takes the body of a batch; what it answers is on disk.
   *
   * @param tableUuid of the path
   * @throws AppError BAD_BATCH, BAD_RECORD (`data.rows` names the first 100 rows), UNKNOWN_FEED,
   *   CURSOR_MISMATCH, FORBIDDEN, LOOP, DISK_FULL, BUSY; nothing is changed then
   */
  take(caller: Caller, tableUuid: string, body: Uint8Array): Promise<BatchResult>
}

interface ReceiverDeps extends Registering {
  readonly inbox: FeedInbox
  readonly senders: FeedSenders
  readonly asked: AskedFeeds
  /** UUID of this node */
  readonly nodeId: string
  /** `limits.valueBytes` */
  readonly valueBytes: number
  /**
   * takes a batch that begins before the cursor and ends after it, too. Its rows up to the cursor are here in this
   * state or in none that is newer, because no batch that was made later has been taken
   */
  readonly takesOverlaps?: boolean
}

/** Creates the receiver of a gateway. */
export function createFeedReceiver(deps: ReceiverDeps): FeedReceiver {
  const { inbox, nodeId } = deps
  return {
    async offer(caller, { node, feed, table: senderTable, epoch, start, definition }, columns) {
      await requireNode(deps, caller, node)
      await requireWritable(deps.asked, caller, columns.dataName)
      const state = { sender: node, feed, senderTable, epoch, digest: definitionDigest(definition) }
      await inbox.check(state)
      const known = await deps.findTable(columns.dataName)
      if (known !== undefined) requireSame(known, definition)
      await deps.senders.bind(caller.keyId, node)
      const table = known ?? (await registerOnce(deps, columns))
      requireSame(table, definition)
      const cursor = await inbox.open(state, table, { start })
      return { node: nodeId, cursor }
    },
    async take(caller, tableUuid, body) {
      await deps.requireSpace(body.byteLength)
      const batch = await decodeBatch(body)
      try {
        return await takeDecoded(deps, caller, tableUuid, batch)
      } finally {
        batch.release()
      }
    },
  }
}

async function takeDecoded(
  deps: ReceiverDeps,
  caller: Caller,
  tableUuid: string,
  batch: DecodedBatch,
): Promise<BatchResult> {
  const { inbox, nodeId } = deps
  const { header } = batch
  if (header.table !== tableUuid)
    throw badBatch('table', header.table, `${tableUuid.slice(0, 100)}, as the path has it`)
  await requireNode(deps, caller, header.node)
  requireOrigins(caller, batch)
  const feed = await inbox.find(header.node, header.feed)
  if (feed === undefined || !isSameState(feed, batch)) throw unknownFeed(header.feed)
  // a repeat costs no check of its rows
  const { cursor } = feed
  const isWithin = deps.takesOverlaps === true && header.after <= cursor && cursor < header.last
  if (cursor !== header.after && !isWithin) throw cursorMismatch(header.after, cursor)
  await requireWritable(deps.asked, caller, feed.table.dataName)
  requireColumns(feed.table, header.columns)
  await deps.senders.bind(caller.keyId, header.node)
  const { senderTable, epoch, digest } = feed
  const { node: sender, feed: feedId, last } = header
  const rows = rowsAtOnce(feed.table, batch, nodeId, deps.valueBytes)
  const taken = { sender, feed: feedId, senderTable, epoch, digest, after: cursor, last, ...rows }
  try {
    return { cursor: last, written: await inbox.take(taken, caller.keyId) }
  } catch (error) {
    if (isAppError(error) && error.errorName === 'BAD_RECORD') {
      // all rows that do not fit are told at once
      const read = await readRows(feed.table, batch, deps.valueBytes)
      if ('refused' in read) throw badRecord(read.refused)
    }
    throw error
  }
}

/** @throws AppError FORBIDDEN when the key may not send rows of other nodes */
function requireOrigins(caller: Caller, { header, origins }: DecodedBatch): void {
  if (isAllowed(caller.scopes, 'sync:relay')) return
  const other = origins.find((origin) => origin !== header.node)
  if (other !== undefined) throw lacksRelay(header.node, other)
}

export function isSameState(
  feed: Pick<SenderState, 'senderTable' | 'epoch' | 'digest'>,
  { header }: DecodedBatch,
): boolean {
  return feed.senderTable === header.table && feed.epoch === header.epoch && feed.digest === header.digest
}

/** The digest says that both sides have these columns: a batch sends each of them. */
export function requireColumns(table: LoaderTable, names: readonly string[]): void {
  const missing = table.columns.find(({ name }) => !names.includes(name))
  if (missing !== undefined) throw badBatch('columns', names.join(', ').slice(0, 200) || 'none', missing.name)
  const unknown = names.find((name) => !table.columnByName.has(name))
  if (unknown !== undefined) throw badBatch('columns', unknown.slice(0, 100), 'a column of the table')
}

function badBatch(name: string, found: string, expected: string): AppError {
  const reason = `${name}: found ${found}, expected ${expected}`
  return new AppError('BAD_BATCH', { reason }, { message: `The batch cannot be read: ${reason}` })
}

function cursorMismatch(after: number, cursor: number): AppError {
  const message = `The batch begins after change ${after}, expected ${cursor}`
  return new AppError('CURSOR_MISMATCH', { cursor }, { message })
}

function badRecord(rows: readonly { index: number; column: string | null; reason: string }[]): AppError {
  const [first] = rows
  const more = rows.length > 1 ? ` (and ${rows.length - 1} more rows)` : ''
  const at = `row ${first?.index}${first?.column === null ? '' : `, ${first?.column}`}`
  return new AppError('BAD_RECORD', { ...first, rows }, { message: `${at}: ${first?.reason}${more}` })
}
