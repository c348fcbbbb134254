import type { SyncControl } from '../storage/sync-control.js'
import type { TransferRows } from '../storage/transfers.js'
import type { UpstreamRows } from '../storage/upstreams.js'

/** The outbox at a glance, and what would be lost if the device died now. */
export interface SyncStatus {
  isPaused: boolean
  counts: { queued: number; sending: number; delivered: number; failed: number }
  atRisk: {
    models: number
    bytes: number
    /** age of the oldest one, seconds; null when nothing waits */
    oldestS: number | null
    /** bytes a second of the last transfers; null when none was measured */
    bytesPerSecond: number | null
    /** seconds to bring it upstream at that rate */
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

export async function readSyncStatus(deps: {
  transfers: TransferRows
  upstreams: UpstreamRows
  control: SyncControl
  nowUs: number
}): Promise<SyncStatus> {
  const { transfers, nowUs } = deps
  const [backlog, counts, rate] = await Promise.all([
    transfers.backlog(),
    transfers.counts(),
    deps.control.rate(),
  ])
  const ageS = (us: number) => Math.max(0, Math.round((nowUs - us) / 1_000_000))
  const feedbacks = backlog.filter(({ kind }) => kind === 'feedback')
  const bytes = feedbacks.reduce((sum, lane) => sum + lane.bytes, 0)
  const oldest = feedbacks.map(({ oldestUs }) => oldestUs)
  const upstreams = await Promise.all(
    backlog.map(async (lane) => {
      const upstream = await deps.upstreams.find(lane.upstreamId)
      const [first] = await transfers.waiting(lane, 1)
      return {
        upstreamId: lane.upstreamId,
        endpoint: upstream?.endpoint ?? '',
        store: upstream?.storeName ?? '',
        kind: lane.kind,
        waiting: lane.count,
        bytes: lane.bytes,
        oldestS: ageS(lane.oldestUs),
        lastError: first?.lastError ?? null,
      }
    }),
  )
  return {
    isPaused: await deps.control.isPaused(),
    counts,
    atRisk: {
      models: feedbacks.reduce((sum, lane) => sum + lane.count, 0),
      bytes,
      oldestS: oldest.length === 0 ? null : ageS(Math.min(...oldest)),
      bytesPerSecond: rate === 0 ? null : rate,
      timeLeftS: rate === 0 || bytes === 0 ? null : Math.ceil(bytes / rate),
    },
    upstreams,
  }
}
