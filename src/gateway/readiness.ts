import { statSync } from 'node:fs'
import path from 'node:path'
import type { DiskSpace } from '../files/disk-space.js'
import type { PartState } from '../http/routes.js'
import type { SyncStatus } from '../sync/status.js'
import type { WorkerClient } from '../worker/client.js'

/** The search worker lets other calls in every few milliseconds, so this is long. */
const PING_MS = 2000

export interface ReadinessDeps {
  /** `read` reads a little and throws when that fails */
  databases: readonly { file: string; read(): unknown }[]
  /** the last round of housekeeping, which writes: why it failed, null when it did not */
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
 * Tells of each part of the gateway whether it can do its work. Nothing internal is in the reasons: `/readyz` is open to
 * everybody. Asked by several at once, it looks once.
 */
export function createReadiness(deps: ReadinessDeps): () => Promise<PartState[]> {
  const opened = deps.databases.map(({ file }) => inodeOf(file))
  let running: Promise<PartState[]> | undefined
  const look = async () => [
    databasePart(deps, opened),
    await diskPart(deps),
    await searchPart(deps),
    partOf('maps', deps.mapFaults()),
    await outboxPart(deps),
    clockPart(deps.isClockTrusted()),
  ]
  return () => {
    running ??= look().finally(() => {
      running = undefined
    })
    return running
  }
}

/** A file that was moved away or put in its place goes unnoticed by SQLite: all that is written then is lost at the next start. */
function databasePart({ databases, writeFault }: ReadinessDeps, opened: readonly number[]): PartState {
  const faults = databases.flatMap(({ file, read }, i) => {
    const name = path.basename(file)
    if (inodeOf(file) !== opened[i]) return [`${name} is not the file that was opened: restart the gateway`]
    try {
      read()
      return []
    } catch {
      return [`${name} cannot be read`]
    }
  })
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

/** What does not go upstream keeps nobody here from being served: a warning. */
async function outboxPart({ syncStatus }: ReadinessDeps): Promise<PartState> {
  const { isPaused, counts } = await syncStatus()
  const reasons = [
    ...(isPaused ? ['paused by hand'] : []),
    ...(counts.failed > 0 ? [`${counts.failed} transfers failed for good`] : []),
  ]
  return reasons.length === 0 ? partOf('outbox', []) : warning('outbox', reasons.join('; '))
}

/** By a wrong clock nothing expires, and calls are answered as ever: somebody should set it, that is all. */
function clockPart(isTrusted: boolean): PartState {
  return isTrusted
    ? partOf('clock', [])
    : warning('clock', 'the wall clock stands before the last recorded time')
}

function warning(part: string, reason: string): PartState {
  return { part, isReady: true, isWarning: true, reason }
}

/** A part is ready when nothing speaks against it. */
function partOf(part: string, faults: readonly string[]): PartState {
  return faults.length === 0 ? { part, isReady: true } : { part, isReady: false, reason: faults.join('; ') }
}

/** NaN, which equals nothing, when there is no such file. */
function inodeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.ino ?? Number.NaN
}
