import { AppError, isAppError } from '../errors.js'
import { type BlobFacts, digestOf } from '../files/blob-store.js'
import { appendToPart } from '../files/part-sink.js'
import { type ModelFacts, registerModel } from '../models/register-model.js'
import { requireSigned } from '../models/require-signed.js'
import type { ModelRecord } from '../storage/models.js'
import type { TransferRecord, TransferRows } from '../storage/transfers.js'
import type { Attempt, AttemptDeps } from './attempt.js'
import { refused, stopped } from './faults.js'
import { errorMessageIn, type Reply } from './http-client.js'
import { listRemote, type RemoteModel } from './peer.js'

/** Consecutive breaks without a byte gained after which an attempt fails. */
const MAX_IDLE_BREAKS = 3
/** Longest wait after a break, ms. */
const BREAK_MS = 200

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

/** A download under way. */
interface Download {
  deps: AttemptDeps
  attempt: Attempt
  remote: RemoteModel
  partId: string
  /** bytes of the part that are on disk */
  offset: number
}

/**
 * Fetches the newest aggregated model of the upstream and registers it with state 40. Bytes that arrived
 * before a break or a restart are not requested again.
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
  const facts = factsOf(attempt, remote, startUs, await fetchSignature(attempt, remote))
  // refused before its bytes are requested, where the upstream names their digest
  if (remote.model_sha256 !== undefined) await requireSigned(deps.register, facts, remote.model_sha256)
  const partId = fetchPartId(transfer.transferId)
  const offset = await startOffset(deps, transfer, remote, partId)
  const download: Download = { deps, attempt, remote, partId, offset }
  await receive(download)
  const staged = await deps.blobs.stageFile(deps.parts.pathOf(partId), await checkPart(download))
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

/** Returns the number of bytes that an earlier attempt received of the same model; records another model. */
async function startOffset(
  deps: AttemptDeps,
  transfer: TransferRecord,
  remote: RemoteModel,
  partId: string,
): Promise<number> {
  const { transferId, answer, bytesSent } = transfer
  const earlier: RemoteModel | undefined = answer === null ? undefined : JSON.parse(answer)
  // a crash may have moved the part to the blob store without writing the row of its model
  if (earlier?.model_id === remote.model_id) return (await deps.parts.has(partId)) ? bytesSent : 0
  const noted = { answer: JSON.stringify(remote), sizeBytes: remote.model_size, bytesSent: 0 }
  await deps.transfers.note(transferId, noted)
  return 0
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

function factsOf(
  { upstream, peer }: Attempt,
  remote: RemoteModel,
  startUs: number,
  signature: string | undefined,
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
    chain: peer.nodeId === null ? [] : [peer.nodeId],
    startUs,
    ...(signature === undefined ? {} : { signature }),
  }
}

/** Requests the rest of the model until the part is complete, as long as every request gains bytes. */
async function receive(download: Download): Promise<void> {
  const { deps, attempt, remote, partId } = download
  let idleBreaks = 0
  if (remote.model_size === 0) await (await deps.parts.openAt(partId, 0))?.close() // creates the empty file
  while (download.offset < remote.model_size) {
    const before = download.offset
    try {
      await receiveOnce(download)
    } catch (error) {
      const isBreak = isAppError(error) && error.errorName === 'UPSTREAM_UNREACHABLE'
      if (!isBreak || attempt.signal.aborted) throw error
      idleBreaks = download.offset > before ? 0 : idleBreaks + 1
      if (idleBreaks > MAX_IDLE_BREAKS) throw error
      if (idleBreaks > 0) await deps.sleep(BREAK_MS * deps.random(), attempt.signal)
    }
  }
}

async function receiveOnce(download: Download): Promise<void> {
  const { deps, attempt, remote, partId } = download
  const { transferId } = attempt.transfer
  const reply = await request(download)
  const start = startOf(reply, download.offset)
  if (start === undefined) throw refused(reply.status, await reply.text(), reply.headers)
  const writer = await deps.parts.openAt(partId, start)
  if (writer === undefined) {
    // the part is shorter than recorded: start again at 0
    await reply.discard()
    download.offset = 0
    await deps.transfers.note(transferId, { bytesSent: 0 })
    return
  }
  try {
    await appendToPart(paced(deps, attempt, reply), {
      writer,
      digester: undefined,
      offsetBytes: start,
      sizeBytes: remote.model_size,
      requireSpace: deps.requireSpace,
      async commit(offset) {
        download.offset = offset
        attempt.progress.doneBytes = offset
        await deps.transfers.note(transferId, { bytesSent: offset })
      },
    })
  } finally {
    await writer.close()
  }
}

async function request({ attempt, remote, offset }: Download): Promise<Reply> {
  const path = `/api/v2/model_store/models/${encodeURIComponent(remote.model_id)}/file`
  const headers: Record<string, string> = {}
  if (offset > 0) {
    headers.range = `bytes=${offset}-`
    if (remote.model_sha256 !== undefined) headers['if-range'] = `"${remote.model_sha256}"`
  }
  return await attempt.client.send({ method: 'GET', path, headers, signal: attempt.signal })
}

/**
 * Returns the offset of the first byte of a reply; undefined if it has no bytes. A server may ignore the
 * range.
 */
function startOf(reply: Reply, offset: number): number | undefined {
  if (reply.status === 200) return 0
  if (reply.status !== 206) return undefined
  const range = /^bytes (\d+)-/.exec(String(reply.headers['content-range'] ?? ''))
  return range !== null && Number(range[1]) === offset ? offset : undefined
}

async function* paced(deps: AttemptDeps, attempt: Attempt, reply: Reply): AsyncGenerator<Uint8Array> {
  for await (const chunk of reply.chunks()) {
    const reason = deps.closedReason()
    if (reason !== null) throw stopped(reason)
    await deps.throttle.take(chunk.byteLength, attempt.signal)
    attempt.progress.onMoved(chunk.byteLength)
    yield chunk
  }
}

/**
 * Compares a complete part with the digest of the upstream.
 *
 * @throws AppError DIGEST_MISMATCH and removes the part: the next attempt starts at 0
 */
async function checkPart({ deps, attempt, remote, partId }: Download): Promise<BlobFacts> {
  const facts = await digestOf(deps.parts.read(partId, remote.model_size))
  const isRight =
    facts.sizeBytes === remote.model_size &&
    (remote.model_sha256 === undefined
      ? facts.md5 === remote.model_hash.toLowerCase()
      : facts.sha256 === remote.model_sha256)
  if (isRight) return facts
  await deps.parts.remove(partId)
  await deps.transfers.note(attempt.transfer.transferId, { bytesSent: 0 })
  const message =
    remote.model_sha256 === undefined
      ? `Found bytes of the MD5 ${facts.md5}, expected ${remote.model_hash}`
      : `Found bytes of the SHA-256 ${facts.sha256}, expected ${remote.model_sha256}`
  throw new AppError('DIGEST_MISMATCH', {}, { message })
}
