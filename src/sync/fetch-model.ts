import { AppError, isAppError } from '../errors.js'
import { type BlobFacts, digestOf } from '../files/blob-store.js'
import { appendToPart } from '../files/part-sink.js'
import { registerModel } from '../models/register-model.js'
import type { ModelRecord } from '../storage/models.js'
import type { TransferRows } from '../storage/transfers.js'
import type { Attempt, AttemptDeps } from './attempt.js'
import { refused, stopped } from './faults.js'
import type { Reply } from './http-client.js'
import { listRemote, type RemoteModel } from './peer.js'

const MAX_IDLE_BREAKS = 3
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

/**
 * Brings the newest aggregated model of the upstream here, with state 40. Bytes that came before a break, or before a
 * restart, are not asked for again.
 *
 * @returns the model, and whether it was here already
 * @throws AppError NO_AGGREGATED_MODEL
 */
export async function fetchModel(
  deps: AttemptDeps,
  attempt: Attempt,
): Promise<{ model: ModelRecord; isKnown: boolean }> {
  const { transfer, upstream, client, signal } = attempt
  const query = { conds: { '=': ['model_state', 30] }, order: '-end_datetime', limit: 1 }
  const [remote] = await listRemote(client, upstream, query, signal)
  if (remote === undefined)
    throw new AppError('NO_AGGREGATED_MODEL', { model_store_ddc: upstream.upstreamStore })
  const newest = await deps.register.models.newest(upstream.storeId, 40)
  if (newest !== undefined && !newest.isDamaged && isSame(newest, remote))
    return { model: newest, isKnown: true }
  const partId = fetchPartId(transfer.transferId)
  const isContinued =
    transfer.answer !== null && (JSON.parse(transfer.answer) as RemoteModel).model_id === remote.model_id
  // a crash may have moved the part into place without its row
  const hasPart = isContinued && (await deps.parts.has(partId))
  const state = { offset: hasPart ? transfer.bytesSent : 0 }
  if (!isContinued) {
    await deps.transfers.note(transfer.transferId, {
      answer: JSON.stringify(remote),
      sizeBytes: remote.model_size,
      bytesSent: 0,
    })
  }
  const startUs = deps.register.clock.nowUs()
  await download(deps, attempt, remote, partId, state)
  const facts = await checkPart(deps, attempt, remote, partId)
  const staged = await deps.blobs.stageFile(deps.parts.pathOf(partId), facts)
  const model = await registerModel(
    deps.register,
    staged,
    {
      store: upstream.storeName,
      kind: remote.model_kind,
      description: remote.model_description,
      meta: remote.model_meta,
      state: 40,
      round: remote.round,
      tenantId: remote.tenant_id,
      origin: null,
      hopCount: remote.hop_count + 1,
      chain: attempt.peer.nodeId === null ? [] : [attempt.peer.nodeId],
      startUs,
    },
    { fetchId: transfer.transferId },
  )
  await deps.parts.remove(partId)
  return { model, isKnown: false }
}

function isSame(model: ModelRecord, remote: RemoteModel): boolean {
  if (remote.model_sha256 !== undefined) return model.sha256 === remote.model_sha256
  return model.md5 === remote.model_hash.toLowerCase() && model.sizeBytes === remote.model_size
}

/** Until the part is whole: each break is followed by a new request for the rest, as long as every one brings bytes. */
async function download(
  deps: AttemptDeps,
  attempt: Attempt,
  remote: RemoteModel,
  partId: string,
  state: { offset: number },
): Promise<void> {
  let idleBreaks = 0
  if (remote.model_size === 0) await (await deps.parts.openAt(partId, 0))?.close()
  while (state.offset < remote.model_size) {
    const before = state.offset
    try {
      await downloadOnce(deps, attempt, remote, partId, state)
    } catch (error) {
      const isBreak = isAppError(error) && error.errorName === 'UPSTREAM_UNREACHABLE'
      if (!isBreak || attempt.signal.aborted) throw error
      idleBreaks = state.offset > before ? 0 : idleBreaks + 1
      if (idleBreaks > MAX_IDLE_BREAKS) throw error
      if (idleBreaks > 0) await deps.sleep(BREAK_MS * deps.random(), attempt.signal)
    }
  }
}

async function downloadOnce(
  deps: AttemptDeps,
  attempt: Attempt,
  remote: RemoteModel,
  partId: string,
  state: { offset: number },
): Promise<void> {
  const { client, signal, transfer } = attempt
  const path = `/api/v2/model_store/models/${encodeURIComponent(remote.model_id)}/file`
  const headers: Record<string, string> = state.offset === 0 ? {} : { range: `bytes=${state.offset}-` }
  if (state.offset > 0 && remote.model_sha256 !== undefined) headers['if-range'] = `"${remote.model_sha256}"`
  const reply = await client.send({ method: 'GET', path, headers, signal })
  const start = startOf(reply, state.offset)
  if (start === undefined) {
    const text = await reply.text()
    throw refused(reply.status, text, reply.headers)
  }
  const writer = await deps.parts.openAt(partId, start)
  if (writer === undefined) {
    // the part is shorter than was noted: begin anew
    await reply.discard()
    state.offset = 0
    await deps.transfers.note(transfer.transferId, { bytesSent: 0 })
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
        state.offset = offset
        attempt.progress.doneBytes = offset
        await deps.transfers.note(transfer.transferId, { bytesSent: offset })
      },
    })
  } finally {
    await writer.close()
  }
}

/** Where the bytes of a reply begin; undefined when it brings none. A server may answer a range with the whole. */
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

/** @throws AppError DIGEST_MISMATCH: the part is gone then, and the next attempt begins anew */
async function checkPart(
  deps: AttemptDeps,
  attempt: Attempt,
  remote: RemoteModel,
  partId: string,
): Promise<BlobFacts> {
  const facts = await digestOf(deps.parts.read(partId, remote.model_size))
  const isRight =
    facts.sizeBytes === remote.model_size &&
    (remote.model_sha256 === undefined
      ? facts.md5 === remote.model_hash.toLowerCase()
      : facts.sha256 === remote.model_sha256)
  if (isRight) return facts
  await deps.parts.remove(partId)
  await deps.transfers.note(attempt.transfer.transferId, { bytesSent: 0 })
  const expected = remote.model_sha256 ?? remote.model_hash
  const message = `Found bytes of the SHA-256 ${facts.sha256}, expected ${expected}`
  throw new AppError('DIGEST_MISMATCH', {}, { message })
}
