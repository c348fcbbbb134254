import type { BlobStore } from '../files/blob-store.js'
import type { PartFiles } from '../files/part-files.js'
import type { RegisterDeps } from '../models/register-model.js'
import type { TransferRecord, TransferRows } from '../storage/transfers.js'
import type { UpstreamRecord } from '../storage/upstreams.js'
import { stopped } from './faults.js'
import type { UpstreamClient } from './http-client.js'
import type { PeerFacts } from './peer.js'
import type { Throttle } from './throttle.js'

/** What every attempt may use. */
export interface AttemptDeps {
  register: RegisterDeps
  transfers: TransferRows
  blobs: BlobStore
  parts: PartFiles
  nodeId: string
  throttle: Throttle
  requireSpace(bytes: number): Promise<void>
  /** why nothing may be sent now (paused, outside the windows), null when it may */
  closedReason(): string | null
  sleep(ms: number, signal: AbortSignal): Promise<void>
  random(): number
}

/** One try of one transfer. */
export interface Attempt {
  transfer: TransferRecord
  upstream: UpstreamRecord
  baseUrl: string
  client: UpstreamClient
  peer: PeerFacts
  signal: AbortSignal
  progress: Progress
}

/** Where a running transfer stands; read by the status while the attempt runs. */
export interface Progress {
  /** bytes that the other side has, as far as is known */
  doneBytes: number
  /** bytes that moved in this attempt, in either direction, with those that were lost */
  movedBytes: number
  onMoved(bytes: number): void
}

/**
 * A blob's bytes as they may be sent: at the allowed bandwidth, and ending when sending is not allowed any more.
 *
 * @param isStoppable false where an interruption would lose what was sent so far
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
