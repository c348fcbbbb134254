import type { ListQuery } from '../columns/list-query.js'

/** `feedback` sends a model to an upstream, `fetch` brings one from it. */
export type TransferKind = 'feedback' | 'fetch'
export type TransferState = 'queued' | 'sending' | 'delivered' | 'failed'

/** Delta that carries the bytes of a transfer instead of the file itself. */
export interface TransferDelta {
  /** digest of the file that both sides have, hex */
  base: string
  /** digest and size of the delta; null when the whole file is carried */
  sha256: string | null
  sizeBytes: number | null
  /** why the whole file is carried although both sides have the base; null while the delta is */
  error: string | null
}

/** A row of the outbox. */
export interface TransferRecord {
  transferId: number
  kind: TransferKind
  /** null for a fetch that has not registered a model yet */
  modelId: string | null
  storeId: number
  upstreamId: number
  state: TransferState
  attempts: number
  bytesSent: number
  /** null for a fetch of unknown size */
  sizeBytes: number | null
  /** for information: the outbox counts the wait on the monotonic clock */
  nextAttemptUs: number | null
  lastError: string | null
  lastErrorName: string | null
  createdAtUs: number
  finishedAtUs: number | null
  /** an attempt without an answer may have reached the upstream */
  mayBeReceived: boolean
  /** path of a resumable upload at the upstream */
  resumeUrl: string | null
  /** JSON text of the model_info that the upstream answered */
  answer: string | null
  /** null when the two sides have not agreed on a base */
  delta: TransferDelta | null
  /** bytes of the file that need not be carried */
  savedBytes: number
}

/** Reason of a failed attempt. */
interface TransferFault {
  name: string
  message: string
}

/** Transfers of one kind to one upstream, carried one after the other in the order they were queued. */
export interface Lane {
  upstreamId: number
  kind: TransferKind
}

/** Undelivered transfers of a lane. */
export interface Backlog extends Lane {
  count: number
  bytes: number
  oldestUs: number
}

/** Fields of a transfer that an attempt may change. */
export interface TransferNote {
  bytesSent?: number
  sizeBytes?: number
  mayBeReceived?: boolean
  resumeUrl?: string | null
  answer?: string
  delta?: TransferDelta | null
  savedBytes?: number
}

/** The part of a model that a queued transfer refers to. */
export interface QueuedModel {
  modelId: string
  storeId: number
  sizeBytes: number
}

/** The outbox. */
export interface TransferRows {
  /**
   * Queues the feedback of a model to an upstream. There is one per pair: a failed one is queued again, any
   * other one is returned as it is, so that the upstream never receives a second copy.
   */
  queueFeedback(model: QueuedModel, upstreamId: number): Promise<TransferRecord>
  /** Returns the waiting fetch of an upstream, or queues one. */
  queueFetch(storeId: number, upstreamId: number): Promise<TransferRecord>
  find(transferId: number): Promise<TransferRecord | undefined>
  /** @throws AppError BAD_CONDITION with the position of the fault */
  list(query: ListQuery): Promise<TransferRecord[]>
  /** Returns the lanes with a queued transfer. The cost does not grow with the length of the outbox. */
  lanes(): Promise<Lane[]>
  /** Returns the first queued transfers of a lane, in order. */
  waiting(lane: Lane, limit: number): Promise<TransferRecord[]>
  /** Starts an attempt and counts it. Returns false if the transfer is not queued. */
  begin(transferId: number): Promise<boolean>
  note(transferId: number, change: TransferNote): Promise<void>
  /**
   * Queues a running transfer again.
   *
   * @param fault null if the attempt was stopped (pause, shutdown) and did not fail
   */
  putBack(transferId: number, fault: TransferFault | null, nextAttemptUs: number | null): Promise<void>
  fail(transferId: number, fault: TransferFault): Promise<void>
  deliver(transferId: number, answer: string): Promise<void>
  /** Removes a fetch that failed because there was nothing to fetch. */
  discardFetch(transferId: number): Promise<void>
  /** Queues a failed transfer again; a delivered one is returned unchanged. Undefined for an unknown id. */
  retry(transferId: number): Promise<TransferRecord | undefined>
  /**
   * Fails a waiting or running transfer; a delivered one is returned unchanged. Undefined for an unknown id.
   */
  cancel(transferId: number): Promise<TransferRecord | undefined>
  /** Fails all waiting transfers of a removed upstream. Returns their number. */
  cancelOfUpstream(upstreamId: number): Promise<number>
  /** Queues again what an earlier run of the gateway was sending. Returns the number of transfers. */
  recover(): Promise<number>
  backlog(): Promise<Backlog[]>
  counts(): Promise<Record<TransferState, number>>
  /** Returns those of the upstream's model ids that a delivered feedback was answered with. */
  deliveredIds(upstreamId: number, remoteIds: readonly string[]): Promise<Set<string>>
}
