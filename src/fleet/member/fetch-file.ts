import { stat } from 'node:fs/promises'
import { AppError, isAppError } from '../../errors.js'
import { type BlobStore, digestOf, ifThere } from '../../files/blob-store.js'
import type { PartFiles } from '../../files/part-files.js'
import { appendToPart } from '../../files/part-sink.js'
import { malformed, refused, stopped } from '../../sync/faults.js'
import { errorMessageIn, type Reply, type UpstreamClient } from '../../sync/http-client.js'
import type { Throttle } from '../../sync/throttle.js'

export interface FetchFileDeps {
  /** unfinished downloads, named by the digest: a part belongs to no other file */
  readonly parts: PartFiles
  /** complete files */
  readonly held: BlobStore
  /** shared with everything that is sent to and received from other nodes */
  readonly throttle: Throttle
  /** Returns why nothing may be received now; null when it may. */
  closedReason(): Promise<string | null>
  /** @throws AppError DISK_FULL */
  requireSpace(bytes: number): Promise<void>
  sleep(ms: number, signal: AbortSignal): Promise<void>
  random(): number
}

/** Bytes of a file that are here. */
export interface FetchProgress {
  bytes: number
  /** null before the hub has answered */
  totalBytes: number | null
}

/** Consecutive requests without a byte gained after which it fails. */
const MAX_IDLE_BREAKS = 3
/** Longest wait after a break, ms. */
const BREAK_MS = 200

/**
 * Downloads a file of the hub and holds it. It goes on where an earlier attempt ended, also after a restart: the
 * size of the part is the offset, since the digest of the whole decides in the end.
 *
 * @throws AppError DIGEST_MISMATCH, and the part is removed; DISK_FULL, UPSTREAM_UNREACHABLE, UPSTREAM_REFUSED,
 *   CANCELLED, with the part kept
 */
export async function fetchFile(
  deps: FetchFileDeps,
  client: Pick<UpstreamClient, 'send'>,
  sha256: string,
  progress: FetchProgress,
  signal: AbortSignal,
): Promise<void> {
  const { parts, held } = deps
  let idleBreaks = 0
  for (;;) {
    const before = await sizeOf(parts, sha256)
    progress.bytes = before
    let fault = malformed('no bytes, expected the rest of the file')
    try {
      if (await receive(deps, client, sha256, progress, signal)) break
    } catch (error) {
      const isBreak = isAppError(error) && error.errorName === 'UPSTREAM_UNREACHABLE'
      if (!isBreak || signal.aborted) throw error
      fault = error
    }
    idleBreaks = (await sizeOf(parts, sha256)) > before ? 0 : idleBreaks + 1
    if (idleBreaks > MAX_IDLE_BREAKS) throw fault
    if (idleBreaks > 0) await deps.sleep(BREAK_MS * deps.random(), signal)
  }
  const sizeBytes = await sizeOf(parts, sha256)
  const facts = await digestOf(parts.read(sha256, sizeBytes))
  if (facts.sha256 !== sha256) {
    await parts.remove(sha256)
    progress.bytes = 0
    const message = `Found ${facts.sizeBytes} bytes of the SHA-256 ${facts.sha256}, expected ${sha256}`
    throw new AppError('DIGEST_MISMATCH', {}, { message })
  }
  await (await held.stageFile(parts.pathOf(sha256), facts)).keep()
}

async function sizeOf(parts: PartFiles, sha256: string): Promise<number> {
  return (await ifThere(stat(parts.pathOf(sha256))))?.size ?? 0
}

/** Requests what is missing. @returns true when the part is complete */
async function receive(
  deps: FetchFileDeps,
  client: Pick<UpstreamClient, 'send'>,
  sha256: string,
  progress: FetchProgress,
  signal: AbortSignal,
): Promise<boolean> {
  const { parts } = deps
  const offset = progress.bytes
  const headers: Record<string, string> =
    offset === 0 ? {} : { range: `bytes=${offset}-`, 'if-range': `"${sha256}"` }
  const path = `/api/v2/fleet/files/${sha256}`
  const reply = await client.send({ method: 'GET', path, headers, signal })
  if (reply.status === 416 && offset > 0) {
    await reply.discard()
    const total = /^bytes \*\/(\d+)$/.exec(String(reply.headers['content-range'] ?? ''))?.[1]
    // all bytes came before a restart
    if (Number(total) === offset) return true
    await parts.remove(sha256)
    return false
  }
  const answered = rangeOf(reply, offset)
  if (answered === undefined) throw await faultOf(reply)
  const { start, totalBytes } = answered
  progress.totalBytes = totalBytes
  try {
    await deps.requireSpace(totalBytes - start)
  } catch (error) {
    await reply.discard()
    throw error
  }
  const writer = await parts.openAt(sha256, start)
  if (writer === undefined) {
    await reply.discard()
    return false // removed meanwhile: the next request begins at its end
  }
  try {
    const sink = { writer, digester: undefined, offsetBytes: start, sizeBytes: totalBytes }
    const commit = async (bytes: number) => {
      progress.bytes = bytes
    }
    const end = await appendToPart(paced(deps, reply, signal), {
      ...sink,
      commit,
      requireSpace: deps.requireSpace,
    })
    return end === totalBytes
  } finally {
    await writer.close()
  }
}

/** Returns where the bytes of a reply begin, and the size of the whole; undefined for a reply without them. */
function rangeOf(reply: Reply, offset: number): { start: number; totalBytes: number } | undefined {
  const { status, headers } = reply
  if (status === 200) {
    const totalBytes = Number(headers['content-length'] ?? Number.NaN)
    return Number.isSafeInteger(totalBytes) ? { start: 0, totalBytes } : undefined
  }
  if (status !== 206) return undefined
  const range = /^bytes (\d+)-\d+\/(\d+)$/.exec(String(headers['content-range'] ?? ''))
  if (range === null || Number(range[1]) !== offset) return undefined
  return { start: offset, totalBytes: Number(range[2]) }
}

/** Returns the error for a reply without the wanted bytes. */
async function faultOf(reply: Reply): Promise<AppError> {
  if (reply.status === 200 || reply.status === 206) {
    await reply.discard()
    return malformed('other bytes than the requested ones')
  }
  return refused(reply.status, errorMessageIn(await reply.text()), reply.headers)
}

async function* paced(deps: FetchFileDeps, reply: Reply, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for await (const chunk of reply.chunks()) {
    const reason = await deps.closedReason()
    if (reason !== null) throw stopped(reason)
    await deps.throttle.take(chunk.byteLength, signal)
    yield chunk
  }
}
