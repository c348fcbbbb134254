import { AppError } from '../../errors.js'
import type { LoaderTable } from '../../storage/tables.js'
import type { Throttle } from '../../sync/throttle.js'
import { noteMoved, takeDetour } from '../send/counts.js'
import type { AskedBatch, FeedLink } from '../send/link.js'
import type { FeedState, FetchedAhead, Session, TurnResult } from '../send/sender-deps.js'
import { type AgainDeps, fetchAgain } from './again.js'
import { type AgreeDeps, agree } from './agree.js'
import { takeBatch } from './take.js'

/** Dependencies of asking for batches. */
export interface FetchDeps extends AgainDeps, AgreeDeps {
  readonly feeds: AgreeDeps['feeds']
  /** shared with everything that is sent and fetched */
  readonly throttle: Throttle
  /** Runs the storing of one batch at a time, whatever the number of feeds: the memory of one. */
  oneAtATime<T>(work: () => Promise<T>): Promise<T>
  nowMs(): number
}

/**
 * Asks for the next batch of a feed down, after a question for its table if there is no agreement yet.
 *
 * @param waitS how long the upstream may wait for a row
 * @throws AppError UPSTREAM_UNREACHABLE, UPSTREAM_REFUSED, TABLE_DIFFERS, STALE_EPOCH, LOOP, CANCELLED
 */
export async function fetchNext(
  deps: FetchDeps,
  link: FeedLink,
  state: FeedState,
  waitS: number,
  signal: AbortSignal,
): Promise<TurnResult> {
  const table = await deps.findTable(state.record.dataName)
  if (state.session === undefined || table === undefined || state.session.tableId !== table.tableId) {
    state.session = await openSession(deps, link, state, signal)
    return 'went on'
  }
  const { session, resend } = state
  if (resend !== undefined && !resend.hadTurn) {
    resend.hadTurn = true
    await fetchAgain(deps, link, { state, session, resend, table }, signal)
    return 'went on'
  }
  if (resend !== undefined) resend.hadTurn = false
  const nothing = resend === undefined ? 'nothing to send' : 'went on'
  if (waitS === 0 && session.cursor >= state.upstreamLast) return nothing
  const startMs = deps.nowMs()
  const throttles = state.throttle === undefined ? [deps.throttle] : [deps.throttle, state.throttle]
  const after = session.cursor
  const ask = (from: number, seconds: number) => {
    const { tableUuid: uuid, epoch } = session
    const request = { table: uuid, feed: state.record.feedId, epoch, after: from, waitS: seconds }
    return link.fetch(request, throttles, signal)
  }
  const answer = takeFetched(state, session) ?? (await ask(after, waitS))
  if (answer.kind === 'none') {
    state.upstreamLast = after
    return nothing
  }
  if (answer.kind === 'unknown') {
    takeDetour(state)
    state.session = undefined
    return 'went on'
  }
  if (answer.tooLarge !== undefined) await setAside(deps, state, answer.tooLarge)
  const rows = await storeAndAsk(deps, { state, session, table }, answer, (from) => ask(from, 0))
  if (session.cursor === after)
    throw new AppError('UPSTREAM_REFUSED', {}, { message: 'a batch of no changes' })
  state.detours = 0
  state.upstreamLast = Math.max(answer.last, session.cursor)
  noteMoved(state, rows, answer.body.byteLength, deps.nowMs() - startMs)
  return 'went on'
}

/** Largest body behind which the next one is asked for while it is stored: two are in memory then. */
const MAX_AHEAD_BYTES = 256 * 1024

/** Stores a batch, and asks for the next one meanwhile. @returns rows of the batch */
async function storeAndAsk(
  deps: FetchDeps,
  { state, session, table }: { state: FeedState; session: Session; table: LoaderTable },
  { body, last }: Extract<AskedBatch, { kind: 'batch' }>,
  ask: (after: number) => Promise<AskedBatch>,
): Promise<number> {
  // settled: a failure must not go unheard while the batch is stored
  let asking: Promise<readonly [PromiseSettledResult<FetchedAhead>]> | undefined
  const onOpened = (after: number) => {
    if (after >= last || body.byteLength > MAX_AHEAD_BYTES) return
    asking = Promise.allSettled([ask(after).then((answer) => ({ answer, after, session }))])
  }
  const [storing] = await Promise.allSettled([
    deps.oneAtATime(() => takeBatch(deps, state, session, table, { body, onOpened })),
  ])
  const [fetching] = (await asking) ?? []
  if (storing.status === 'rejected') throw storing.reason
  // a failure to ask is met again in the next turn, which asks itself
  state.fetched = fetching?.status === 'fulfilled' ? fetching.value : undefined
  return storing.value
}

/** Takes the answer that was asked for ahead, if the agreement is as it was, and its rows are the next. */
function takeFetched(state: FeedState, session: Session): AskedBatch | undefined {
  const { fetched } = state
  state.fetched = undefined
  return fetched?.session === session && fetched.after === session.cursor ? fetched.answer : undefined
}

/** Asks for the table of a feed, and registers it if no table has its name. */
async function openSession(
  deps: FetchDeps,
  link: FeedLink,
  state: FeedState,
  signal: AbortSignal,
): Promise<Session> {
  const { record } = state
  const { feedId: feed, dataName: table, columns, conds, start } = record
  const isKnown = start.tableUuid !== ''
  const asked = await link.ask(
    {
      ...{ node: deps.nodeId, feed, table, columns, conds, start: isKnown ? start : null },
      from: start.fromUs ?? (record.from === 'now' ? 'now' : 'all'),
    },
    signal,
  )
  const session = await agree(deps, state, asked)
  state.upstreamLast = asked.last
  return session
}

async function setAside(
  { feeds }: FetchDeps,
  { record }: FeedState,
  { change, key, reason }: { change: number; key: string; reason: string },
): Promise<void> {
  await feeds.setAside(record.feedId, [{ change, rowKey: key, reason }])
}
