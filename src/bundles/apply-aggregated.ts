import { AppError, messageOf } from '../errors.js'
import { type RegisterDeps, registerModel } from '../models/register-model.js'
import type { ListQuery } from '../storage/columns/list-query.js'
import type { FeedUpstreams } from '../storage/exchange/feeds.js'
import type { NodePeer } from '../storage/exchange/node-keys.js'
import type { UpstreamRecord, UpstreamRows } from '../storage/models/upstreams.js'
import { fetchedFacts } from '../sync/fetch-model.js'
import { type RemoteModel, readRemoteModel } from '../sync/peer.js'
import { type ApplyModelsDeps, type ModelResult, OF_MODEL, stageWhole } from './apply-models.js'
import type { Part } from './content/parts.js'
import { endpointOf, isUpstreamAt } from './peers.js'
import { AggregatedHead, readAs } from './schema.js'
import { bad } from './seal/open.js'

/** Dependencies of taking aggregated models. */
export interface ApplyAggregatedDeps extends ApplyModelsDeps {
  readonly register: RegisterDeps
  readonly upstreams: Pick<UpstreamRows, 'list'>
  readonly feedUpstreams: Pick<FeedUpstreams, 'find'>
  env(): ListQuery['env']
}

/**
 * Takes the newest aggregated model of a store of another node, for each store here whose upstream that is. One that is not newer
 * than what is here is passed over: the sender names the models that are older than its own.
 */
export async function takeAggregated(
  deps: ApplyAggregatedDeps,
  node: NodePeer,
  part: Part,
  result: ModelResult,
): Promise<void> {
  const head = readAs(AggregatedHead, part.head, 'aggregated')
  const remote = readRemoteModel(head.info)
  if (remote === undefined) throw bad('the part aggregated: info: expected a model_info')
  const upstreams = await upstreamsAt(deps, node, head.store)
  if (upstreams.length === 0) {
    const expected = `expected an upstream of a model store here with that name at ${node.name}`
    result.refused.push(`the aggregated model of ${head.store}: ${expected}`)
    return
  }
  const wanting: UpstreamRecord[] = []
  for (const upstream of upstreams) if (await isNews(deps, upstream, head)) wanting.push(upstream)
  if (wanting.length === 0) return void result.known++
  try {
    await takeFor(deps, node, wanting, { head, remote, part })
    result.taken++
  } catch (error) {
    if (!(error instanceof AppError) || !OF_MODEL.has(error.errorName)) throw error
    result.refused.push(`the aggregated model of ${head.store}: ${messageOf(error)}`)
  }
}

async function upstreamsAt(
  { upstreams, feedUpstreams, env }: ApplyAggregatedDeps,
  node: NodePeer,
  store: string,
): Promise<UpstreamRecord[]> {
  const endpoint = await endpointOf(node, feedUpstreams)
  if (endpoint === undefined) return []
  const all = await upstreams.list({ env: env() })
  return all.filter((one) => one.isEnabled && one.upstreamStore === store && isUpstreamAt(one, endpoint))
}

async function isNews(
  { register }: ApplyAggregatedDeps,
  { storeId }: UpstreamRecord,
  { sha256, older }: { sha256: string; older: readonly string[] },
): Promise<boolean> {
  const here = await register.models.newest(storeId, 40)
  if (here === undefined || here.isDamaged) return true
  return here.sha256 !== sha256 && older.includes(here.sha256)
}

/** Registers a model as the newest of each store; its bytes are read once from the bundle. */
async function takeFor(
  deps: ApplyAggregatedDeps,
  node: NodePeer,
  wanting: readonly UpstreamRecord[],
  of: { head: { sha256: string; signature?: string | undefined }; remote: RemoteModel; part: Part },
): Promise<void> {
  const { register } = deps
  const { sha256, signature } = of.head
  for (const [at, upstream] of wanting.entries()) {
    const startUs = register.clock.nowUs()
    const bytes = at === 0 ? of.part.body() : await register.blobs.open(sha256)
    if (bytes === undefined) return // no test: the first of them has stored it
    const staged = await stageWhole(deps, { sha256, bytes: of.part.bytes, source: bytes })
    const giveBack = await deps.keepBytes()
    try {
      await registerModel(
        register,
        staged,
        fetchedFacts(upstream, of.remote, { nodeId: node.nodeId, startUs, signature }),
      )
    } finally {
      await giveBack()
    }
  }
}
