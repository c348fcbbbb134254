import { z } from 'zod'
import { AppError } from '../../errors.js'
import { unknownStore } from '../../models/faults.js'
import { defineMethod } from '../../rpc/define-method.js'
import { rawJson } from '../../rpc/result.js'
import type { ModelStoreRecord } from '../../storage/models/model-stores.js'
import type { TransferRecord } from '../../storage/models/transfers.js'
import type { UpstreamRecord } from '../../storage/models/upstreams.js'
import type { Outcome } from '../../sync/outbox.js'
import type { FlContext } from './context.js'
import { AnyModelInfo, ModelId, StoreName } from './schema.js'

type SendContext = Pick<
  FlContext,
  'models' | 'modelStores' | 'upstreams' | 'transfers' | 'outbox' | 'config' | 'signal'
>

const SEND_ERRORS = [
  'UNKNOWN_STORE',
  'NO_UPSTREAM',
  'UPSTREAM_DISABLED',
  'UPSTREAM_UNREACHABLE',
  'UPSTREAM_REFUSED',
] as const

/** A model that was sent before is not sent again: the answer of that time is returned. */
export const feedback = defineMethod({
  name: 'fl.feedback',
  summary: 'Sends a model to the upstream of its store; answers the model_info registered there',
  scope: 'fl:write',
  errors: [...SEND_ERRORS, 'UNKNOWN_MODEL'],
  params: z.strictObject({ model_store_ddc: StoreName, model_id: ModelId }),
  result: AnyModelInfo,
  async handle({ model_store_ddc, model_id }, context: SendContext) {
    const { store, upstreams } = await upstreamsOf(model_store_ddc, context)
    const model = await context.models.find(model_id)
    if (model === undefined || model.storeId !== store.storeId)
      throw new AppError('UNKNOWN_MODEL', { model_id }, { message: `The store has no model ${model_id}` })
    const queued: TransferRecord[] = []
    for (const { upstreamId } of upstreams)
      queued.push(await context.transfers.queueFeedback(model, upstreamId))
    const outcomes = await Promise.all(queued.map((transfer) => settle(transfer, context)))
    const answers = outcomes.map(answerOf) // throws for the first one not delivered
    return rawJson(answers[0] ?? 'null')
  },
})

export const requestTransfer = defineMethod({
  name: 'fl.request_transfer',
  summary: 'Brings the newest aggregated model of the upstream here, with state 40',
  scope: 'fl:write',
  errors: [...SEND_ERRORS, 'NO_AGGREGATED_MODEL'],
  params: z.strictObject({ model_store_ddc: StoreName }),
  result: AnyModelInfo,
  async handle({ model_store_ddc }, context: SendContext & Pick<FlContext, 'modelInfo'>) {
    const { store, upstreams } = await upstreamsOf(model_store_ddc, context)
    const [upstream] = upstreams
    if (upstream === undefined) throw new AppError('NO_UPSTREAM', { model_store_ddc })
    const transfer = await context.transfers.queueFetch(store.storeId, upstream.upstreamId)
    const outcome = await settle(transfer, context)
    const modelId = fetchedId(outcome)
    const info = modelId === null ? undefined : await context.modelInfo(modelId)
    if (info === undefined) throw new AppError('UNKNOWN_MODEL', { model_id: modelId })
    return info as z.output<typeof AnyModelInfo>
  },
})

/** @throws AppError UNKNOWN_STORE, NO_UPSTREAM, UPSTREAM_DISABLED */
async function upstreamsOf(
  name: string,
  { modelStores, upstreams }: Pick<FlContext, 'modelStores' | 'upstreams'>,
): Promise<{ store: ModelStoreRecord; upstreams: UpstreamRecord[] }> {
  const store = await modelStores.find(name)
  if (store === undefined) throw unknownStore(name)
  const all = await upstreams.ofStore(store.storeId)
  if (all.length === 0) throw new AppError('NO_UPSTREAM', { model_store_ddc: name })
  const enabled = all.filter(({ isEnabled }) => isEnabled)
  if (enabled.length === 0) throw new AppError('UPSTREAM_DISABLED', { model_store_ddc: name })
  return { store, upstreams: enabled }
}

function settle(transfer: TransferRecord, { outbox, config, signal }: SendContext): Promise<Outcome> {
  return outbox.expedite(transfer.transferId, config.sync.waitS * 1000, signal)
}

function answerOf({ transfer, fault }: Outcome): string {
  if (transfer.state === 'delivered' && transfer.answer !== null) return transfer.answer
  throw notDelivered(transfer, fault)
}

/**
 * Returns the id of the fetched model: from the row if it was registered now, from the answer if it was
 * known.
 */
function fetchedId({ transfer, fault }: Outcome): string | null {
  if (transfer.state !== 'delivered') throw notDelivered(transfer, fault)
  return transfer.modelId ?? (JSON.parse(transfer.answer ?? '{}') as { model_id?: string }).model_id ?? null
}

function notDelivered(transfer: TransferRecord, fault: Outcome['fault']): AppError {
  const { transferId } = transfer
  if (fault?.name === 'NO_AGGREGATED_MODEL')
    // its row is gone, or goes now
    return new AppError('NO_AGGREGATED_MODEL', {}, { message: fault.message })
  if (transfer.state === 'failed') {
    const reason = transfer.lastError ?? 'the transfer failed'
    const name = transfer.lastErrorName
    if (name === 'NO_AGGREGATED_MODEL') return new AppError(name, {}, { message: reason })
    const status = fault?.status === undefined ? {} : { status: fault.status }
    return new AppError(
      'UPSTREAM_REFUSED',
      { transferId, queued: false, reason: name, ...status },
      { message: reason },
    )
  }
  const reason = fault?.message ?? transfer.lastError ?? 'no attempt has failed, the transfer continues'
  return new AppError(
    'UPSTREAM_UNREACHABLE',
    { transferId, queued: true },
    { message: `The transfer waits: ${reason}` },
  )
}
