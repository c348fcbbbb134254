import { isDeepStrictEqual } from 'node:util'
import { AppError, messageOf } from '../../errors.js'
import type { FeedRecord } from '../../storage/exchange/feeds.js'
import type { ChangedRow, LoaderTable } from '../../storage/tables.js'
import { REASON_CHARS, shorten } from '../../sync/faults.js'
import { definitionDigest, sentDefinition } from '../batch/definition.js'
import { MAX_BATCH_BYTES, SENT_ROWS } from '../batch/format.js'
import { readAhead, takeAhead } from './ahead.js'
import { sendCitation } from './citation-turn.js'
import { collectBatch, collectUntilMs, keyText } from './collect.js'
import { noteMoved, takeDetour } from './counts.js'
import { type BatchAnswer, type FeedLink, refusalName } from './link.js'
import { collectResend } from './resend.js'
import { requireSendable } from './sendable.js'
import type { FeedState, ResendState, SenderDeps, Session, TurnResult } from './sender-deps.js'

/** Refusals after which a feed waits for its operator, of the other node or of this one. */
const STOPPING = new Set([
  ...['TABLE_DIFFERS', 'STALE_EPOCH', 'LOOP', 'INVALID_PARAMS', 'BAD_CONDITION', 'TOO_EXPENSIVE'],
  ...['TABLE_NOT_SENDABLE', 'UNKNOWN_CITATION', 'CITATION_DIFFERS'],
])

/**
 * Sends the next batch of a feed, after an offer if there is no agreement with the receiver yet.
 *
 * @throws AppError UPSTREAM_UNREACHABLE, UPSTREAM_REFUSED, UNKNOWN_TABLE, CANCELLED
 */
export async function sendNext(
  deps: SenderDeps,
  link: FeedLink,
  state: FeedState,
  signal: AbortSignal,
): Promise<TurnResult> {
  const { citation } = state.record.start
  if (citation !== undefined) return await sendCitation(deps, link, state, citation, signal)
  const table = await deps.findTable(state.record.dataName)
  if (table === undefined) throw missingTable(state.record)
  const session = state.mustOffer ? undefined : agreedSession(state, table)
  if (session === undefined) {
    agree(deps, state, await openSession(deps, link, state.record, table, signal))
    return 'went on'
  }
  const { resend } = state
  if (resend !== undefined && !resend.hadTurn) {
    resend.hadTurn = true
    await resendNext(deps, link, { state, session, resend, table }, signal)
    return 'went on'
  }
  if (resend !== undefined) resend.hadTurn = false
  const began = { ms: deps.nowMs(), us: deps.nowUs() }
  const batch = takeAhead(state, session) ?? (await collectBatch(deps, state, session, table))
  if (batch === undefined) return resend === undefined ? 'nothing to send' : 'went on'
  if ('tooLarge' in batch) {
    await setAsideTooLarge(deps, { state, table }, batch.tooLarge)
    return 'went on'
  }
  const isLast = batch.isEnd && resend === undefined
  // before it is on its way: who asks for a try now meanwhile ends the wait
  if (isLast) state.collectUntilMs = collectUntilMs(deps, began.ms)
  // one that is not full is most likely the last; large rows are not held twice
  const isFull = batch.changes.length >= Math.min(state.maxRows, SENT_ROWS)
  const sent = sendBatch(deps, link, { state, session, table }, batch, signal)
  const ahead = isFull ? readAhead(deps, state, session, { table, after: batch.last }) : undefined
  const [sending, reading] = await Promise.allSettled([sent, ahead])
  if (sending.status === 'rejected') throw sending.reason
  if (reading.status === 'rejected') throw reading.reason
  if (!isLast || !sending.value || state.resend !== undefined) {
    state.collectUntilMs = 0
    return 'went on'
  }
  // rows that came meanwhile are found by the next look, as those that come later are
  if (state.behindSinceUs !== null) state.behindSinceUs = Math.max(state.behindSinceUs, began.us)
  return 'nothing to send'
}

