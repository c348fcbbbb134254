import { z } from 'zod'
import { unknownStore } from '../../models/faults.js'
import { defineMethod } from '../../rpc/define-method.js'
import type { UpstreamChange } from '../../storage/models/upstreams.js'
import { baseUrlOf } from '../../sync/endpoint.js'
import { ListParams, listQuery } from '../list-query.js'
import type { FlContext } from './context.js'
import { CreateUpstreamParams, UpdateUpstreamParams, UpstreamId, UpstreamInfo } from './schema.js'
import { toUpstreamInfo, unknownUpstream } from './upstream-info.js'

type UpstreamContext = Pick<FlContext, 'upstreams' | 'caller' | 'timeZoneMin'>

export const createUpstreamInfo = defineMethod({
  name: 'fl.create_upstream_info',
  summary: 'Adds an upstream to which models of a store are fed back',
  scope: 'fl:write',
  errors: ['UNKNOWN_STORE', 'BAD_ENDPOINT'],
  params: CreateUpstreamParams,
  result: UpstreamInfo,
  async handle(params, context: UpstreamContext & Pick<FlContext, 'modelStores' | 'config'>) {
    baseUrlOf(params.upstream_endpoint, context.config.sync.allowInsecure)
    const upstream = await context.upstreams.create({
      storeId: await storeIdOf(params.model_store_ddc, params.create, context),
      endpoint: params.upstream_endpoint,
      apikey: params.upstream_apikey,
      secret: params.upstream_secret,
      upstreamStore: params.upstream_model_store_ddc,
      alias: params.alias,
      description: params.description,
      isEnabled: params.enabled,
    })
    return toUpstreamInfo(upstream, context.caller, context.timeZoneMin)
  },
})

export const getUpstreamInfo = defineMethod({
  name: 'fl.get_upstream_info',
  summary: 'Upstream information of a model store',
  scope: 'fl:read',
  errors: ['UNKNOWN_UPSTREAM'],
  params: z.strictObject({ id: UpstreamId }),
  result: UpstreamInfo,
  async handle({ id }, { upstreams, caller, timeZoneMin }: UpstreamContext) {
    const upstream = await upstreams.find(id)
    if (upstream === undefined) throw unknownUpstream(id)
    return toUpstreamInfo(upstream, caller, timeZoneMin)
  },
})

export const listUpstreamInfo = defineMethod({
  name: 'fl.list_upstream_info',
  summary: 'Upstream information, filtered, ordered and paged',
  scope: 'fl:read',
  errors: ['BAD_CONDITION'],
  params: ListParams,
  result: z.array(UpstreamInfo),
  async handle(params, context: UpstreamContext & Pick<FlContext, 'clock'>) {
    const upstreams = await context.upstreams.list(listQuery(params, context))
    return upstreams.map((upstream) => toUpstreamInfo(upstream, context.caller, context.timeZoneMin))
  },
})

export const updateUpstreamInfo = defineMethod({
  name: 'fl.update_upstream_info',
  summary: 'Changes upstream information; absent members keep their values',
  scope: 'fl:write',
  errors: ['UNKNOWN_UPSTREAM', 'UNKNOWN_STORE', 'BAD_ENDPOINT'],
  params: UpdateUpstreamParams,
  result: UpstreamInfo,
  async handle(params, context: UpstreamContext & Pick<FlContext, 'modelStores' | 'config' | 'outbox'>) {
    const { id, model_store_ddc } = params
    if (params.upstream_endpoint !== undefined)
      baseUrlOf(params.upstream_endpoint, context.config.sync.allowInsecure)
    if ((await context.upstreams.find(id)) === undefined) throw unknownUpstream(id)
    const change = changeOf(params)
    if (model_store_ddc !== undefined) change.storeId = await storeIdOf(model_store_ddc, false, context)
    const upstream = await context.upstreams.update(id, change)
    if (upstream === undefined) throw unknownUpstream(id)
    context.outbox.askNow(id) // transfers that failed by the old values may succeed now
    return toUpstreamInfo(upstream, context.caller, context.timeZoneMin)
  },
})

export const deleteUpstreamInfo = defineMethod({
  name: 'fl.delete_upstream_info',
  summary: 'Removes upstream information and returns it; its waiting transfers fail',
  scope: 'fl:write',
  errors: ['UNKNOWN_UPSTREAM'],
  params: z.strictObject({ id: UpstreamId }),
  result: UpstreamInfo,
  async handle({ id }, context: UpstreamContext & Pick<FlContext, 'transfers' | 'outbox'>) {
    const upstream = await context.upstreams.remove(id)
    if (upstream === undefined) throw unknownUpstream(id)
    await context.transfers.cancelOfUpstream(id)
    for (const transferId of context.outbox.running().keys()) {
      const transfer = await context.transfers.find(transferId)
      if (transfer?.upstreamId === id) context.outbox.interrupt(transferId)
    }
    return toUpstreamInfo(upstream, context.caller, context.timeZoneMin)
  },
})

/** Returns the given members, the store excepted. */
function changeOf(params: z.output<typeof UpdateUpstreamParams>): UpstreamChange {
  const change: UpstreamChange = {}
  if (params.upstream_endpoint !== undefined) change.endpoint = params.upstream_endpoint
  if (params.upstream_apikey !== undefined) change.apikey = params.upstream_apikey
  if (params.upstream_secret !== undefined) change.secret = params.upstream_secret
  if (params.upstream_model_store_ddc !== undefined) change.upstreamStore = params.upstream_model_store_ddc
  if (params.alias !== undefined) change.alias = params.alias
  if (params.description !== undefined) change.description = params.description
  if (params.enabled !== undefined) change.isEnabled = params.enabled
  return change
}

/**
 * Returns the id of a store.
 *
 * @param create creates an unknown store. Not by default: a mistyped name would make a store whose upstream
 *   never receives anything
 */
async function storeIdOf(
  name: string,
  create: boolean,
  { modelStores, config }: Pick<FlContext, 'modelStores' | 'config'>,
): Promise<number> {
  const found = await modelStores.find(name)
  if (found !== undefined) return found.storeId
  if (!create) throw unknownStore(name, '; create: true makes it')
  if (!config.modelStore.autoCreate)
    throw unknownStore(name, ', and modelStore.autoCreate forbids to make it here')
  const made = (await modelStores.create(name)) ?? (await modelStores.find(name))
  if (made === undefined) throw unknownStore(name)
  return made.storeId
}
