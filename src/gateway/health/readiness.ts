import { statSync } from 'node:fs'
import path from 'node:path'
import type { DiskSpace } from '../../files/disk-space.js'
import type { PartState } from '../../http/health-routes.js'
import type { Log } from '../../log.js'
import { MAX_AHEAD_DAYS } from '../../storage/work/clock.js'
import type { SyncStatus } from '../../sync/status.js'
import type { WorkerClient } from '../../worker/client.js'
import type { DiskFaults } from './disk-faults.js'

/** Time to answer a ping. The search worker yields every few milliseconds, so this is long. */
const PING_MS = 2000

export interface ReadinessDeps {
  databases: readonly WatchedDatabase[]
  /** writes and removes a file of the data directory; throws when that fails */
  probeFile(): Promise<void>
  diskFaults: Pick<DiskFaults, 'failures' | 'isDamaged'>
  log: Pick<Log, 'error'>
  /** reason why the last round of housekeeping, which writes, failed; null when it did not */
  writeFault(): string | null
  disk: Pick<DiskSpace, 'freeBytes'>
  reserveBytes: number
  searcher: Pick<WorkerClient, 'isAlive'>
  /** one line for each map file that cannot be used */
  mapFaults(): readonly string[]
  syncStatus(): Promise<Pick<SyncStatus, 'isPaused' | 'counts'>>
  isClockTrusted(): boolean
  /** monotonic clock, ms */
  nowMs?: () => number
}

interface WatchedDatabase {
  file: string
  /** reads a page; throws when that fails */
  read(): Promise<void>
  /** commits a page as it is; throws when that fails */
  write(): Promise<void>
}

/** Files of a database that exist while it is open. */
const FILES = ['', '-wal', '-shm'] as const
/** Time between two probes that write: answers need no key, so callers must not wear out the disk. */
const PROBE_MS = 5000

/**
 * Makes the check of every part of the gateway. Reasons hold nothing internal, because `/readyz` needs no
 * key. Requests at the same time share one check.
 */
export function createReadiness(deps: ReadinessDeps): () => Promise<PartState[]> {
  const opened = deps.databases.map(({ file }) => FILES.map((ending) => inodeOf(file + ending)))
  const probe = createProbe(deps)
  let running: Promise<PartState[]> | undefined
  const check = async () => {
    const written = await probe()
    return [
      await databasePart(deps, opened, written),
      await diskPart(deps, written),
      ...(await otherParts(deps)),
    ]
  }
  return () => {
    running ??= check().finally(() => {
      running = undefined
    })
    return running
  }
}

async function otherParts(deps: ReadinessDeps): Promise<PartState[]> {
  return [
    await searchPart(deps),
    partOf('maps', deps.mapFaults()),
    await outboxPart(deps),
    clockPart(deps.isClockTrusted()),
  ]
}

/** Faults of the last probe. */
interface Written {
  readonly databases: readonly string[]
  readonly directory: readonly string[]
}

/**
 * Makes the probe that writes to the disk. It keeps its outcome for `PROBE_MS`, unless the gateway has met a
 * failing write or read since.
 */
function createProbe(deps: ReadinessDeps): () => Promise<Written> {
  const nowMs = deps.nowMs ?? (() => performance.now())
  let outcome: Written = { databases: [], directory: [] }
  let probedAtMs = Number.NEGATIVE_INFINITY
  let failures = 0
  return async () => {
    const count = deps.diskFaults.failures()
    if (nowMs() - probedAtMs < PROBE_MS && count === failures) return outcome
    const isNew = outcome.databases.length + outcome.directory.length === 0
    const report = (error: unknown) => isNew && deps.log.error({ err: error }, 'the disk cannot be written')
    const databases: string[] = []
    for (const { file, write } of deps.databases)
      if (!(await succeeds(write, report))) databases.push(`${path.basename(file)} cannot be written`)
    const isWritable = await succeeds(deps.probeFile, report)
    outcome = { databases, directory: isWritable ? [] : ['files cannot be written'] }
    probedAtMs = nowMs()
    failures = count
    return outcome
  }
}

/** False where `work` throws: the reason, which holds paths, is for the log and not for callers. */
async function succeeds(work: () => Promise<void>, report: (error: unknown) => void): Promise<boolean> {
  try {
    await work()
    return true
  } catch (error) {
    report(error)
    return false
  }
}

/**
 * Checks that each database is readable and writable, and that its files are still those at their paths.
 * SQLite does not notice that a file was moved away or replaced, and what it writes then is lost at the next
 * start. Damaged pages stay a fault, see `DiskFaults.isDamaged`.
 */
async function databasePart(
  { databases, writeFault, diskFaults, log }: ReadinessDeps,
  opened: readonly (readonly number[])[],
  written: Written,
): Promise<PartState> {
  const faults = [...written.databases]
  const report = (error: unknown) => log.error({ err: error }, 'a database cannot be read')
  if (diskFaults.isDamaged())
    faults.push('a database has damaged pages: run `fieldgate doctor`, and restore a backup')
  for (const [i, { file, read }] of databases.entries()) {
    const name = path.basename(file)
    const other = FILES.find((ending, n) => inodeOf(file + ending) !== opened[i]?.[n])
    if (other !== undefined) {
      faults.push(`${name}${other} is no longer the file that was opened: restart the gateway`)
      continue
    }
    if (!(await succeeds(read, report))) faults.push(`${name} cannot be read`)
  }
  const fault = writeFault()
  return partOf('database', fault === null ? faults : [...faults, fault])
}

async function diskPart({ disk, reserveBytes }: ReadinessDeps, written: Written): Promise<PartState> {
  if (written.directory.length > 0) return partOf('disk', written.directory)
  const freeBytes = await disk.freeBytes()
  const reason = `${freeBytes} bytes are free, expected the reserve of ${reserveBytes} (limits.diskReserveBytes); reads go on`
  return partOf('disk', freeBytes < reserveBytes ? [reason] : [])
}

async function searchPart({ searcher }: ReadinessDeps): Promise<PartState> {
  const isAlive = await searcher.isAlive(PING_MS)
  return partOf('search', isAlive ? [] : [`the search worker did not answer within ${PING_MS} ms`])
}

/** Checks the outbox. A fault is a warning: callers are served while nothing goes upstream. */
async function outboxPart({ syncStatus }: ReadinessDeps): Promise<PartState> {
  const { isPaused, counts } = await syncStatus()
  const reasons = [
    ...(isPaused ? ['paused by the operator'] : []),
    ...(counts.failed > 0 ? [`${counts.failed} transfers failed permanently`] : []),
  ]
  return reasons.length === 0 ? partOf('outbox', []) : warning('outbox', reasons.join('; '))
}

/** Checks the clock. An untrusted one is a warning: nothing expires, and calls are answered. */
function clockPart(isTrusted: boolean): PartState {
  const reason = `the wall clock is behind the last recorded time, or over ${MAX_AHEAD_DAYS} days ahead of it`
  return isTrusted ? partOf('clock', []) : warning('clock', reason)
}

function warning(part: string, reason: string): PartState {
  return { part, isReady: true, isWarning: true, reason }
}

/** State of a part that is ready when it has no faults. */
function partOf(part: string, faults: readonly string[]): PartState {
  return faults.length === 0 ? { part, isReady: true } : { part, isReady: false, reason: faults.join('; ') }
}

/** Inode of a file; NaN, which equals nothing, when it does not exist. */
function inodeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.ino ?? Number.NaN
}
