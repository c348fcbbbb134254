import { AppError } from '../../errors.js'
import type { ReceivedBatch, SenderState } from './feeds.js'

/** Reports whether a batch was made of the table as it was offered. */
export function isSameState(a: SenderState, b: SenderState): boolean {
  return a.senderTable === b.senderTable && a.epoch === b.epoch && a.digest === b.digest
}

/** Makes the error for a feed that was not opened as it is named. */
export function feedUnknown({ feed }: Pick<SenderState, 'feed'>): AppError {
  const message = `The feed ${feed} was not offered as this batch has it; offer its table first`
  return new AppError('UNKNOWN_FEED', { feed }, { message })
}

/** Makes the error for a batch that does not begin at the cursor. */
export function cursorMismatch({ after, feed }: ReceivedBatch, cursor: number): AppError {
  const message = `The batch begins after change ${after}, expected ${cursor}`
  return new AppError('CURSOR_MISMATCH', { feed, cursor }, { message })
}

/** Makes the error for an epoch that is smaller than one of before. */
export function staleEpoch({ epoch, sender }: SenderState, known: number): AppError {
  const message =
    `The node ${sender} sends with epoch ${epoch}, but a restored copy of it has sent with ${known}: ` +
    'two gateways run with one node id; stop one of them'
  return new AppError('STALE_EPOCH', { epoch, known }, { message })
}
