import type { TransferKind, TransferRows } from '../storage/models/transfers.js'

/** Counters of the outbox since the start of the gateway. */
export interface SyncMetrics {
  count(what: 'attempts' | 'delivered' | 'failed'): void
  countFault(name: string): void
  addBytes(kind: TransferKind, bytes: number): void
  /** Adds bytes of a delivered transfer that were not carried: the other side had them, or a base of them. */
  addSaved(kind: TransferKind, bytes: number): void
  /**
   * Includes a delivered transfer in the measured rate. Transfers below 64 KiB are ignored: latency dominates
   * them.
   *
   * @returns the new rate, bytes per second; undefined if it did not change
   */
  measure(bytes: number, ms: number): number | undefined
  /** Returns the counters: name → value. */
  snapshot(): Record<string, number>
}

const MIN_MEASURED_BYTES = 64 * 1024
/** Weight of the newest transfer in the running mean. */
const NEWEST_SHARE = 0.3

/** Creates counters at 0. */
export function createSyncMetrics(): SyncMetrics {
  const counters: Record<string, number> = {
    attempts: 0,
    delivered: 0,
    failed: 0,
    bytes_sent: 0,
    bytes_fetched: 0,
    bytes_saved_sending: 0,
    bytes_saved_fetching: 0,
  }
  let rate: number | undefined
  const add = (name: string, n: number) => {
    counters[name] = (counters[name] ?? 0) + n
  }
  return {
    count: (what) => add(what, 1),
    countFault: (name) => add(`fault_${name.toLowerCase()}`, 1),
    addBytes: (kind, bytes) => add(kind === 'feedback' ? 'bytes_sent' : 'bytes_fetched', bytes),
    addSaved: (kind, bytes) =>
      add(kind === 'feedback' ? 'bytes_saved_sending' : 'bytes_saved_fetching', bytes),
    measure(bytes, ms) {
      if (bytes < MIN_MEASURED_BYTES || ms <= 0) return undefined
      const measured = (bytes / ms) * 1000
      rate = rate === undefined ? measured : rate * (1 - NEWEST_SHARE) + measured * NEWEST_SHARE
      return rate
    },
    snapshot: () => ({ ...counters }),
  }
}

/** Reads the gauges of the outbox, and its counters: name → value. */
export async function readSyncGauges(
  transfers: Pick<TransferRows, 'counts' | 'backlog'>,
  outbox: { closedReason(): string | null; metrics: Pick<SyncMetrics, 'snapshot'> },
  nowUs: number,
): Promise<Record<string, number>> {
  const [counts, backlog] = await Promise.all([transfers.counts(), transfers.backlog()])
  const oldestUs = Math.min(...backlog.map((lane) => lane.oldestUs))
  return {
    transfers_queued: counts.queued,
    transfers_sending: counts.sending,
    transfers_failed: counts.failed,
    transfer_bytes_waiting: backlog.reduce((sum, lane) => sum + lane.bytes, 0),
    transfer_oldest_s: backlog.length === 0 ? 0 : Math.max(0, (nowUs - oldestUs) / 1_000_000),
    sync_open: outbox.closedReason() === null ? 1 : 0,
    ...outbox.metrics.snapshot(),
  }
}
