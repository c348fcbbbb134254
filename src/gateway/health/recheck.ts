import { messageOf } from '../../errors.js'
import type { Log } from '../../log.js'
import type { DiskFaults } from './disk-faults.js'

/** Reading of all pages after one was found damaged. */
export interface Recheck {
  /** cancels the reading, and waits until it has ended */
  stop(): Promise<void>
}

interface RecheckDeps {
  readonly diskFaults: Pick<DiskFaults, 'isDamaged' | 'mayBeRow' | 'damages' | 'onDamage' | 'withdraw'>
  /** returns what is damaged, see `findDamage` */
  find(withRows: boolean, signal: AbortSignal): Promise<string[]>
  readonly log: Log
}

/** Delay of the first reading after a damaged page was met; then of each further one, while it is damaged, ms. */
const WAITS_MS = [2000, 60_000, 600_000, 3_600_000]
/** Delay when the note is of an earlier start, so that the reading does not compete with this one, ms. */
const NOTED_BEFORE_MS = 10_000
/** Most faults in a line of the log. */
const MAX_LOGGED = 5

/**
 * Reads everything again after a damaged page was met, and withdraws the note when nothing is damaged: SQLite
 * reports a read that failed once, as of a loose card, as a malformed page in some places. An operator may not
 * run `fieldgate doctor --recheck` for months.
 */
export function startRecheck({ diskFaults, find, log }: RecheckDeps, waitsMs = WAITS_MS): Recheck {
  const stopping = new AbortController()
  let [timer, running]: [NodeJS.Timeout | undefined, Promise<void> | undefined] = [undefined, undefined]
  let round = 0
  const schedule = (waitMs: number) => {
    timer = setTimeout(() => {
      timer = undefined
      running = Promise.resolve()
        .then(recheck)
        .catch((error: unknown) =>
          log.error({ err: error }, 'the note of a damaged page cannot be withdrawn'),
        )
        .finally(() => {
          running = undefined
        })
    }, waitMs).unref()
  }
  const recheck = async () => {
    const before = diskFaults.damages()
    const faults = await find(diskFaults.mayBeRow(), stopping.signal).catch((error: unknown) => [
      messageOf(error),
    ])
    if (stopping.signal.aborted) return
    if (faults.length === 0 && diskFaults.damages() === before) {
      diskFaults.withdraw()
      round = 0
      return log.warn({}, 'a page was reported as damaged, but every page and row was read without a fault')
    }
    // one that was met meanwhile may be of the same failing reads: soon again
    if (faults.length === 0) return schedule(waitsMs[0] as number)
    log.error({ faults: faults.slice(0, MAX_LOGGED) }, 'a database has damaged pages: restore a backup')
    round++
    schedule(waitsMs[Math.min(round, waitsMs.length - 1)] as number)
  }
  diskFaults.onDamage(() => {
    if (timer === undefined && running === undefined && !stopping.signal.aborted)
      schedule(waitsMs[Math.min(round, waitsMs.length - 1)] as number)
  })
  if (diskFaults.isDamaged()) schedule(NOTED_BEFORE_MS)
  return {
    async stop() {
      stopping.abort()
      clearTimeout(timer)
      await running
    },
  }
}
