import { AppError, isAppError } from '../errors.js'
import { digestOf, type StagedBlob } from '../files/blob-store.js'
import { appendToPart } from '../files/part-sink.js'
import { rebuild } from '../models/rebuild.js'
import type { TransferDelta } from '../storage/models/transfers.js'
import type { Attempt, AttemptDeps } from './attempt.js'
import { refused, shorten, stopped } from './faults.js'
import type { Reply } from './http-client.js'
import type { RemoteModel } from './peer.js'

/** Consecutive breaks without a byte gained after which an attempt fails. */
const MAX_IDLE_BREAKS = 3
/** Longest wait after a break, ms. */
const BREAK_MS = 200
/** Models that are named to the upstream as bases at most. */
const MAX_BASES = 4

/** A download under way. */
interface Download {
  deps: AttemptDeps
  attempt: Attempt
  remote: RemoteModel
  /** part that receives the bytes of the model, or of the delta */
  partId: string
  /** bytes of the part that are on disk */
  offset: number
  /** delta that is received, or why the model itself is; null before the first answer */
  delta: TransferDelta | null
}

/**
 * Receives a model, or a delta to one that is stored here, and goes on where the part ends. If the delta does not
 * become the model, the model itself is requested.
 *
 * @returns the bytes, whose digest was found right
 * @throws AppError DIGEST_MISMATCH and removes the part; the errors of `fetchModel`
 */
export async function receive(download: Download): Promise<StagedBlob> {
  const { deps, partId } = download
  for (;;) {
    await receiveRest(download)
    if (!isDelta(download)) {
      const facts = await checkPart(download)
      return await deps.blobs.stageFile(deps.parts.pathOf(partId), facts)
    }
    const staged = await applyPart(download)
    if (staged !== undefined) return staged
  }
}

/** A download of which a delta is received. */
type DeltaDownload = Download & { delta: { base: string; sha256: string; sizeBytes: number } }

function isDelta(download: Download): download is DeltaDownload {
  return download.delta !== null && download.delta.sha256 !== null
}

/** Returns the size of what is received; undefined before the first answer. */
function wantedBytes(download: Download): number {
  return isDelta(download) ? download.delta.sizeBytes : download.remote.model_size
}

