import { note, noteFault, noteTurn } from './lane.js'
import type { FeedLink } from './link.js'
import type { FeedState, Lane, SenderDeps } from './sender-deps.js'
import type { SenderStates } from './states.js'

/** Shortest time between two requests without a row: an upstream that does not wait is not asked in a loop. */
const MIN_WAIT_MS = 1000
/** Longest wait of a request while progress is not noted, s. */
const NOTE_WAIT_S = 10

/**
 * Returns the feeds down whose upstream is to be watched from now on, and ends the requests of those that may not
 * fetch now. Cost: nothing without a feed down.
 */
export async function watchable(
  deps: SenderDeps,
  { feeds, lanes }: SenderStates,
): Promise<{ lane: Lane; state: FeedState }[]> {
  const down = [...feeds.values()].filter(({ record }) => record.direction === 'down')
  if (down.length === 0) return []
  const isClosed = (await deps.closedReason()) !== null
  return down.flatMap((state) => {
    const lane = lanes.get(state.record.upstream)
    const isOpen = !isClosed && deps.isInWindow(state.record.windows)
    if (!isOpen) state.watch?.abort()
    return isOpen && lane !== undefined && hasEverything(deps, lane, state) ? [{ lane, state }] : []
  })
}

/** True for a feed down that has agreed with its upstream and has all its rows. */
function hasEverything(deps: SenderDeps, lane: Lane, state: FeedState): boolean {
  const { record, session, stopped, watch, behindSinceUs, isSending, resend } = state
  if (session === undefined || watch !== undefined || isSending || resend !== undefined) return false
  if (behindSinceUs !== null || session.cursor < state.upstreamLast) return false
  return stopped === null && record.isEnabled && Math.max(lane.waitUntilMs, state.waitUntilMs) <= deps.nowMs()
}

/**
 * Keeps a request waiting at the upstream of a feed down, and takes the batch that it answers. Ends when there is
 * more than one batch to fetch, which the lane does in its order, and at a failure.
 */
export async function watchUpstream(
  deps: SenderDeps,
  lane: Lane,
  state: FeedState,
  stopSignal: AbortSignal,
): Promise<void> {
  const control = new AbortController()
  state.watch = control
  const signal = AbortSignal.any([stopSignal, control.signal])
  let link: FeedLink | undefined
  try {
    const upstream = await deps.upstreams.find(lane.upstream)
    if (upstream === undefined) return // removed meanwhile, and the feed with it
    link = deps.connect(upstream)
    await watch(deps, link, state, signal)
  } catch (error) {
    if (!signal.aborted) await noteFault(deps, lane, state, error)
  } finally {
    state.watch = undefined
    await link?.close()
  }
}

async function watch(deps: SenderDeps, link: FeedLink, state: FeedState, signal: AbortSignal): Promise<void> {
  let isNoted = true
  while (!signal.aborted) {
    const startMs = deps.nowMs()
    const waitS = isNoted ? deps.waitS : Math.min(deps.waitS, NOTE_WAIT_S)
    const result = await deps.fetchNext(link, state, waitS, signal)
    if (result === 'nothing to send') {
      if (!isNoted || state.lastError !== null) await note(deps, state)
      isNoted = true
      const restMs = MIN_WAIT_MS - (deps.nowMs() - startMs)
      if (restMs > 0) await deps.sleep(restMs, signal)
      continue
    }
    await noteTurn(deps, state, false)
    isNoted = false
    const { session } = state
    if (session !== undefined && session.cursor >= state.upstreamLast) continue
    state.behindSinceUs ??= deps.nowUs()
    return
  }
}
