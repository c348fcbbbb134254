import { stat } from 'node:fs/promises'
import type { BackupStatus } from '../../backup/schedule.js'
import type { Config } from '../../config/config.js'
import type { DataLayout } from '../../files/layout.js'
import type { BudgetFacts } from '../../http/byte-budget.js'
import type { Family } from '../../http/metrics.js'
import { SILENT_US } from '../../storage/exchange/fleet-overview.js'
import type { Services } from '../services.js'
import { busFamilies } from './buses.js'
import { gauge, labelled } from './family.js'
import { type CountedFeed, feedFamilies } from './feeds.js'
import { type FleetFacts, fleetFamilies } from './fleet.js'
import { ingestFamilies } from './ingest.js'
import { memoryFamilies } from './memory.js'
import { outboxFamilies } from './outbox.js'
import { createLoopDelay, processFamilies } from './process.js'
import { retentionFamilies } from './retention.js'
import { searchFamilies } from './search.js'

interface FamilyReader {
  read(): Promise<Family[]>
  stop(): void
}

/** Figures of the transport. */
interface TransportFigures {
  /** open connections */
  connections(): number
  memory(): BudgetFacts
}

/** Makes the reader of the families of `/metrics` that are sampled at each scrape. */
export function createFamilyReader(
  services: Services,
  layout: DataLayout,
  { limits }: Config,
  { connections, memory }: TransportFigures,
): FamilyReader {
  const { disk, threads, state, models, backups } = services
  const loop = createLoopDelay()
  const gatewayFamilies = async () => [
    gauge('fieldgate_http_connections', 'Open connections', connections()),
    ...memoryFamilies(memory(), limits.bytesInFlight),
    gauge(
      'fieldgate_disk_free_bytes',
      'Free space in the file system of the data directory',
      await disk.freeBytes(),
    ),
    gauge(
      'fieldgate_disk_reserve_bytes',
      'Free space below which writes are refused',
      limits.diskReserveBytes,
    ),
    labelled(
      {
        name: 'fieldgate_worker_calls',
        help: 'Calls that wait or run in a worker thread',
        type: 'gauge',
      },
      'worker',
      {
        search: threads.searcher.pending(),
        job: threads.jobs.pending() + threads.writers.pending(),
      },
    ),
    gauge('fieldgate_clock_trusted', '1 when the wall clock is trusted', state.clock.isTrusted() ? 1 : 0),
  ]
  return {
    async read() {
      const families = await Promise.all([
        processFamilies(),
        loop.families(),
        databaseFamilies(layout),
        searchFamilies(threads.searcher),
        models.metrics().then(outboxFamilies),
        backups.status().then(backupFamilies),
        readFeeds(services).then(feedFamilies),
        readFleet(services).then(fleetFamilies),
        readTriggers(services),
        retentionFamilies(services.retention),
        services.ingest?.status().then(ingestFamilies) ?? [],
        busFamilies(services.buses?.status()),
        gatewayFamilies(),
      ])
      return families.flat()
    },
    stop: () => loop.stop(),
  }
}

async function readFeeds({ state, feeds }: Services): Promise<CountedFeed[]> {
  const records = await state.feeds.list()
  return await Promise.all(
    records.map(async (record) => ({
      status: await feeds.status(record),
      setAside: await state.feeds.countSetAside(record.feedId),
    })),
  )
}

/** Returns the triggers by the state of their last run; no label names one. */
async function readTriggers({ state, live }: Services): Promise<Family[]> {
  const counts = { done: 0, failed: 0, running: 0, other: 0, none: 0, disabled: 0 }
  for (const { name, isEnabled } of await state.triggers.list()) {
    const last = (await state.triggers.runs(name, 20)).find(({ startedAtUs }) => startedAtUs !== null)
    const found = last === undefined ? 'none' : last.state
    counts[!isEnabled ? 'disabled' : found in counts ? (found as keyof typeof counts) : 'other']++
  }
  const facts = {
    name: 'fieldgate_triggers',
    help: 'Triggers of modules by their last run',
    type: 'gauge',
  } as const
  return [
    labelled(facts, 'last', counts),
    gauge('fieldgate_change_streams', 'Open streams of changes of tables', live.count()),
  ]
}

async function readFleet({ state, shared }: Services): Promise<FleetFacts> {
  const nowUs = state.clock.nowUs()
  const membership = await state.membership.find()
  const contact = membership === undefined ? null : await shared.hubContact(membership)
  return { membership, contact, gateways: await state.fleetMembers.summary(nowUs - SILENT_US), nowUs }
}

async function databaseFamilies({ stateDb, dataDb }: DataLayout): Promise<Family[]> {
  const sizes = async (suffix: string) => ({
    state: await sizeOf(stateDb + suffix),
    data: await sizeOf(dataDb + suffix),
  })
  const [files, wals] = await Promise.all([sizes(''), sizes('-wal')])
  const file = { name: 'fieldgate_database_bytes', help: 'Size of a database file', type: 'gauge' } as const
  const wal = { name: 'fieldgate_wal_bytes', help: 'Size of a write-ahead log', type: 'gauge' } as const
  return [labelled(file, 'database', files), labelled(wal, 'database', wals)]
}

/**
 * Leaves out the families of what never happened: a rule on the age of the last backup then sees that it is
 * absent.
 */
function backupFamilies(status: BackupStatus): Family[] {
  const { isRunning, lastSuccessUs, lastAttemptUs, lastError, lastTotalBytes } = status
  const families = [
    gauge('fieldgate_backup_running', '1 while the gateway makes a backup', isRunning ? 1 : 0),
  ]
  if (lastAttemptUs !== null) {
    const isOk = lastError === null ? 1 : 0
    families.push(gauge('fieldgate_backup_last_ok', '1 when the last attempt made a backup', isOk))
  }
  if (lastSuccessUs !== null) {
    families.push(
      gauge(
        'fieldgate_backup_last_success_seconds',
        'Time of the last backup, seconds since 1970',
        lastSuccessUs / 1e6,
      ),
      gauge('fieldgate_backup_last_bytes', 'Bytes that a restore of the last backup writes', lastTotalBytes),
    )
  }
  return families
}

async function sizeOf(file: string): Promise<number> {
  return await stat(file).then(
    ({ size }) => size,
    () => 0, // a write-ahead log need not exist
  )
}
