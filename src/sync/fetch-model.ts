import { AppError, isAppError } from '../errors.js'
import { type ModelFacts, registerModel } from '../models/register-model.js'
import { requireSigned } from '../models/require-signed.js'
import type { ModelRecord } from '../storage/models/models.js'
import type { TransferDelta, TransferRecord, TransferRows } from '../storage/models/transfers.js'
import type { UpstreamRecord } from '../storage/models/upstreams.js'
import type { Attempt, AttemptDeps } from './attempt.js'
import { refused } from './faults.js'
import { receive } from './fetch-bytes.js'
import { errorMessageIn } from './http-client.js'
import { listRemote, type RemoteModel } from './peer.js'

/** Returns the id of the part that receives the bytes of a fetch. */
function fetchPartId(transferId: number): string {
  return `fetch-${transferId}`
}

/** Returns the ids of the parts of all waiting fetches. */
export async function partsOfFetches(transfers: Pick<TransferRows, 'list'>): Promise<Set<string>> {
  const waiting = await transfers.list({
    conds: { in: ['state', ['queued', 'sending']] },
    env: { timeZoneMin: 0, nowUs: 0n },
  })
  return new Set(waiting.map(({ transferId }) => fetchPartId(transferId)))
}

/**
 * Fetches the newest aggregated model of the upstream and registers it with state 40. Bytes that arrived
 * before a break or a restart are not requested again. The upstream may send a delta to a model that is stored
 * here; on any doubt the model itself is requested.
 *
 * @returns the model, and whether it was fetched before
 * @throws AppError NO_AGGREGATED_MODEL, DIGEST_MISMATCH, SIGNATURE_REFUSED, DISK_FULL, UPSTREAM_REFUSED, UPSTREAM_UNREACHABLE,
 *   CANCELLED
 */
export async function fetchModel(
  deps: AttemptDeps,
  attempt: Attempt,
): Promise<{ model: ModelRecord; isKnown: boolean }> {
  const { transfer, upstream } = attempt
  const remote = await findNewest(attempt)
  if (remote === undefined) {
    const message = `The store ${upstream.upstreamStore} of the upstream has no aggregated model`
    throw new AppError('NO_AGGREGATED_MODEL', { model_store_ddc: upstream.upstreamStore }, { message })
  }
  const newest = await deps.register.models.newest(upstream.storeId, 40)
  if (newest !== undefined && !newest.isDamaged && isSame(newest, remote))
    return { model: newest, isKnown: true }
  const startUs = deps.register.clock.nowUs()
  const signature = await fetchSignature(attempt, remote)
  const facts = fetchedFacts(upstream, remote, { nodeId: attempt.peer.nodeId, startUs, signature })
  // refused before its bytes are requested, where the upstream names their digest
  if (remote.model_sha256 !== undefined) await requireSigned(deps.register, facts, remote.model_sha256)
  const partId = fetchPartId(transfer.transferId)
  const start = await startOf(deps, transfer, remote, partId)
  const staged = await receive({ deps, attempt, remote, partId, ...start })
  const model = await registerModel(deps.register, staged, facts, { fetchId: transfer.transferId })
  await deps.parts.remove(partId)
  return { model, isKnown: false }
}

/** Returns the newest aggregated model of the upstream; undefined also while its store does not exist. */
async function findNewest({ client, upstream, signal }: Attempt): Promise<RemoteModel | undefined> {
  const query = { conds: { '=': ['model_state', 30] }, order: '-end_datetime', limit: 1 }
  try {
    return (await listRemote(client, upstream, query, signal))[0]
  } catch (error) {
    if (isAppError(error) && error.data.upstreamError === 'UNKNOWN_STORE') return undefined
    throw error
  }
}

function isSame(model: ModelRecord, remote: RemoteModel): boolean {
  if (remote.model_sha256 !== undefined) return model.sha256 === remote.model_sha256
  return model.md5 === remote.model_hash.toLowerCase() && model.sizeBytes === remote.model_size
}

/** Returns what an earlier attempt received of the same model; records another model. */
async function startOf(
  deps: AttemptDeps,
  transfer: TransferRecord,
  remote: RemoteModel,
  partId: string,
): Promise<{ offset: number; delta: TransferDelta | null }> {
  const { transferId, answer, bytesSent, delta } = transfer
  const earlier: RemoteModel | undefined = answer === null ? undefined : JSON.parse(answer)
  // a crash may have moved the part to the blob store without writing the row of its model
  if (earlier?.model_id === remote.model_id)
    return { offset: (await deps.parts.has(partId)) ? bytesSent : 0, delta }
  const noted = { answer: JSON.stringify(remote), sizeBytes: remote.model_size, bytesSent: 0 }
  await deps.transfers.note(transferId, { ...noted, delta: null, savedBytes: 0 })
  return { offset: 0, delta: null }
}

/** Requests the signature of a model; undefined for an unsigned one. */
async function fetchSignature(
  { client, peer, signal }: Attempt,
  { model_id, signature }: RemoteModel,
): Promise<string | undefined> {
  if (!peer.hasSignatures || typeof signature !== 'string' || signature === 'none') return undefined
  const path = `/api/v2/model_store/models/${encodeURIComponent(model_id)}/signature`
  const reply = await client.send({ method: 'GET', path, headers: {}, signal })
  const text = await reply.text()
  if (reply.status === 200) return text
  throw refused(reply.status, errorMessageIn(text), reply.headers)
}

/** Returns the facts of an aggregated model of an upstream. @param nodeId UUID of the upstream; null for other servers */
export function fetchedFacts(
  upstream: Pick<UpstreamRecord, 'storeName'>,
  remote: RemoteModel,
  { nodeId, startUs, signature }: { nodeId: string | null; startUs: number; signature: string | undefined },
): ModelFacts {
  return {
    store: upstream.storeName,
    kind: remote.model_kind,
    description: remote.model_description,
    meta: remote.model_meta,
    state: 40,
    round: remote.round,
    tenantId: remote.tenant_id,
    origin: null,
    hopCount: remote.hop_count + 1,
    chain: nodeId === null ? [] : [nodeId],
    startUs,
    ...(signature === undefined ? {} : { signature }),
  }
}
