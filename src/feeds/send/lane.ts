import { AppError, isAppError, messageOf } from '../../errors.js'
import { retryMs } from '../../sync/backoff.js'
import { classify, shorten } from '../../sync/faults.js'
import type { FeedLink } from './link.js'
import type { FeedState, Lane, SenderDeps } from './sender-deps.js'
import { progressOf, type SenderStates } from './states.js'
import { sendNext, stopReason } from './turn.js'

/** Statuses of a receiver that takes nothing now: too many calls, busy. */
export const PUTTING_OFF = [429, 503]
/** Longest time between two notes of progress while a feed sends, ms: a note is a write to the disk. */
const NOTE_MS = 10_000

/**
 * Sends batches of an upstream's feeds until none has a row, the upstream fails, or sending is not allowed.
 * Feeds of a higher priority go first, and of one priority those that wait longest.
 */
export async function runLane(
  deps: SenderDeps,
  states: SenderStates,
  lane: Lane,
  signal: AbortSignal,
): Promise<void> {
  lane.idle.clear()
  while (!signal.aborted && (await deps.closedReason()) === null) {
    const state = nextOf(deps, states, lane)
    if (state === undefined) return
    state.isSending = true
    const { looks } = lane
    const isUp = state.record.direction === 'up'
    try {
      const link = await linkOf(deps, lane)
      if (isUp) await deps.giveWay(signal)
      const result = isUp
        ? await sendNext(deps, link, state, signal)
        : await deps.fetchNext(link, state, 0, signal)
      lane.failures = 0
      // a row that was written meanwhile may have come after the look at the rows
      const isDone = result === 'nothing to send' && lane.looks === looks
      state.hasMore = !isDone
      await noteTurn(deps, state, isDone)
      if (isDone) lane.idle.add(state.record.feedId)
    } catch (error) {
      if (signal.aborted) return
      await noteFault(deps, lane, state, error)
      if (lane.waitUntilMs > deps.nowMs()) return
    } finally {
      state.isSending = false
    }
  }
}

function nextOf(deps: SenderDeps, { feeds }: SenderStates, { upstream, idle }: Lane): FeedState | undefined {
  const mayGo = readiness(deps, upstream)
  const ready = [...feeds.values()].filter((state) => mayGo(state) && !idle.has(state.record.feedId))
  const sinceOf = ({ behindSinceUs }: FeedState) => behindSinceUs ?? Number.POSITIVE_INFINITY
  return ready.sort((a, b) => b.record.priority - a.record.priority || sinceOf(a) - sinceOf(b))[0]
}

/** Returns the test whether a feed may have a turn of the lane of an upstream now. */
export function readiness(deps: SenderDeps, upstream: string): (state: FeedState) => boolean {
  const nowMs = deps.nowMs()
  return ({ record, stopped, waitUntilMs, collectUntilMs, watch }) =>
    record.upstream === upstream &&
    watch === undefined &&
    record.isEnabled &&
    stopped === null &&
    Math.max(waitUntilMs, collectUntilMs) <= nowMs &&
    deps.isInWindow(record.windows)
}

async function linkOf(deps: SenderDeps, lane: Lane): Promise<FeedLink> {
  if (lane.link !== undefined) return lane.link
  const upstream = await deps.upstreams.find(lane.upstream)
  if (upstream === undefined) throw new AppError('UNKNOWN_UPSTREAM') // no test: a foreign key keeps it
  lane.link = deps.connect(upstream)
  return lane.link
}

/** Notes where a feed is: at the end of its rows, and now and then on the way. */
export async function noteTurn(deps: SenderDeps, state: FeedState, isDone: boolean): Promise<void> {
  const hadFault = state.lastError !== null
  const wasBehind = state.behindSinceUs !== null
  state.failures = 0
  state.lastError = null
  if (isDone) state.behindSinceUs = null
  // a row that was put after the last look may be sent before the feed counts as behind
  const hasMoved = state.session !== undefined && state.session.scanned !== state.notedScanned
  const isDue = deps.nowMs() - state.notedAtMs > NOTE_MS
  if (hadFault || (isDone && (wasBehind || hasMoved)) || (isDue && !isDone)) await note(deps, state)
}

/** Writes the progress of a feed. */
export async function note(deps: SenderDeps, state: FeedState): Promise<void> {
  state.notedAtMs = deps.nowMs()
  const progress = progressOf(state)
  state.notedScanned = progress.scanned
  await deps.feeds.noteProgress(state.record.feedId, progress)
}

/**
 * Notes a failure and the wait after it: that of the upstream when it accepts nothing, else of the feed
 * alone. The agreement with the receiver is made anew after it, unless the receiver was only busy.
 */
export async function noteFault(
  deps: SenderDeps,
  lane: Lane,
  state: FeedState,
  error: unknown,
): Promise<void> {
  const { scope, message, status = 0, retryAfterS = 0 } = classify(error)
  const wait = (failures: number) => deps.nowMs() + retryMs(failures, deps.waits, retryAfterS, deps.random)
  // where the feed was is shown while it waits
  state.record = { ...state.record, progress: progressOf(state) }
  state.detours = 0
  state.collectUntilMs = 0
  // one that is busy has the rows of before: an offer of all nodes would be more work than their batches
  if (!PUTTING_OFF.includes(status) || state.record.direction === 'down') {
    state.session = undefined
    // the next try reads the credentials again
    const { link } = lane
    lane.link = undefined
    await link?.close()
  }
  state.failures++
  if (scope === 'lane') {
    lane.failures++
    lane.waitUntilMs = wait(lane.failures)
  } else state.waitUntilMs = wait(state.failures)
  const isNew = state.lastError !== message
  state.lastError = message
  state.stopped = stopReason(error)
  const fields = { feed: state.record.feedId, table: state.record.dataName, upstream: lane.upstream }
  if (state.stopped !== null) deps.log.warn({ ...fields, reason: state.stopped }, 'a feed has stopped')
  else if (!isAppError(error)) deps.log.warn({ ...fields, err: error }, 'a feed failed')
  else if (isNew) deps.log.warn({ ...fields, reason: shorten(messageOf(error)) }, 'a feed waits')
  if (isNew || state.stopped !== null) await note(deps, state)
}