/** Returns the agreement with the receiver, while it is about the table as it is: columns may have been added to it. */
function agreedSession({ session, record }: FeedState, table: LoaderTable): Session | undefined {
  if (session?.tableId !== table.tableId) return undefined
  return session.digest === definitionDigest(sentDefinition(table, record.columns)) ? session : undefined
}

/** Goes on with an agreement, or with the one before where nothing has changed: what it has looked at holds. */
function agree(deps: SenderDeps, state: FeedState, session: Session): void {
  const { session: before } = state
  state.mustOffer = false
  state.agreedAtMs = deps.nowMs()
  const isSame =
    before !== undefined && isDeepStrictEqual({ ...before, scanned: 0 }, { ...session, scanned: 0 })
  if (isSame) return
  state.session = session
  // the receiver has lost rows
  if (session.cursor < (before?.cursor ?? 0)) state.behindSinceUs ??= deps.nowUs()
}

/** Sends a batch, and goes on as the receiver answers. @returns true when it was taken */
async function sendBatch(
  deps: SenderDeps,
  link: FeedLink,
  { state, session, table }: { state: FeedState; session: Session; table: LoaderTable },
  { changes, body }: { changes: readonly number[]; body: Uint8Array },
  signal: AbortSignal,
): Promise<boolean> {
  const startMs = deps.nowMs()
  const throttles = state.throttle === undefined ? [deps.throttle] : [deps.throttle, state.throttle]
  const answer = await link.send(session.tableUuid, body, throttles, signal)
  if (answer.kind === 'taken') {
    noteMoved(state, changes.length, body.byteLength, deps.nowMs() - startMs)
    state.maxRows = Math.min(SENT_ROWS, state.maxRows * 2)
  }
  if (answer.kind === 'rows' && state.resend !== undefined)
    for (const { index } of answer.rows) state.resend.refused.add(changes[index] ?? 0)
  await goOn(deps, state, table, changes, answer)
  return answer.kind === 'taken'
}

/** Sends the next rows that go once more. Those that were set aside and are taken now are no longer aside. */
async function resendNext(
  deps: SenderDeps,
  link: FeedLink,
  parts: { state: FeedState; session: Session; resend: ResendState; table: LoaderTable },
  signal: AbortSignal,
): Promise<void> {
  const { state, resend } = parts
  const { rows, body, until, isEnd } = await collectResend(deps, state, parts)
  const [first] = rows
  if (body !== undefined) {
    const changes = rows.map(({ change }) => change)
    if (!(await sendBatch(deps, link, parts, { changes, body }, signal))) return
    const back = changes.filter((change) => state.aside.has(change))
    if (back.length > 0) await deps.feeds.forgetAside(state.record.feedId, back)
    for (const change of back) state.aside.delete(change)
  } else if (first !== undefined) await setAsideTooLarge(deps, parts, first)
  resend.request = {
    ...resend.request,
    afterRow: until,
    sent: resend.request.sent + (body === undefined ? 0 : rows.length),
  }
  if (!isEnd) return await deps.resends.note(resend.request)
  await deps.resends.end(resend.request)
  if (state.resend === resend) state.resend = undefined
}

async function setAsideTooLarge(
  deps: SenderDeps,
  { state, table }: { state: FeedState; table: LoaderTable },
  row: ChangedRow,
): Promise<void> {
  const reason = `found a row of more than ${MAX_BATCH_BYTES} bytes, the most that a batch holds`
  await setAside(deps, state, table, [{ row, reason }])
}

