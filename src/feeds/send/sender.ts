import type { FeedProgress } from '../../storage/exchange/feeds.js'
import type { LoaderTable } from '../../storage/tables.js'
import { note, readiness, runLane } from './lane.js'
import type { FeedState, Lane, SenderDeps } from './sender-deps.js'
import { progressOf, refreshStates, type SenderStates } from './states.js'
import { startTicker } from './ticker.js'
import { watchable, watchUpstream } from './watch.js'

/** Present activity of a feed. */
export type FeedActivity = 'disabled' | 'stopped' | 'closed' | 'sending' | 'waiting' | 'idle'

/** A feed as it is in memory. */
export interface LiveFeed {
  readonly activity: FeedActivity
  readonly progress: FeedProgress
  /** time to the next try, s; null when none is planned */
  readonly nextTryS: number | null
}

/** Sends the feeds up of this node, and fetches those that come down. */
export interface FeedSender {
  /** Reads the feeds again and sends: they were changed. Waits end. */
  wake(): Promise<void>
  /** Returns what a feed does; undefined for one that was not read yet. */
  live(feedId: string): Promise<LiveFeed | undefined>
  /** Stops sending, notes the progress, and closes all connections. */
  stop(): Promise<void>
}

/**
 * Starts the sender. A timer compares two numbers of the databases every `sync.batchWaitS` while there are
 * feeds, and rows are read only where they have changed.
 */
export function startFeedSender(deps: SenderDeps): FeedSender {
  const states: SenderStates = { feeds: new Map(), lanes: new Map() }
  const stopping = new AbortController()
  const runs = createRuns(deps, () => ticker.kick())
  let seen = NEVER

  const start = (lane: Lane) => {
    lane.isRunning = true
    runs.add(runLane(deps, states, lane, stopping.signal), () => {
      lane.isRunning = false
    })
  }
  const tick = async () => {
    const state = await deps.stateChanges()
    // command lines write it
    const wakes = state === seen.state ? seen.wakes : await deps.wakeCount()
    const now = { data: deps.identity.changeCount(), state, wakes }
    // after what was waited for, at once: a call of `wake` until here counts for this tick, a later one for the next
    const before = seen
    seen = now
    if (now.state !== before.state) await refreshStates(deps, states)
    if (now.wakes !== before.wakes) endWaits(states)
    if (now.data !== before.data) await noteData(deps, states)
    askAgain(deps, states)
    const due = [...states.lanes.values()].filter((lane) => !lane.isRunning && isDue(deps, states, lane))
    // a lane that may not send ends at once: it is not begun, lest it is begun again without end
    if (due.length > 0 && (await deps.closedReason()) === null) for (const lane of due) start(lane)
    for (const { lane, state } of await watchable(deps, states))
      runs.add(watchUpstream(deps, lane, state, stopping.signal))
  }
  const ticker = startTicker(tick, deps.batchWaitMs, (error) => {
    seen = NEVER // what was not done is done by the next tick
    deps.log.warn({ err: error }, 'feeds could not be read')
  })
  return {
    async wake() {
      seen = NEVER
      await ticker.now()
    },
    live: async (feedId) => {
      const state = states.feeds.get(feedId)
      return state === undefined ? undefined : await liveOf(deps, states, state)
    },
    async stop() {
      stopping.abort()
      await ticker.stop()
      await runs.ended()
      for (const state of states.feeds.values())
        if (state.notedAtMs > Number.NEGATIVE_INFINITY || state.rowsSent > state.record.progress.rowsSent)
          await note(deps, state)
      await Promise.all([...states.lanes.values()].map(({ link }) => link?.close()))
    },
  }
}

/** Numbers of the databases that no database has. */
const NEVER = { data: -1, state: -1, wakes: -1 }

/** Creates the works that are under way. @param onEnd called after each: what it was in the way of may begin */
function createRuns(deps: SenderDeps, onEnd: () => void) {
  const running = new Set<Promise<void>>()
  return {
    add(work: Promise<void>, atEnd?: () => void) {
      const ended = work
        .catch((error: unknown) => deps.log.warn({ err: error }, 'the feeds of an upstream failed'))
        .finally(() => {
          atEnd?.()
          running.delete(ended)
          onEnd()
        })
      running.add(ended)
    },
    ended: () => Promise.all(running),
  }
}

