import { readdir, stat } from 'node:fs/promises'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Config } from '../config.js'
import type { DataLayout } from '../files/layout.js'
import type { Family } from '../http/metrics.js'
import type { Services } from './services.js'

/** The event loop's delay is measured against a timer of this period: each beat wakes the processor, for some 0.1 ms on a virtual machine. */
const LOOP_PERIOD_MS = 250
/** A search worker that does not answer in time leaves its figures out; `/readyz` tells why. */
const STATUS_MS = 1000

export interface FamilyReader {
  read(): Promise<Family[]>
  stop(): void
}

/** Reads what `/metrics` tells beside the counters of the transport. */
export function createFamilyReader(
  services: Services,
  layout: DataLayout,
  { limits }: Config,
  connections: () => number,
): FamilyReader {
  const loop = createLoopDelay()
  return {
    async read() {
      const families = await Promise.all([
        processFamilies(),
        loop.families(),
        databaseFamilies(layout),
        searchFamilies(services),
        outboxFamilies(services),
        backupFamilies(services),
      ])
      const { disk, searcher, jobs, state } = services
      return [
        ...families.flat(),
        gauge('fieldgate_http_connections', 'Open connections', connections()),
        gauge(
          'fieldgate_disk_free_bytes',
          'Room in the file system of the data directory',
          await disk.freeBytes(),
        ),
        gauge(
          'fieldgate_disk_reserve_bytes',
          'Free space below which writes are refused',
          limits.diskReserveBytes,
        ),
        family('fieldgate_worker_calls', 'Calls that wait or run in a worker thread', 'gauge', 'worker', {
          search: searcher.pending(),
          job: jobs.pending(),
        }),
        gauge(
          'fieldgate_clock_trusted',
          '1 when the wall clock is believed',
          state.clock.isTrusted() ? 1 : 0,
        ),
      ]
    },
    stop: () => loop.stop(),
  }
}

async function processFamilies(): Promise<Family[]> {
  const { rss, heapUsed, external } = process.memoryUsage()
  const { user, system } = process.cpuUsage()
  const openFds = (await readdir('/proc/self/fd').catch(() => [])).length // not there in some sandboxes
  return [
    gauge('process_resident_memory_bytes', 'Resident memory', rss),
    gauge('process_heap_bytes', 'JavaScript heap in use by the main thread', heapUsed),
    gauge('process_external_bytes', 'Buffers outside that heap', external),
    gauge('process_open_fds', 'Open file descriptors', openFds),
    gauge('process_start_time_seconds', 'Start, seconds since 1970', performance.timeOrigin / 1000),
    counter('process_cpu_seconds_total', 'Processor time of all threads', (user + system) / 1e6),
  ]
}

function createLoopDelay() {
  const histogram = monitorEventLoopDelay({ resolution: LOOP_PERIOD_MS })
  histogram.enable()
  return {
    families(): Family[] {
      // what is measured is the whole period between two beats
      const seconds = (ns: number) => Math.max(0, ns / 1e9 - LOOP_PERIOD_MS / 1000)
      const values = {
        '0.5': seconds(histogram.percentile(50)),
        '0.99': seconds(histogram.percentile(99)),
        '1': seconds(histogram.max),
      }
      histogram.reset()
      const help = 'Delay of the main thread since the page was read before'
      return [family('fieldgate_event_loop_delay_seconds', help, 'gauge', 'quantile', values)]
    },
    stop: () => histogram.disable(),
  }
}

async function databaseFamilies({ stateDb, dataDb }: DataLayout): Promise<Family[]> {
  const sizes = async (suffix: string) => ({
    state: await sizeOf(stateDb + suffix),
    data: await sizeOf(dataDb + suffix),
  })
  const [files, wals] = await Promise.all([sizes(''), sizes('-wal')])
  return [
    family('fieldgate_database_bytes', 'Size of a database file', 'gauge', 'database', files),
    family('fieldgate_wal_bytes', 'Size of a write-ahead log', 'gauge', 'database', wals),
  ]
}

/** Nothing is told of what never happened: a rule on the age of the last backup then sees that it is absent. */
async function backupFamilies({ backups }: Services): Promise<Family[]> {
  const { isRunning, lastSuccessUs, lastAttemptUs, lastError, lastTotalBytes } = await backups.status()
  const families = [
    gauge('fieldgate_backup_running', '1 while the gateway makes a backup', isRunning ? 1 : 0),
  ]
  if (lastAttemptUs !== null)
    families.push(
      gauge('fieldgate_backup_last_ok', '1 when the last attempt made one', lastError === null ? 1 : 0),
    )
  if (lastSuccessUs === null) return families
  const help = 'When the last backup was made, seconds since 1970'
  return [
    ...families,
    gauge('fieldgate_backup_last_success_seconds', help, lastSuccessUs / 1e6),
    gauge('fieldgate_backup_last_bytes', 'What a restore of the last backup would write', lastTotalBytes),
  ]
}

