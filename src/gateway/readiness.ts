import { statSync } from 'node:fs'
import path from 'node:path'
import type { DiskSpace } from '../files/disk-space.js'
import type { PartState } from '../http/health-routes.js'
import type { SyncStatus } from '../sync/status.js'
import type { WorkerClient } from '../worker/client.js'

/** Time to answer a ping. The search worker yields every few milliseconds, so this is long. */
const PING_MS = 2000

export interface ReadinessDeps {
  /** `read` reads a page and throws when that fails */
  databases: readonly { file: string; read(): Promise<void> }[]
  /** reason why the last round of housekeeping, which writes, failed; null when it did not */
  writeFault(): string | null
  disk: Pick<DiskSpace, 'freeBytes'>
  reserveBytes: number
  searcher: Pick<WorkerClient, 'isAlive'>
  /** one line for each map file that cannot be used */
  mapFaults(): readonly string[]
  syncStatus(): Promise<Pick<SyncStatus, 'isPaused' | 'counts'>>
  isClockTrusted(): boolean
}

/**
 * Makes the check of every part of the gateway. Reasons hold nothing internal, because `/readyz` needs no
 * key. Requests at the same time share one check.
 */
export function createReadiness(deps: ReadinessDeps): () => Promise<PartState[]> {
  const opened = deps.databases.map(({ file }) => inodeOf(file))
  let running: Promise<PartState[]> | undefined
  const check = async () => [
    await databasePart(deps, opened),
    await diskPart(deps),
    await searchPart(deps),
    partOf('maps', deps.mapFaults()),
    await outboxPart(deps),
    clockPart(deps.isClockTrusted()),
  ]
  return () => {
    running ??= check().finally(() => {
      running = undefined
    })
    return running
  }
}

/**
 * Checks that each database is readable and still the file at its path. SQLite does not notice that its file
 * was moved away or replaced, and what it writes then is lost at the next start.
 */
async function databasePart(
  { databases, writeFault }: ReadinessDeps,
  opened: readonly number[],
): Promise<PartState> {
  const faults: string[] = []
  for (const [i, { file, read }] of databases.entries()) {
    const name = path.basename(file)
    if (inodeOf(file) !== opened[i]) {
      faults.push(`${name} is no longer the file that was opened: restart the gateway`)
      continue
    }
    try {
      await read()
    } catch {
      faults.push(`${name} cannot be read`)
    }
  }
  const fault = writeFault()
  return partOf('database', fault === null ? faults : [...faults, fault])
}

async function diskPart({ disk, reserveBytes }: ReadinessDeps): Promise<PartState> {
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
  return isTrusted ? partOf('clock', []) : warning('clock', 'the wall clock is behind the last recorded time')
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
