import type { BlobStore } from '../files/blob-store.js'
import type { PartFiles } from '../files/part-files.js'
import type { DeltaStore } from '../models/delta-store.js'
import type { RebuildDeps } from '../models/rebuild.js'
import type { RegisterDeps } from '../models/register-model.js'
import type { TransferRecord, TransferRows } from '../storage/models/transfers.js'
import type { UpstreamRecord } from '../storage/models/upstreams.js'
import { stopped } from './faults.js'
import type { UpstreamClient } from './http-client.js'
import type { PeerFacts } from './peer.js'
import type { Throttle } from './throttle.js'

/** Parts of the gateway that every attempt uses. */
export interface AttemptDeps {
  register: RegisterDeps
  transfers: TransferRows
  blobs: BlobStore
  parts: PartFiles
  /** deltas of models that are sent, and what fetched ones are applied with; null where they are off */
  deltas: { store: DeltaStore; rebuild: RebuildDeps } | null
  nodeId: string
  throttle: Throttle
  /** @throws AppError DISK_FULL */
  requireSpace(bytes: number): Promise<void>
  /** returns why sending is not allowed now (paused, outside the windows); null if it is allowed */
  closedReason(): string | null
  sleep(ms: number, signal: AbortSignal): Promise<void>
  random(): number
}

/** An attempt to complete a transfer. */
export interface Attempt {
  transfer: TransferRecord
  upstream: UpstreamRecord
  baseUrl: string
  client: UpstreamClient
  peer: PeerFacts
  signal: AbortSignal
  progress: Progress
}

/** Progress of a running attempt, read by the status. */
export interface Progress {
  /** bytes that the receiver has, as far as is known */
  doneBytes: number
  /** bytes moved by this attempt in either direction, lost ones included */
  movedBytes: number
  onMoved(bytes: number): void
}

/** Returns the signature that goes with a model; undefined for a peer of a version without signatures. */
export async function signatureFor(
  { register }: Pick<AttemptDeps, 'register'>,
  { peer }: Pick<Attempt, 'peer'>,
  modelId: string,
): Promise<string | undefined> {
  return peer.hasSignatures ? await register.models.signatureOf(modelId) : undefined
}

/**
 * Yields bytes at the allowed bandwidth.
 *
 * @param isStoppable false if an interruption would lose the bytes sent so far
 * @throws AppError CANCELLED as soon as sending is no longer allowed
 */
export async function* pacedBytes(
  deps: Pick<AttemptDeps, 'throttle' | 'closedReason'>,
  source: AsyncIterable<Uint8Array>,
  attempt: Pick<Attempt, 'signal' | 'progress'>,
  isStoppable: boolean,
): AsyncGenerator<Uint8Array> {
  const { pieceBytes } = deps.throttle
  for await (const chunk of source) {
    for (let at = 0; at < chunk.byteLength; at += pieceBytes) {
      const piece = chunk.subarray(at, at + pieceBytes)
      const reason = isStoppable ? deps.closedReason() : null
      if (reason !== null) throw stopped(reason)
      await deps.throttle.take(piece.byteLength, attempt.signal)
      attempt.progress.onMoved(piece.byteLength)
      yield piece
    }
  }
}