/** What the search worker tells of itself. */
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

const NOTHING_YET: SearchStatus = {
  maps: [],
  faults: [],
  overlayBytes: 0,
  overlayCount: 0,
  clampedLevels: 0,
  unreadableCells: 0,
  profileBytes: 0,
  profileCount: 0,
}

async function searchFamilies({ searcher }: Services): Promise<Family[]> {
  let status: SearchStatus
  try {
    // a thread that nobody has needed yet is not started to be asked
    status = searcher.wasStarted()
      ? await searcher.call<SearchStatus>('status', null, { timeLimitMs: STATUS_MS })
      : NOTHING_YET
  } catch {
    return [gauge('fieldgate_search_up', '1 when the search worker answers', 0)]
  }
  const maps = Object.fromEntries(status.maps.map(({ name, bytes }) => [name, bytes]))
  return [
    gauge('fieldgate_search_up', '1 when the search worker answers', 1),
    family('fieldgate_map_bytes', 'Size of a road map', 'gauge', 'map', maps),
    gauge('fieldgate_maps_unusable', 'Map files that cannot be used', status.faults.length),
    gauge('fieldgate_overlay_bytes', 'Memory of risk overlays', status.overlayBytes),
    gauge('fieldgate_overlays', 'Risk overlays in memory', status.overlayCount),
    gauge('fieldgate_profile_cache_bytes', 'Memory of prepared cost profiles', status.profileBytes),
    gauge('fieldgate_profiles', 'Cost profiles in memory', status.profileCount),
    counter(
      'fieldgate_clamped_levels_total',
      'Risk levels outside 0 to 10 that were read',
      status.clampedLevels,
    ),
    counter('fieldgate_unreadable_cells_total', 'Risk cells that could not be read', status.unreadableCells),
  ]
}

/** Flat names of the outbox → family, help, counter or gauge. What is not listed here is not told. */
const OUTBOX: Record<string, [name: string, help: string, type: Family['type']]> = {
  models: ['models', 'Models that are listed', 'gauge'],
  model_bytes: ['model_bytes', 'Bytes of the listed models', 'gauge'],
  models_damaged: ['models_damaged', 'Models whose bytes are damaged', 'gauge'],
  models_quarantined: ['models_quarantined', 'Damaged rows that are hidden', 'gauge'],
  damage_found: ['damage_found_total', 'Damaged models found since the start', 'counter'],
  transfers_queued: ['outbox_queued', 'Transfers that wait', 'gauge'],
  transfers_sending: ['outbox_sending', 'Transfers under way', 'gauge'],
  transfers_failed: ['outbox_failed', 'Transfers that failed for good', 'gauge'],
  transfer_bytes_waiting: ['outbox_bytes', 'Bytes that wait', 'gauge'],
  transfer_oldest_s: ['outbox_oldest_seconds', 'Age of the oldest transfer that waits', 'gauge'],
  sync_open: ['outbox_open', '1 when sending is allowed now', 'gauge'],
  attempts: ['sync_attempts_total', 'Attempts to carry a transfer', 'counter'],
  delivered: ['sync_delivered_total', 'Transfers that arrived', 'counter'],
  failed: ['sync_failed_total', 'Transfers that were given up', 'counter'],
  bytes_sent: ['sync_sent_bytes_total', 'Bytes sent upstream', 'counter'],
  bytes_fetched: ['sync_fetched_bytes_total', 'Bytes fetched from upstream', 'counter'],
}

async function outboxFamilies({ models }: Services): Promise<Family[]> {
  const found = await models.metrics()
  const faults = Object.entries(found).filter(([name]) => name.startsWith('fault_'))
  return [
    ...Object.entries(OUTBOX).map(([key, [name, help, type]]) => ({
      name: `fieldgate_${name}`,
      help,
      type,
      samples: [{ value: found[key] ?? 0 }],
    })),
    family(
      'fieldgate_sync_faults_total',
      'Failed attempts by reason',
      'counter',
      'fault',
      Object.fromEntries(faults.map(([name, value]) => [name.slice('fault_'.length), value])),
    ),
  ]
}

function gauge(name: string, help: string, value: number): Family {
  return { name, help, type: 'gauge', samples: [{ value }] }
}

function counter(name: string, help: string, value: number): Family {
  return { name, help, type: 'counter', samples: [{ value }] }
}

/** A family with one label. */
function family(
  name: string,
  help: string,
  type: Family['type'],
  label: string,
  values: Record<string, number>,
): Family {
  const samples = Object.entries(values).map(([key, value]) => ({ labels: { [label]: key }, value }))
  return { name, help, type, samples }
}

async function sizeOf(file: string): Promise<number> {
  return await stat(file).then(
    ({ size }) => size,
    () => 0, // a log that was never begun
  )
}
