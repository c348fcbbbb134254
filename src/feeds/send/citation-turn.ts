import { AppError } from '../../errors.js'
import type { CitedState } from '../../storage/datasets/citations.js'
import type { CitationOffer } from '../citations/format.js'
import { encodeRows, offerOf } from '../citations/send.js'
import { collectUntilMs } from './collect.js'
import { noteMoved, takeDetour } from './counts.js'
import type { FeedLink } from './link.js'
import type { FeedState, SenderDeps, Session, TurnResult } from './sender-deps.js'

/**
 * Sends the next rows of a citation, after an offer if there is no agreement with the receiver yet.
 *
 * @param longForm of the citation
 * @throws AppError UPSTREAM_UNREACHABLE, UPSTREAM_REFUSED, UNKNOWN_CITATION, TABLE_NOT_SENDABLE,
 *   CITATION_DAMAGED, CANCELLED
 */
export async function sendCitation(
  deps: SenderDeps,
  link: FeedLink,
  state: FeedState,
  longForm: string,
  signal: AbortSignal,
): Promise<TurnResult> {
  const citation = await deps.findCitation(longForm)
  if (citation?.info.longForm !== longForm) throw missingCitation(longForm)
  const offer = offerOf(citation, deps.nodeId)
  if (offer === undefined) {
    // its checksum is being computed
    state.collectUntilMs = collectUntilMs(deps, deps.nowMs())
    return 'nothing to send'
  }
  const { session } = state
  if (session === undefined) {
    const { rows, complete } = await link.offerCitation(offer, signal)
    state.session = sessionAt(complete ? offer.row_count : rows)
    if (!complete) state.behindSinceUs ??= deps.nowUs()
    return 'went on'
  }
  if (session.cursor >= offer.row_count) return 'nothing to send'
  await sendRows(deps, link, { state, session, citation, offer }, signal)
  return 'went on'
}

async function sendRows(
  deps: SenderDeps,
  link: FeedLink,
  {
    state,
    session,
    citation,
    offer,
  }: { state: FeedState; session: Session; citation: CitedState; offer: CitationOffer },
  signal: AbortSignal,
): Promise<void> {
  const { body, rows } = await encodeRows(citation, offer, session.cursor, signal)
  const startMs = deps.nowMs()
  const throttles = state.throttle === undefined ? [deps.throttle] : [deps.throttle, state.throttle]
  const answer = await link.sendCitation(offer.checksum, body, throttles, signal)
  if (answer.kind === 'taken') noteMoved(state, rows, body.byteLength, deps.nowMs() - startMs)
  else takeDetour(state)
  if (answer.kind === 'unknown') state.session = undefined
  else Object.assign(session, { cursor: answer.cursor, scanned: answer.cursor })
  if (answer.kind === 'taken') state.detours = 0
}

/** Session of a citation: its rows are numbered from 0, and no table changes them. */
function sessionAt(cursor: number): Session {
  return { peer: '', tableUuid: '', tableId: -1, epoch: 0, digest: '', cursor, scanned: cursor }
}

function missingCitation(longForm: string): AppError {
  const message = `No citation has the long form ${longForm}; it was deleted here`
  return new AppError('UNKNOWN_CITATION', { citation_label: longForm }, { message })
}
