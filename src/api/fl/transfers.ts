import { z } from 'zod'
import { datetimeObject } from '../../datetime.js'
import { AppError } from '../../errors.js'
import { defineMethod } from '../../rpc/define-method.js'
import type { TransferRecord } from '../../storage/models/transfers.js'
import { ListParams, listQuery } from '../list-query.js'
import type { FlContext } from './context.js'
import { TransferId, TransferInfo } from './schema.js'

type TransferContext = Pick<FlContext, 'transfers' | 'outbox' | 'timeZoneMin'>

export const listTransfers = defineMethod({
  name: 'fl.list_transfers',
  summary: 'Transfers to and from upstreams, filtered, ordered and paged',
  scope: 'fl:read',
  errors: ['BAD_CONDITION'],
  params: ListParams,
  result: z.array(TransferInfo),
  async handle(params, context: TransferContext & Pick<FlContext, 'clock'>) {
    const transfers = await context.transfers.list(listQuery(params, context))
    return transfers.map((transfer) => toTransferInfo(transfer, context))
  },
})

export const getTransfer = defineMethod({
  name: 'fl.get_transfer',
  summary: 'One transfer',
  scope: 'fl:read',
  errors: ['UNKNOWN_TRANSFER'],
  params: z.strictObject({ id: TransferId }),
  result: TransferInfo,
  async handle({ id }, context: TransferContext) {
    return toTransferInfo(known(id, await context.transfers.find(id)), context)
  },
})

export const retryTransfer = defineMethod({
  name: 'fl.retry_transfer',
  summary: 'Retries a waiting or failed transfer now; a delivered one is returned unchanged',
  scope: 'fl:write',
  errors: ['UNKNOWN_TRANSFER'],
  params: z.strictObject({ id: TransferId }),
  result: TransferInfo,
  async handle({ id }, context: TransferContext) {
    const transfer = known(id, await context.transfers.retry(id))
    context.outbox.askNow(transfer.upstreamId)
    return toTransferInfo(transfer, context)
  },
})

export const cancelTransfer = defineMethod({
  name: 'fl.cancel_transfer',
  summary: 'Cancels a waiting or running transfer; the model is kept on this node',
  scope: 'fl:write',
  errors: ['UNKNOWN_TRANSFER'],
  params: z.strictObject({ id: TransferId }),
  result: TransferInfo,
  async handle({ id }, context: TransferContext) {
    const transfer = known(id, await context.transfers.cancel(id))
    context.outbox.interrupt(id)
    return toTransferInfo(transfer, context)
  },
})

/** Converts a row; the progress of a running attempt is newer than the row. */
function toTransferInfo(
  transfer: TransferRecord,
  { outbox, timeZoneMin }: TransferContext,
): z.output<typeof TransferInfo> {
  const running = outbox.running().get(transfer.transferId)
  const time = (us: number | null) => (us === null ? null : datetimeObject(us, timeZoneMin))
  return {
    id: transfer.transferId,
    kind: transfer.kind,
    model_id: transfer.modelId,
    upstream_id: transfer.upstreamId,
    state: transfer.state,
    attempts: transfer.attempts,
    bytes_sent: Math.max(transfer.bytesSent, running?.doneBytes ?? 0),
    size: transfer.sizeBytes,
    bytes_saved: transfer.savedBytes,
    delta: deltaOf(transfer),
    next_attempt_at: time(transfer.nextAttemptUs),
    last_error: transfer.lastError,
    created_at: datetimeObject(transfer.createdAtUs, timeZoneMin),
    finished_at: time(transfer.finishedAtUs),
  }
}

function deltaOf({ delta }: TransferRecord): z.output<typeof TransferInfo>['delta'] {
  if (delta === null) return null
  const { base, sizeBytes: size, error } = delta
  return { base, size, error }
}

function known(id: number, transfer: TransferRecord | undefined): TransferRecord {
  if (transfer === undefined)
    throw new AppError('UNKNOWN_TRANSFER', { id }, { message: `No transfer has the id ${id}` })
  return transfer
}
