import type { LoaderTable } from '../../storage/tables.js'
import { collectBatch } from './collect.js'
import type { CollectDeps, FeedState, OutgoingBatch, Session } from './sender-deps.js'

/**
 * Reads the batch behind one that is on its way, so that reading and the receiver's work go on at the same time. It is
 * kept in the feed.
 *
 * @param after change with which the batch on its way ends
 */
export async function readAhead(
  deps: CollectDeps,
  state: FeedState,
  session: Session,
  { table, after }: { table: LoaderTable; after: number },
): Promise<void> {
  const { record } = state
  const behind = { ...session, cursor: after, scanned: after }
  const batch = await collectBatch(deps, { ...state, isPatient: false }, behind, table)
  // what is no batch is met again in its own turn
  state.ahead = batch === undefined || 'tooLarge' in batch ? undefined : { batch, after, session, record }
}

/**
 * Takes the batch that was read ahead, if it is the next one: the receiver has stored what comes before it, and the
 * agreement and the feed are as they were.
 */
export function takeAhead(state: FeedState, session: Session): OutgoingBatch | undefined {
  const { ahead, record } = state
  state.ahead = undefined
  if (ahead === undefined || ahead.session !== session || ahead.record !== record) return undefined
  return ahead.after === session.cursor && ahead.after === session.scanned ? ahead.batch : undefined
}