/** Requests the rest until the part is complete, as long as every request gains bytes. */
async function receiveRest(download: Download): Promise<void> {
  const { deps, attempt, remote, partId } = download
  let idleBreaks = 0
  if (remote.model_size === 0) await (await deps.parts.openAt(partId, 0))?.close() // creates the empty file
  while (download.offset < wantedBytes(download)) {
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
  const { deps, attempt, partId } = download
  const { transferId } = attempt.transfer
  const bases = await basesFor(download)
  const reply = await request(download, bases)
  const start = startOf(reply, download.offset)
  if (start === undefined) throw refused(reply.status, await reply.text(), reply.headers)
  if (start === 0 && !(await noteKind(download, reply, bases))) return await reply.discard()
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
      sizeBytes: wantedBytes(download),
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

/** Returns the models that the request names: none for the model itself, the agreed one for the rest of a delta. */
async function basesFor(download: Download): Promise<string[]> {
  const { deps, attempt, remote, offset, delta } = download
  if (isDelta(download) && offset > 0) return [download.delta.base]
  const { deltas, register } = deps
  if (deltas === null || !attempt.peer.takesDeltas || offset > 0 || (delta !== null && delta.error !== null))
    return []
  if (remote.model_sha256 === undefined || remote.model_size < deltas.store.minBytes) return []
  const wanted = { kind: remote.model_kind, sha256: remote.model_sha256, limit: MAX_BASES }
  return await register.models.listBases(attempt.upstream.storeId, wanted)
}

async function request(download: Download, bases: readonly string[]): Promise<Reply> {
  const { attempt, remote, offset } = download
  const query = bases.length === 0 ? '' : `?bases=${bases.join(',')}`
  const path = `/api/v2/model_store/models/${encodeURIComponent(remote.model_id)}/file${query}`
  const headers: Record<string, string> = {}
  if (offset > 0) {
    headers.range = `bytes=${offset}-`
    const tag = isDelta(download) ? download.delta.sha256 : remote.model_sha256
    if (tag !== undefined) headers['if-range'] = `"${tag}"`
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

/**
 * Records whether a reply that begins at 0 has the model or a delta. Returns false for a delta that cannot be used:
 * the model is requested next.
 */
async function noteKind(download: Download, reply: Reply, bases: readonly string[]): Promise<boolean> {
  const { deps, attempt, remote, delta: before } = download
  const base = digestIn(reply.headers['delta-base'])
  if (base === undefined) {
    if (before === null || before.sha256 === null) return true
    download.delta = null
  } else {
    const [sha256, sizeBytes] = [digestIn(reply.headers.etag), Number(reply.headers['content-length'])]
    if (!bases.includes(base) || sha256 === undefined || !(sizeBytes > 0 && sizeBytes < remote.model_size)) {
      const error = 'The upstream answered a delta without a base, an ETag or a size that can be used'
      await startAgain(download, { base, sha256: null, sizeBytes: null, error })
      return false
    }
    download.delta = { base, sha256, sizeBytes, error: null }
  }
  download.offset = 0
  const savedBytes = isDelta(download) ? remote.model_size - download.delta.sizeBytes : 0
  await deps.transfers.note(attempt.transfer.transferId, { bytesSent: 0, delta: download.delta, savedBytes })
  return true
}

/** Reads a digest in quotes, as an entity tag. */
function digestIn(header: string | string[] | undefined): string | undefined {
  return /^"([0-9a-f]{64})"$/.exec(String(header ?? ''))?.[1]
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

/** Rebuilds the model from a complete delta; undefined, with the reason in the transfer, if it does not become it. */
async function applyPart(download: DeltaDownload): Promise<StagedBlob | undefined> {
  const { deps, attempt, remote, partId, delta } = download
  const { model_sha256: sha256, model_size: sizeBytes } = remote
  let reason = 'Deltas are off'
  if (deps.deltas !== null && sha256 !== undefined) {
    const arrived = { file: deps.parts.pathOf(partId), base: delta.base, sha256, sizeBytes }
    try {
      return await rebuild(deps.deltas.rebuild, arrived, attempt.signal)
    } catch (error) {
      if (!isAppError(error) || error.errorName !== 'BAD_DELTA') throw error
      reason = error.message
    }
  }
  const { base } = delta
  await startAgain(download, { base, sha256: null, sizeBytes: null, error: shorten(reason) })
  return undefined
}

/** Removes the part: the next request starts at 0. */
async function startAgain(download: Download, delta: TransferDelta | null): Promise<void> {
  const { deps, attempt, partId } = download
  Object.assign(download, { offset: 0, delta })
  attempt.progress.doneBytes = 0
  await deps.parts.remove(partId)
  await deps.transfers.note(attempt.transfer.transferId, { bytesSent: 0, delta, savedBytes: 0 })
}

/**
 * Compares a complete part with the digest of the upstream.
 *
 * @throws AppError DIGEST_MISMATCH and removes the part: the next attempt starts at 0
 */
async function checkPart(download: Download) {
  const { deps, remote, partId, delta } = download
  const facts = await digestOf(deps.parts.read(partId, remote.model_size))
  const isRight =
    facts.sizeBytes === remote.model_size &&
    (remote.model_sha256 === undefined
      ? facts.md5 === remote.model_hash.toLowerCase()
      : facts.sha256 === remote.model_sha256)
  if (isRight) return facts
  await startAgain(download, delta)
  const message =
    remote.model_sha256 === undefined
      ? `Found bytes of the MD5 ${facts.md5}, expected ${remote.model_hash}`
      : `Found bytes of the SHA-256 ${facts.sha256}, expected ${remote.model_sha256}`
  throw new AppError('DIGEST_MISMATCH', {}, { message })
}
