import { setTimeout as sleep } from 'node:timers/promises'
import type { DiskSpace } from '../../../files/disk-space.js'
import type { PartState } from '../../../http/health-routes.js'
import type { Log } from '../../../log.js'
import type { WorkerClient } from '../../../worker/client.js'

interface HubReadinessDeps {
  readonly log: Pick<Log, 'error'>
  /** commits on the primary, and on a standby where one is needed */
  probeDatabase(): Promise<void>
  /** asks the object store for an object */
  probeObjects(): Promise<void>
  /** writes a file to the disk of this process */
  probeFile(): Promise<void>
  /** reason why the last round of housekeeping failed; null when it did not */
  writeFault(): string | null
  readonly disk: Pick<DiskSpace, 'freeBytes'>
  readonly reserveBytes: number
  isClockTrusted(): boolean
  readonly searcher: Pick<WorkerClient, 'isAlive'>
  /** one line for each map file that cannot be used */
  mapFaults(): readonly string[]
  /** monotonic clock, ms */
  readonly nowMs?: () => number
}

/** Time between two probes of the engines: answers need no key, so callers must not load them. */
const PROBE_MS = 2000
/** Longest wait for a probe, ms: load balancers give up after some seconds, and want an answer before. */
const ANSWER_MS = 3000

/**
 * Makes the check of a hub process for `/readyz`. Without the database it is not ready. Without the object store it is,
 * with a warning: every process has the same store, so that taking them out of service helps nobody, and most calls
 * need no bytes. Without its own disk it is not: uploads fail there, and succeed at the others.
 */
export function createHubReadiness(deps: HubReadinessDeps): () => Promise<PartState[]> {
  const database = createProbe(deps, 'the database', deps.probeDatabase)
  const objects = createProbe(deps, 'the object store', deps.probeObjects)
  const files = createProbe(deps, 'the disk', deps.probeFile)
  return async () => {
    const [databaseFault, objectFault, diskFault, isSearching] = await Promise.all([
      database(),
      objects(),
      files().then(async (fault) => fault ?? (await spaceFault(deps))),
      deps.searcher.isAlive(ANSWER_MS),
    ])
    const faults = [databaseFault, deps.writeFault()].filter((fault) => fault !== null)
    return [
      partOf('database', faults),
      objectFault === null
        ? partOf('objects', [])
        : { ...partOf('objects', []), isWarning: true, reason: objectFault },
      partOf('disk', diskFault === null ? [] : [diskFault]),
      partOf('search', isSearching ? [] : [`the search thread did not answer within ${ANSWER_MS} ms`]),
      partOf('maps', deps.mapFaults()),
      clockPart(deps.isClockTrusted()),
    ]
  }
}

async function spaceFault({ disk, reserveBytes }: HubReadinessDeps): Promise<string | null> {
  const freeBytes = await disk.freeBytes()
  if (freeBytes >= reserveBytes) return null
  return `${freeBytes} bytes are free, expected ${reserveBytes} (limits.diskReserveBytes)`
}

/** Makes a probe that keeps its outcome for a while, and is shared by those who ask meanwhile. */
function createProbe(
  { log, nowMs = () => performance.now() }: HubReadinessDeps,
  what: string,
  probe: () => Promise<void>,
): () => Promise<string | null> {
  let fault: string | null = null
  let atMs = Number.NEGATIVE_INFINITY
  let running: Promise<void> | undefined
  const run = async () => {
    try {
      await probe()
      fault = null
    } catch (error) {
      // callers get no addresses; one line in the log for a fault that lasts
      if (fault === null) log.error({ err: error }, `${what} cannot be used`)
      fault = `${what} cannot be used; the log has the reason`
    }
    atMs = nowMs()
    running = undefined
  }
  return async () => {
    if (running === undefined && nowMs() - atMs < PROBE_MS) return fault
    running ??= run()
    const late = sleep(ANSWER_MS, 'late', { ref: false })
    const isLate = (await Promise.race([running, late])) === 'late'
    return isLate ? `${what} did not answer within ${ANSWER_MS} ms` : fault
  }
}

function partOf(part: string, faults: readonly string[]): PartState {
  return faults.length === 0 ? { part, isReady: true } : { part, isReady: false, reason: faults.join('; ') }
}

function clockPart(isTrusted: boolean): PartState {
  if (isTrusted) return partOf('clock', [])
  const reason = 'the wall clock is behind the last recorded time, or far ahead of it: nothing expires'
  return { part: 'clock', isReady: true, isWarning: true, reason }
}
