import { messageOf } from '../errors.js'
import type { BackupResult } from './make-backup.js'

/** What is known of the backups that this gateway makes by itself. Times are µs. */
export interface BackupStatus {
  isScheduled: boolean
  isRunning: boolean
  lastSuccessUs: number | null
  lastAttemptUs: number | null
  /** why the last attempt made none, null when it made one */
  lastError: string | null
  lastWrittenBytes: number
  lastTotalBytes: number
  lastDurationMs: number
}

/** What is kept of the last attempt, in `state.db`, for `doctor` and for the next start. */
export interface BackupRecord {
  atUs: number
  dir: string
  /** of the last one that was made; null before the first */
  successUs: number | null
  error: string | null
  writtenBytes: number
  totalBytes: number
  lost: number
}

export interface BackupSchedule {
  /** command lines make backups too, so it is looked up */
  status(): Promise<BackupStatus>
  /** ends a backup under way, which leaves nothing behind */
  stop(): Promise<void>
}

export interface ScheduleDeps {
  dir: string
  everyMs: number
  /** until the first one, when that is due already: the start has other things to do */
  firstWaitMs: number
  /** how long ago the newest backup was made; null when there is none, or a wrong clock leaves it open */
  ageMs: number | null
  /** what was written down last, here or by a command line */
  last(): Promise<BackupRecord | null>
  nowUs(): number
  /** monotonic */
  nowMs(): number
  make(signal: AbortSignal): Promise<BackupResult>
  record(record: BackupRecord): Promise<void>
  log: { info(fields: object, message: string): void; error(fields: object, message: string): void }
}

/** The hour of the next one is looked at this often: a timer cannot run for weeks. */
const TICK_MS = 15_000
/** After a failure it is tried again so soon, or at its usual time when that comes earlier. */
const RETRY_MS = 3_600_000

/** Makes backups at a distance of time that is counted on the monotonic clock: a wall clock that jumps skips none. */
export function startSchedule(deps: ScheduleDeps, tickMs = TICK_MS): BackupSchedule {
  const stopping = new AbortController()
  let running: Promise<void> | undefined
  let mine: BackupRecord | null = null
  let durationMs = 0
  let dueMs =
    deps.nowMs() +
    (deps.ageMs === null ? deps.firstWaitMs : Math.max(deps.firstWaitMs, deps.everyMs - deps.ageMs))

  const attempt = async () => {
    const startedMs = deps.nowMs()
    const next = await attemptOnce(deps, await newest(deps, mine), stopping.signal)
    if (next === undefined) return // the gateway is stopping
    durationMs = deps.nowMs() - startedMs
    mine = next
    dueMs = startedMs + (next.error === null ? deps.everyMs : Math.min(RETRY_MS, deps.everyMs))
  }
  const timer = setInterval(() => {
    if (running !== undefined || deps.nowMs() < dueMs) return
    running = attempt().finally(() => {
      running = undefined
    })
  }, tickMs)
  timer.unref()
  return {
    status: async () => ({
      isScheduled: true,
      isRunning: running !== undefined,
      ...statusOf(await newest(deps, mine)),
      lastDurationMs: Math.round(durationMs),
    }),
    async stop() {
      clearInterval(timer)
      stopping.abort()
      await running
    },
  }
}

/** What a gateway without a schedule says: the command line may have made backups. */
export function noSchedule(last: ScheduleDeps['last']): BackupSchedule {
  return {
    status: async () => ({
      isScheduled: false,
      isRunning: false,
      ...statusOf(await last()),
      lastDurationMs: 0,
    }),
    stop: async () => undefined,
  }
}

/** What a backup leaves to be known of it. */
export function recordOf(result: BackupResult, dir: string, atUs: number): BackupRecord {
  const { writtenBytes, totalBytes, lost } = result
  return { atUs, dir, successUs: atUs, error: null, writtenBytes, totalBytes, lost: lost.length }
}

async function attemptOnce(
  deps: ScheduleDeps,
  before: BackupRecord | null,
  signal: AbortSignal,
): Promise<BackupRecord | undefined> {
  const atUs = deps.nowUs()
  let record: BackupRecord
  try {
    const result = await deps.make(signal)
    record = recordOf(result, deps.dir, atUs)
    const { name, writtenBytes, totalBytes, blobs, removed, lost, retentionFault } = result
    deps.log.info(
      {
        audit: true,
        act: 'backup',
        dir: deps.dir,
        name,
        writtenBytes,
        totalBytes,
        blobs,
        removed,
        lost,
        retentionFault,
      },
      'a backup was made',
    )
  } catch (error) {
    if (signal.aborted) return undefined
    const empty = { successUs: null, writtenBytes: 0, totalBytes: 0, lost: 0 }
    record = { ...empty, ...before, atUs, dir: deps.dir, error: messageOf(error) }
    deps.log.error({ audit: true, act: 'backup', dir: deps.dir, err: error }, 'no backup was made')
  }
  try {
    await deps.record(record)
  } catch (error) {
    deps.log.error({ err: error }, 'the outcome of a backup could not be written down')
  }
  return record
}

/** What was written down, unless what this process knows could not be. */
async function newest(
  deps: Pick<ScheduleDeps, 'last'>,
  mine: BackupRecord | null,
): Promise<BackupRecord | null> {
  const noted = await deps.last()
  return mine !== null && (noted === null || mine.atUs > noted.atUs) ? mine : noted
}

function statusOf(record: BackupRecord | null) {
  return {
    lastSuccessUs: record?.successUs ?? null,
    lastAttemptUs: record?.atUs ?? null,
    lastError: record?.error ?? null,
    lastWrittenBytes: record?.writtenBytes ?? 0,
    lastTotalBytes: record?.totalBytes ?? 0,
  }
}
