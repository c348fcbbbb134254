import { messageOf } from '../errors.js'
import type { BackupResult } from './make-backup.js'

/** State of a gateway's backups. Times are µs. */
export interface BackupStatus {
  isScheduled: boolean
  isRunning: boolean
  lastSuccessUs: number | null
  lastAttemptUs: number | null
  /** why the last attempt failed, null when it succeeded */
  lastError: string | null
  lastWrittenBytes: number
  lastTotalBytes: number
  lastDurationMs: number
}

/** Name under which the record of the last backup is noted among the facts of the node. */
export const LAST_BACKUP = 'last_backup'

/** Record of the last attempt, stored for `doctor` and for the next start. Times are µs. */
export interface BackupRecord {
  atUs: number
  dir: string
  /** time of the last successful backup; null before the first */
  successUs: number | null
  error: string | null
  writtenBytes: number
  totalBytes: number
  lost: number
  /** citations that were damaged before the backup; absent in records of version 0.1.0 */
  damaged?: number
}

export interface BackupSchedule {
  /** reads the stored record, because command lines make backups too */
  status(): Promise<BackupStatus>
  /** cancels a running backup, and waits until its files are removed */
  stop(): Promise<void>
}

export interface ScheduleDeps {
  dir: string
  everyMs: number
  /** delay of the first backup when it is due at the start, which has other work to do */
  firstWaitMs: number
  /** age of the newest backup; null when there is none, or when a wrong clock leaves it unknown */
  ageMs: number | null
  /** newest stored record, written here or by a command line */
  last(): Promise<BackupRecord | null>
  nowUs(): number
  /** monotonic */
  nowMs(): number
  make(signal: AbortSignal): Promise<BackupResult>
  record(record: BackupRecord): Promise<void>
  log: { info(fields: object, message: string): void; error(fields: object, message: string): void }
}

/** Interval at which the due time is checked: one timer cannot run for weeks. */
const TICK_MS = 15_000
/** Delay of the next attempt after a failure, unless the regular interval is shorter. */
const RETRY_MS = 3_600_000

/**
 * Makes backups at a fixed interval. The interval is measured on the monotonic clock, so that a change of the
 * wall clock skips no backup.
 *
 * @param tickMs interval at which the due time is checked
 */
export function startSchedule(deps: ScheduleDeps, tickMs = TICK_MS): BackupSchedule {
  const stopping = new AbortController()
  let running: Promise<void> | undefined
  /** of the last attempt of this process; null before the first */
  let ownRecord: BackupRecord | null = null
  let durationMs = 0
  let dueMs =
    deps.nowMs() +
    (deps.ageMs === null ? deps.firstWaitMs : Math.max(deps.firstWaitMs, deps.everyMs - deps.ageMs))

  const attempt = async () => {
    const startedMs = deps.nowMs()
    const next = await attemptOnce(deps, await newest(deps, ownRecord), stopping.signal)
    if (next === undefined) return // the gateway is stopping
    durationMs = deps.nowMs() - startedMs
    ownRecord = next
    dueMs = startedMs + (next.error === null ? deps.everyMs : Math.min(RETRY_MS, deps.everyMs))
  }
  const timer = setInterval(() => {
    if (running !== undefined || deps.nowMs() < dueMs) return
    running = attempt()
      .catch((error: unknown) => {
        dueMs = deps.nowMs() + Math.min(RETRY_MS, deps.everyMs)
        deps.log.error({ err: error }, 'the record of the last backup cannot be read or written')
      })
      .finally(() => {
        running = undefined
      })
  }, tickMs)
  timer.unref()
  return {
    status: async () => ({
      isScheduled: true,
      isRunning: running !== undefined,
      ...statusOf(await newest(deps, ownRecord)),
      lastDurationMs: Math.round(durationMs),
    }),
    async stop() {
      clearInterval(timer)
      stopping.abort()
      await running
    },
  }
}

/** Schedule of a gateway that makes no backups itself: its status shows backups made by command lines. */
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

/** Reads a record that was noted under `LAST_BACKUP`; null for `undefined`, before the first backup. */
export function readRecord(text: string | undefined): BackupRecord | null {
  return text === undefined ? null : (JSON.parse(text) as BackupRecord) // written by this program alone
}

/** Record of a successful backup. */
export function recordOf(result: BackupResult, dir: string, atUs: number): BackupRecord {
  const { writtenBytes, totalBytes, lost, damagedCitations } = result
  const damaged = damagedCitations.length
  return { atUs, dir, successUs: atUs, error: null, writtenBytes, totalBytes, lost: lost.length, damaged }
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
    const { name, writtenBytes, totalBytes, blobs, removed, lost, damagedCitations, retentionFault } = result
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
        damagedCitations,
        retentionFault,
      },
      'backup made',
    )
  } catch (error) {
    if (signal.aborted) return undefined
    const empty = { successUs: null, writtenBytes: 0, totalBytes: 0, lost: 0 }
    record = { ...empty, ...before, atUs, dir: deps.dir, error: messageOf(error) }
    deps.log.error({ audit: true, act: 'backup', dir: deps.dir, err: error }, 'backup failed')
  }
  try {
    await deps.record(record)
  } catch (error) {
    deps.log.error({ err: error }, 'the record of a backup could not be stored')
  }
  return record
}

/** Newer one of the stored record and the record of this process, which may not have been stored. */
async function newest(
  deps: Pick<ScheduleDeps, 'last'>,
  ownRecord: BackupRecord | null,
): Promise<BackupRecord | null> {
  const stored = await deps.last()
  return ownRecord !== null && (stored === null || ownRecord.atUs > stored.atUs) ? ownRecord : stored
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
