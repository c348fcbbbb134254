import type { SyncControl } from '../storage/models/sync-control.js'
import type { Backlog, TransferRows } from '../storage/models/transfers.js'
import type { UpstreamRows } from '../storage/models/upstreams.js'

/** State of the outbox, with the models that would be lost with this device. */
export interface SyncStatus {
  isPaused: boolean
  counts: { queued: number; sending: number; delivered: number; failed: number }
  atRisk: {
    models: number
    bytes: number
    /** age of the oldest waiting model, seconds; null for none */
    oldestS: number | null
    /** rate of the last transfers, bytes per second; null if none was measured */
    bytesPerSecond: number | null
    /** seconds to deliver all at that rate; null if the rate is unknown or nothing waits */
    timeLeftS: number | null
  }
  upstreams: {
    upstreamId: number
    endpoint: string
    store: string
    kind: string
    waiting: number
    bytes: number
    oldestS: number
    lastError: string | null
  }[]
}

interface SyncStatusDeps {
  transfers: Pick<TransferRows, 'backlog' | 'counts' | 'waiting'>
  upstreams: Pick<UpstreamRows, 'find'>
  control: Pick<SyncControl, 'isPaused' | 'rate'>
  nowUs: number
}

/** Reads the status of the outbox. Cost: one query per lane with a backlog, besides the counts. */
export async function readSyncStatus(deps: SyncStatusDeps): Promise<SyncStatus> {
  const { transfers, control, nowUs } = deps
  const [backlog, counts, rate, isPaused] = await Promise.all([
    transfers.backlog(),
    transfers.counts(),
    control.rate(),
    control.isPaused(),
  ])
  const upstreams = await Promise.all(backlog.map((lane) => upstreamStatus(deps, lane)))
  const feedbacks = backlog.filter(({ kind }) => kind === 'feedback')
  return { isPaused, counts, atRisk: atRisk(feedbacks, rate, nowUs), upstreams }
}

async function upstreamStatus(
  { transfers, upstreams, nowUs }: SyncStatusDeps,
  lane: Backlog,
): Promise<SyncStatus['upstreams'][number]> {
  const upstream = await upstreams.find(lane.upstreamId)
  const [first] = await transfers.waiting(lane, 1)
  return {
    upstreamId: lane.upstreamId,
    endpoint: upstream?.endpoint ?? '',
    store: upstream?.storeName ?? '',
    kind: lane.kind,
    waiting: lane.count,
    bytes: lane.bytes,
    oldestS: ageS(lane.oldestUs, nowUs),
    lastError: first?.lastError ?? null,
  }
}

/** @param rate bytes per second, 0 if unknown */
function atRisk(feedbacks: readonly Backlog[], rate: number, nowUs: number): SyncStatus['atRisk'] {
  const bytes = feedbacks.reduce((sum, lane) => sum + lane.bytes, 0)
  const oldestUs = Math.min(...feedbacks.map((lane) => lane.oldestUs))
  return {
    models: feedbacks.reduce((sum, lane) => sum + lane.count, 0),
    bytes,
    oldestS: feedbacks.length === 0 ? null : ageS(oldestUs, nowUs),
    bytesPerSecond: rate === 0 ? null : rate,
    timeLeftS: rate === 0 || bytes === 0 ? null : Math.ceil(bytes / rate),
  }
}

function ageS(us: number, nowUs: number): number {
  return Math.max(0, Math.round((nowUs - us) / 1_000_000))
}
