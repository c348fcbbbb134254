import { z } from 'zod'
import { isAppError } from '../errors.js'
import type { ModelRecord } from '../storage/models.js'
import type { UpstreamRecord } from '../storage/upstreams.js'
import { garbage } from './faults.js'
import type { UpstreamClient } from './http-client.js'

export const FL_PATH = '/api/v2/fl/jsonrpc'
export const MODEL_STORE_PATH = '/api/v2/model_store/jsonrpc'

/** What an upstream is. */
export interface PeerFacts {
  /** it takes resumable uploads and `put_feedback`: another gateway */
  isPeer: boolean
  /** its node id, null for others */
  nodeId: string | null
}

const Discovered = z.looseObject({
  'x-resumable-upload': z.unknown().optional(),
  'x-node-id': z.string().max(100).optional(),
  'x-uploads': z.array(z.string().max(200)).max(100).optional(),
})

const RemoteInfo = z.looseObject({
  model_id: z.string().min(1).max(200),
  model_kind: z.string().max(100_000).default(''),
  model_description: z.string().max(1_000_000).default(''),
  model_meta: z.record(z.string(), z.unknown()).default({}),
  model_hash: z.string().max(200),
  model_sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional(),
  model_size: z.int().min(0),
  hop_count: z.int().min(0).max(1_000_000).default(0),
  round: z.int().min(0).default(0),
  tenant_id: z.string().max(1000).default(''),
})

/** A model as an upstream tells of it. */
export type RemoteModel = z.output<typeof RemoteInfo>

const Announced = z.union([
  z.looseObject({
    have: z.literal(true),
    model_info: z.looseObject({ model_id: z.string().min(1).max(200) }),
  }),
  z.looseObject({
    have: z.literal(false),
    upload_url: z.string().min(1).max(2000),
    offset: z.int().min(0),
  }),
])

/** Asks an upstream what it is. What answers otherwise than a gateway of ours is taken for a plain server. */
export async function discover(client: UpstreamClient, signal: AbortSignal): Promise<PeerFacts> {
  try {
    const found = Discovered.safeParse(await client.rpc(FL_PATH, 'rpc.discover', {}, signal))
    if (!found.success) return { isPeer: false, nodeId: null }
    const uploads = found.data['x-uploads'] ?? []
    const isPeer =
      found.data['x-resumable-upload'] !== undefined && uploads.includes('model_store.model.put_feedback')
    return { isPeer, nodeId: found.data['x-node-id'] ?? null }
  } catch (error) {
    if (isPlainServer(error)) return { isPeer: false, nodeId: null }
    throw error
  }
}

/** Names the bytes before sending them. @returns the model when the peer has it, else where to send it */
export async function announce(
  client: UpstreamClient,
  params: { sha256: string; size: number; data: object },
  signal: AbortSignal,
): Promise<z.output<typeof Announced>> {
  const parsed = Announced.safeParse(await client.rpc(FL_PATH, 'fl.announce', params, signal))
  if (!parsed.success) throw garbage('something else than fl.announce answers')
  return parsed.data
}

/** Models of the upstream's store. @throws AppError UPSTREAM_REFUSED also when there is no such method */
export async function listRemote(
  client: UpstreamClient,
  upstream: Pick<UpstreamRecord, 'upstreamStore'>,
  query: { conds: object; order: string; limit: number },
  signal: AbortSignal,
): Promise<RemoteModel[]> {
  const params = { model_store_ddc: upstream.upstreamStore, ...query }
  const parsed = z
    .array(RemoteInfo)
    .max(10_000)
    .safeParse(await client.rpc(MODEL_STORE_PATH, 'model_store.model.get_info', params, signal))
  if (!parsed.success) throw garbage('something else than model_store.model.get_info answers')
  return parsed.data
}

/** The data part that carries a model to a peer: with where it came from, so that it is taken once and loops are seen. */
export function feedbackData(model: ModelRecord, upstream: UpstreamRecord, nodeId: string): object {
  return {
    ...plainData(model, upstream),
    round: model.round,
    origin: {
      node: model.originNode ?? nodeId,
      model_id: model.originModelId ?? model.modelId,
      hop_count: model.hopCount,
      chain: [...model.chain, nodeId],
    },
  }
}

/** The data part as the public interface has it. */
export function plainData(model: ModelRecord, upstream: UpstreamRecord): object {
  return {
    model_store_ddc: upstream.upstreamStore,
    model_kind: model.kind,
    model_description: model.description,
    model_meta: JSON.parse(model.meta),
  }
}

/** Answers that say: no such path, no such method, not JSON-RPC. Anything else says nothing of what the server is. */
function isPlainServer(error: unknown): boolean {
  if (!isAppError(error) || error.errorName !== 'UPSTREAM_REFUSED') return false
  const { status, isGarbage } = error.data
  return isGarbage === true || (typeof status === 'number' && [400, 404, 405, 406, 415, 501].includes(status))
}
