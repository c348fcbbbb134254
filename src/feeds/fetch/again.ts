import type { FeedResends } from '../../storage/exchange/feed-resends.js'
import type { LoaderTable } from '../../storage/tables.js'
import type { Throttle } from '../../sync/throttle.js'
import { noteMoved, takeDetour } from '../send/counts.js'
import type { FeedLink } from '../send/link.js'
import type { FeedState, ResendState, Session } from '../send/sender-deps.js'
import { type TakeDeps, takeAgain } from './take.js'

/** Dependencies of asking for rows once more. */
export interface AgainDeps extends TakeDeps {
  readonly resends: Pick<FeedResends, 'note' | 'end'>
  readonly throttle: Throttle
  oneAtATime<T>(work: () => Promise<T>): Promise<T>
  nowMs(): number
}

/**
 * Asks for the next rows of a feed down that come once more. The cursor stays: this node keeps one of each.
 *
 * @throws AppError UPSTREAM_UNREACHABLE, UPSTREAM_REFUSED, CANCELLED
 */
export async function fetchAgain(
  deps: AgainDeps,
  link: FeedLink,
  {
    state,
    session,
    resend,
    table,
  }: { state: FeedState; session: Session; resend: ResendState; table: LoaderTable },
  signal: AbortSignal,
): Promise<void> {
  const startMs = deps.nowMs()
  const throttles = state.throttle === undefined ? [deps.throttle] : [deps.throttle, state.throttle]
  const { tableUuid, epoch, cursor: after } = session
  const { fromDay, toDay, afterRow } = resend.request
  const request = { table: tableUuid, feed: state.record.feedId, epoch, after, waitS: 0 }
  const answer = await link.fetchAgain({ ...request, fromDay, toDay, afterRow }, throttles, signal)
  if (answer === undefined) {
    takeDetour(state)
    state.session = undefined
    return
  }
  const { body, until, isEnd, tooLarge } = answer
  const rows = await deps.oneAtATime(() =>
    takeAgain(deps, state, { session, table }, { body, afterRow, tooLarge }),
  )
  state.detours = 0
  noteMoved(state, rows, body.byteLength, deps.nowMs() - startMs)
  resend.request = { ...resend.request, afterRow: until, sent: resend.request.sent + rows }
  if (!isEnd) return await deps.resends.note(resend.request)
  await deps.resends.end(resend.request)
  if (state.resend === resend) state.resend = undefined
}
