import { z } from 'zod'
import { parseExact, withDoubles } from '../json/exact-json.js'
import type { ModelRecord } from '../storage/models/models.js'
import type { UpstreamRecord } from '../storage/models/upstreams.js'
import { isUnsupported, malformed } from './faults.js'
import { isObject, parseObject, type UpstreamClient } from './http-client.js'

export const FL_PATH = '/api/v2/fl/jsonrpc'
export const MODEL_STORE_PATH = '/api/v2/model_store/jsonrpc'

/** Kind of an upstream. */
export interface PeerFacts {
  /** another gateway: takes resumable uploads and `put_feedback` */
  isPeer: boolean
  /** its node id; null for other servers */
  nodeId: string | null
  /** takes signatures of models */
  hasSignatures: boolean
  /** takes deltas of models */
  takesDeltas: boolean
}

const Discovered = z.looseObject({
  'x-resumable-upload': z.unknown().optional(),
  'x-model-signatures': z.unknown().optional(),
  'x-model-deltas': z.unknown().optional(),
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
  signature: z.unknown().optional(),
})

/** A model as an upstream describes it. */
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
    base: z.string().max(100).optional(),
  }),
  z.looseObject({ have: z.literal(false), upload_url: z.undefined().optional(), base: z.string().max(100) }),
])

/** A model that is announced. */
interface Announcement {
  sha256: string
  size: number
  data: object
  /** digests of files to which a delta may be made */
  bases?: readonly string[]
  /** delta that is sent instead of the model */
  delta?: { base: string; sha256: string; size: number }
}

const OTHER_SERVER: PeerFacts = { isPeer: false, nodeId: null, hasSignatures: false, takesDeltas: false }

/** Asks an upstream for its kind. A server that does not answer like a gateway counts as a plain server. */
export async function discover(client: UpstreamClient, signal: AbortSignal): Promise<PeerFacts> {
  try {
    const found = Discovered.safeParse(withDoubles(await client.rpc(FL_PATH, 'rpc.discover', {}, signal)))
    if (!found.success) return OTHER_SERVER
    const uploads = found.data['x-uploads'] ?? []
    const isPeer =
      found.data['x-resumable-upload'] !== undefined && uploads.includes('model_store.model.put_feedback')
    const hasSignatures = isPeer && found.data['x-model-signatures'] === true
    const takesDeltas = isPeer && found.data['x-model-deltas'] === true
    return { isPeer, nodeId: found.data['x-node-id'] ?? null, hasSignatures, takesDeltas }
  } catch (error) {
    if (isUnsupported(error)) return OTHER_SERVER
    throw error
  }
}

/**
 * Announces bytes before sending them. Returns the model if the peer has the bytes; the first of the bases that it
 * has; or where to send them.
 */
export async function announce(
  client: UpstreamClient,
  params: Announcement,
  signal: AbortSignal,
): Promise<z.output<typeof Announced>> {
  const result = await client.rpc(FL_PATH, 'fl.announce', params, signal)
  const parsed = Announced.safeParse(withDoubles(result, 'model_info'))
  if (!parsed.success) throw malformed('something other than a result of fl.announce')
  return parsed.data
}

/**
 * Lists models of the store at the upstream.
 *
 * @throws AppError UPSTREAM_REFUSED, also if it has no such method
 */
export async function listRemote(
  client: UpstreamClient,
  upstream: Pick<UpstreamRecord, 'upstreamStore'>,
  query: { conds: object; order: string; limit: number },
  signal: AbortSignal,
): Promise<RemoteModel[]> {
  const params = { model_store_ddc: upstream.upstreamStore, ...query }
  const result = await client.rpc(MODEL_STORE_PATH, 'model_store.model.get_info', params, signal)
  const items = Array.isArray(result) ? result : [result]
  const parsed = z
    .array(RemoteInfo)
    .max(10_000)
    .safeParse(items.map((item) => withDoubles(item, 'model_meta')))
  if (!parsed.success || !Array.isArray(result))
    throw malformed('something other than a result of model_store.model.get_info')
  return parsed.data.map((remote, index) => ({ ...remote, ...metaOf(items[index]) }))
}

/** Reads the JSON text of a model_info; undefined for anything else. */
export function readRemoteModel(text: string): RemoteModel | undefined {
  const item = parseObject(text)
  const { data } = RemoteInfo.safeParse(withDoubles(item, 'model_meta'))
  return data === undefined ? undefined : { ...data, ...metaOf(item) }
}

/** Returns `model_meta` as the upstream sent it: the copy of a schema has no member `__proto__`. */
function metaOf(item: unknown): { model_meta?: Record<string, unknown> } {
  return isObject(item) && isObject(item.model_meta) ? { model_meta: item.model_meta } : {}
}

/**
 * Returns the data part that carries a model to another gateway: with its origin, by which the peer registers
 * it once and refuses loops.
 *
 * @param signature bundle; absent for an unsigned model, and for a peer that takes none
 */
export function feedbackData(
  model: ModelRecord,
  upstream: UpstreamRecord,
  nodeId: string,
  signature: string | undefined,
): object {
  return {
    ...plainData(model, upstream),
    ...(signature === undefined ? {} : { model_signature: signature }),
    round: model.round,
    origin: {
      node: model.originNode ?? nodeId,
      model_id: model.originModelId ?? model.modelId,
      hop_count: model.hopCount,
      chain: [...model.chain, nodeId],
    },
  }
}

/** Returns the data part of the public interface. */
export function plainData(model: ModelRecord, upstream: UpstreamRecord): object {
  return {
    model_store_ddc: upstream.upstreamStore,
    model_kind: model.kind,
    model_description: model.description,
    model_meta: parseExact(model.meta),
  }
}
