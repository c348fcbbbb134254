import type { Family } from '../../http/metrics.js'
import type { WorkerClient } from '../../worker/client.js'
import { counter, gauge, labelled } from './family.js'

/** Time to answer. A slower search worker leaves its figures out; `/readyz` says why. */
const STATUS_MS = 1000

/** Answer of the search worker's call `status`. */
interface SearchStatus {
  maps: { name: string; bytes: number }[]
  faults: unknown[]
  overlayBytes: number
  overlayCount: number
  clampedLevels: number
  unreadableCells: number
  profileBytes: number
  profileCount: number
}

const NOT_STARTED: SearchStatus = {
  maps: [],
  faults: [],
  overlayBytes: 0,
  overlayCount: 0,
  clampedLevels: 0,
  unreadableCells: 0,
  profileBytes: 0,
  profileCount: 0,
}

/** Reads the figures of the search worker. A worker that was never needed is not started for them. */
export async function searchFamilies(searcher: WorkerClient): Promise<Family[]> {
  let status: SearchStatus
  try {
    status = searcher.wasStarted()
      ? await searcher.call<SearchStatus>('status', null, { timeLimitMs: STATUS_MS })
      : NOT_STARTED
  } catch {
    return [upFamily(0)] // the fault is a figure here, and a reason in `/readyz`
  }
  const maps = Object.fromEntries(status.maps.map(({ name, bytes }) => [name, bytes]))
  return [
    upFamily(1),
    labelled({ name: 'fieldgate_map_bytes', help: 'Size of a road map', type: 'gauge' }, 'map', maps),
    gauge('fieldgate_maps_unusable', 'Map files that cannot be used', status.faults.length),
    gauge('fieldgate_overlay_bytes', 'Memory of risk overlays', status.overlayBytes),
    gauge('fieldgate_overlays', 'Risk overlays in memory', status.overlayCount),
    gauge('fieldgate_profile_cache_bytes', 'Memory of prepared cost profiles', status.profileBytes),
    gauge('fieldgate_profiles', 'Cost profiles in memory', status.profileCount),
    counter('fieldgate_clamped_levels_total', 'Risk levels read outside 0 to 10', status.clampedLevels),
    counter(
      'fieldgate_unreadable_cells_total',
      'Risk cells that could not be decoded',
      status.unreadableCells,
    ),
  ]
}

function upFamily(value: 0 | 1): Family {
  return gauge('fieldgate_search_up', '1 when the search worker answers', value)
}