/** Ends the waits after failures, and those in which rows are collected. */
function endWaits({ feeds, lanes }: SenderStates): void {
  for (const lane of lanes.values()) lane.waitUntilMs = 0
  for (const state of feeds.values()) Object.assign(state, { waitUntilMs: 0, collectUntilMs: 0 })
}

/** Notes that rows were written: a lane that has just found none looks once more. */
async function noteData(deps: SenderDeps, states: SenderStates): Promise<void> {
  for (const lane of states.lanes.values()) {
    lane.looks++
    lane.idle.clear()
  }
  await noteBehind(deps, states)
}

/**
 * Lets feeds that have sent nothing for long offer their table again: the answer tells what the receiver has, which may have
 * lost rows, with its disk or its table. An upstream of a feed down tells it in the answer to the request that waits.
 */
function askAgain(deps: SenderDeps, { feeds }: SenderStates): void {
  for (const state of feeds.values()) {
    const { record, session, isSending, agreedAtMs } = state
    if (record.direction === 'down' || record.start.citation !== undefined) continue
    if (session === undefined || isSending || deps.nowMs() - agreedAtMs < deps.checkMs) continue
    state.mustOffer = true
  }
}

/** True when a feed of a lane has something to do, and neither it nor the lane waits. */
function isDue(deps: SenderDeps, { feeds }: SenderStates, { upstream, waitUntilMs: laneMs }: Lane): boolean {
  if (laneMs > deps.nowMs()) return false
  const mayGo = readiness(deps, upstream)
  return [...feeds.values()].some((state) => hasWork(state) && mayGo(state))
}

/** True when a feed has rows to send, was not at their end yet, or has not agreed with its receiver. */
function hasWork({
  behindSinceUs,
  hasMore,
  mustOffer,
  session,
  resend,
}: Pick<FeedState, 'behindSinceUs' | 'hasMore' | 'mustOffer' | 'session' | 'resend'>): boolean {
  return behindSinceUs !== null || hasMore || mustOffer || session === undefined || resend !== undefined
}

/** Notes the feeds that have rows to send since the last look. Cost: two searches of an index for each. */
async function noteBehind(deps: SenderDeps, { feeds }: SenderStates): Promise<void> {
  for (const state of feeds.values()) {
    const table = await deps.findTable(state.record.dataName)
    if (state.record.direction === 'down') {
      noteTable(state, table)
      continue
    }
    if (table === undefined || state.behindSinceUs !== null) continue
    const { tableUuid, scanned: seen } = progressOf(state)
    const isOther = (await deps.identity.tableUuid(table)) !== tableUuid
    if (isOther || (await deps.changes.last(table)) > seen) state.behindSinceUs = deps.nowUs()
  }
}

/** A table that was dropped here is asked for again, and comes as a whole. */
function noteTable(state: FeedState, table: LoaderTable | undefined): void {
  if (state.session === undefined || state.session.tableId === table?.tableId) return
  state.session = undefined
  state.watch?.abort()
}

async function liveOf(deps: SenderDeps, { lanes }: SenderStates, state: FeedState): Promise<LiveFeed> {
  const lane = lanes.get(state.record.upstream)
  const nowMs = deps.nowMs()
  const untilMs = Math.max(state.waitUntilMs, lane?.waitUntilMs ?? 0)
  const activity = await activityOf(deps, state, untilMs > nowMs)
  const waitMs = Math.max(0, untilMs - nowMs, state.collectUntilMs - nowMs)
  const nextTryS = activity === 'waiting' ? Math.ceil(waitMs / 1000) : null
  return { activity, progress: progressOf(state), nextTryS }
}

async function activityOf(deps: SenderDeps, state: FeedState, isWaiting: boolean): Promise<FeedActivity> {
  const { record, stopped, isSending, behindSinceUs } = state
  if (!record.isEnabled) return 'disabled'
  if (stopped !== null) return 'stopped'
  if ((await deps.closedReason()) !== null || !deps.isInWindow(record.windows)) return 'closed'
  // what the upstream has is not known yet
  const isAsking = record.direction === 'down' && state.session === undefined
  if (isWaiting || isAsking) return 'waiting'
  return isSending && behindSinceUs !== null ? 'sending' : behindSinceUs === null ? 'idle' : 'waiting'
}