/** Offers the table of a feed. A receiver that is ahead of this node has met its data in a later state. */
async function openSession(
  deps: SenderDeps,
  link: FeedLink,
  record: FeedRecord,
  table: LoaderTable,
  signal: AbortSignal,
): Promise<Session> {
  requireSendable(table, record.columns)
  const { identity, changes, nodeId } = deps
  const tableUuid = (await identity.tableUuid(table)) ?? ''
  const definition = sentDefinition(table, record.columns)
  const last = await changes.last(table)
  const isFirstTable = record.start.tableUuid === tableUuid
  const start = isFirstTable ? Math.min(record.start.afterChange, last) : 0
  const offer = { node: nodeId, feed: record.feedId, table: tableUuid, start, definition }
  let epoch = await identity.epoch()
  let offered = await link.offer({ ...offer, epoch }, signal)
  if (offered.cursor > last) {
    deps.log.warn(
      { feed: record.feedId, table: record.dataName, cursor: offered.cursor, last },
      'a receiver is ahead of this gateway, as after a restore: the feed is sent again under a new epoch',
    )
    epoch = await identity.beginEpoch(deps.nowUs())
    offered = await link.offer({ ...offer, epoch }, signal)
  }
  const { node: peer, cursor } = offered
  const digest = definitionDigest(definition)
  return { peer, tableUuid, tableId: table.tableId, epoch, digest, cursor, scanned: cursor }
}

/** Goes on as the receiver has answered. */
async function goOn(
  deps: SenderDeps,
  state: FeedState,
  table: LoaderTable,
  changes: readonly number[],
  answer: BatchAnswer,
): Promise<void> {
  const { session } = state
  if (session === undefined) return
  switch (answer.kind) {
    case 'taken':
      state.detours = 0
      state.agreedAtMs = deps.nowMs()
      session.cursor = answer.cursor
      session.scanned = answer.cursor
      return
    case 'elsewhere':
      takeDetour(state)
      session.cursor = answer.cursor
      session.scanned = answer.cursor
      return
    case 'unknown':
      takeDetour(state)
      state.session = undefined
      return
    case 'rows':
      await setAside(deps, state, table, await refusedRows(deps, table, changes, answer.rows))
  }
}

/**
 * Reads the rows that a receiver refuses again. One that was overridden meanwhile is left out: it travels in its new
 * state.
 *
 * @throws AppError UPSTREAM_REFUSED for places at which the batch has no row
 */
async function refusedRows(
  { changes: reader }: SenderDeps,
  table: LoaderTable,
  changes: readonly number[],
  refused: readonly { index: number; reason: string }[],
): Promise<{ row: ChangedRow; reason: string }[]> {
  const found: { row: ChangedRow; reason: string }[] = []
  const sent = refused.flatMap(({ index, reason }) => {
    const change = changes[index]
    return change === undefined ? [] : [{ change, reason }]
  })
  if (sent.length === 0) throw new AppError('UPSTREAM_REFUSED', {}, { message: 'rows that were not sent' })
  for (const { change, reason } of sent) {
    const [row] = await reader.after(table, change - 1, 1)
    if (row?.change === change) found.push({ row, reason })
  }
  return found
}

/** Sets rows aside, so that the feed goes on without them. */
async function setAside(
  deps: SenderDeps,
  state: FeedState,
  table: LoaderTable,
  refused: readonly { row: ChangedRow; reason: string }[],
): Promise<void> {
  if (refused.length === 0) return
  const rows = refused.map(({ row, reason }) => ({
    change: row.change,
    rowKey: keyText(table, row),
    reason: shorten(reason),
  }))
  await deps.feeds.setAside(state.record.feedId, rows)
  for (const { change } of rows) state.aside.add(change)
  const [first] = rows
  deps.log.warn(
    {
      feed: state.record.feedId,
      table: table.dataName,
      rows: rows.length,
      key: first?.rowKey,
      reason: first?.reason,
    },
    'rows of a feed were set aside: the receiver refuses them',
  )
}

/** Returns why a feed must wait for its operator; null for a fault that may pass. */
export function stopReason(error: unknown): string | null {
  const own = error instanceof AppError ? error.errorName : undefined
  const name = own === 'UPSTREAM_REFUSED' ? refusalName(error) : own
  if (name === undefined || !STOPPING.has(name)) return null
  return `${name}: ${shorten(messageOf(error), REASON_CHARS)}`
}

function missingTable({ dataName }: FeedRecord): AppError {
  const message = `No table has the name ${dataName}; the feed goes on when one is registered`
  return new AppError('UNKNOWN_TABLE', { data_name: dataName }, { message })
}
