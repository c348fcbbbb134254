import type { FeedProgress, FeedRecord } from '../../storage/exchange/feeds.js'
import { SENT_ROWS } from '../batch/format.js'
import type { FeedState, Lane, SenderDeps } from './sender-deps.js'

/** Feeds and lanes in memory. */
export interface SenderStates {
  readonly feeds: Map<string, FeedState>
  readonly lanes: Map<string, Lane>
}

/**
 * Reads the feeds again: new ones get a state, removed ones lose it, changed ones keep where they are.
 * Lanes without a feed are closed.
 */
export async function refreshStates(deps: SenderDeps, { feeds, lanes }: SenderStates): Promise<void> {
  const records = await deps.feeds.list()
  const known = new Set(records.map(({ feedId }) => feedId))
  for (const [feedId, state] of feeds) {
    if (known.has(feedId)) continue
    state.watch?.abort()
    feeds.delete(feedId)
  }
  for (const record of records) {
    const state = feeds.get(record.feedId)
    if (state === undefined) feeds.set(record.feedId, await newState(deps, record))
    else takeOver(deps, state, record)
  }
  for (const state of feeds.values()) await noteResend(deps, state)
  // those without an endpoint are reached by bundles alone
  const reached = (await deps.upstreams.list())
    .filter(({ endpoint }) => endpoint !== '')
    .map(({ name }) => name)
  const wanted = new Set(records.map(({ upstream }) => upstream).filter((name) => reached.includes(name)))
  for (const [name, lane] of lanes) {
    if (wanted.has(name) || lane.isRunning) continue
    lanes.delete(name)
    await lane.link?.close()
  }
  for (const name of wanted)
    if (!lanes.has(name))
      lanes.set(name, {
        ...{ upstream: name, link: undefined, isRunning: false, failures: 0, waitUntilMs: 0, looks: 0 },
        idle: new Set(),
      })
}

async function newState(deps: SenderDeps, record: FeedRecord): Promise<FeedState> {
  const { rowsSent, bytesSent, behindSinceUs, lastError, stopped } = record.progress
  return {
    record,
    session: undefined,
    ahead: undefined,
    fetched: undefined,
    resend: undefined,
    aside: new Set(await deps.feeds.changesSetAside(record.feedId)),
    throttle: throttleOf(deps, record),
    maxRows: SENT_ROWS,
    failures: 0,
    detours: 0,
    ...{ waitUntilMs: 0, collectUntilMs: 0 },
    isSending: false,
    hasMore: false,
    mustOffer: false,
    agreedAtMs: 0,
    upstreamLast: record.progress.upstreamLast ?? 0,
    watch: undefined,
    ...{ rowsSent, bytesSent, behindSinceUs, lastError, stopped },
    rate: { bytes: 0, ms: 0 },
    notedAtMs: Number.NEGATIVE_INFINITY,
    notedScanned: record.progress.scanned,
  }
}

/** A request that is known stays as far as it is. */
async function noteResend({ resends }: SenderDeps, state: FeedState): Promise<void> {
  const request = await resends.find(state.record.feedId)
  if (request === undefined) state.resend = undefined
  else if (request.askedAtUs !== state.resend?.request.askedAtUs) {
    state.resend = { request, refused: new Set(), hadTurn: false }
    state.watch?.abort() // the lane asks for them
  }
}

/** A stop that an operator ended in the rows ends here; a condition that changed is read from the cursor on. */
function takeOver(deps: SenderDeps, state: FeedState, record: FeedRecord): void {
  const before = state.record
  state.record = record
  // acknowledged by a bundle, which another program has applied
  if (state.session === undefined && before.progress.cursor !== record.progress.cursor) {
    state.behindSinceUs = record.progress.behindSinceUs
    state.lastError = record.progress.lastError
  }
  if (before.maxBytesPerSecond !== record.maxBytesPerSecond) state.throttle = throttleOf(deps, record)
  if (JSON.stringify(before.conds) !== JSON.stringify(record.conds)) changeConds(state)
  if (!record.isEnabled) state.watch?.abort()
  if (state.stopped !== null && record.progress.stopped === null) {
    state.stopped = null
    state.session = undefined
    state.waitUntilMs = 0
    state.failures = 0
  }
}

/** Looks again at changes that were looked at without a row; an upstream is told of the condition. */
function changeConds(state: FeedState): void {
  if (state.record.direction === 'down') {
    state.session = undefined
    state.watch?.abort()
  } else if (state.session !== undefined) state.session.scanned = state.session.cursor
}

function throttleOf(deps: SenderDeps, { maxBytesPerSecond }: FeedRecord): FeedState['throttle'] {
  return maxBytesPerSecond === 0 ? undefined : deps.throttleOf(maxBytesPerSecond)
}

/** Returns the progress of a feed as it is noted. */
export function progressOf(state: FeedState): FeedProgress {
  const { record, session, rowsSent, bytesSent, behindSinceUs, lastError, stopped, rate } = state
  return {
    tableUuid: session?.tableUuid ?? record.progress.tableUuid,
    cursor: session?.cursor ?? record.progress.cursor,
    epoch: session?.epoch ?? record.progress.epoch,
    scanned: session?.scanned ?? record.progress.scanned,
    bytesPerSecond:
      rate.ms === 0 ? record.progress.bytesPerSecond : Math.round((rate.bytes / rate.ms) * 1000),
    ...{ rowsSent, bytesSent, behindSinceUs, lastError, stopped },
    ...(record.direction === 'down' ? { upstreamLast: state.upstreamLast } : {}),
  }
}
