import { setTimeout as sleep } from 'node:timers/promises'
import type { BackupOptions, BackupResult } from '../backup/make-backup.js'
import { listBackups, type Manifest } from '../backup/manifest.js'
import { placeOf } from '../backup/place.js'
import { type BackupRecord, type BackupSchedule, noSchedule, startSchedule } from '../backup/schedule.js'
import type { Config } from '../config.js'
import type { State } from '../storage/sqlite/access/state.js'
import { createWorkerClient } from '../worker/client.js'
import type { ServicesOptions } from './services.js'
import { startWorker } from './workers/start.js'

/** Name of the fact in `state.db` that says how the last backup went. */
export const LAST_BACKUP = 'last_backup'
const HOUR_MS = 3_600_000
/** The start has other things to do first. */
const FIRST_WAIT_MS = 60_000
/** What a backup that is told to end may take to clean up. */
const STOP_MS = 5000

/** What crosses to the backup's thread. */
export type BackupJob = Omit<BackupOptions, 'signal' | 'onProgress'>

/** The gateway's own backups, by `backup.dir`, `backup.everyHours` and `backup.keep`. */
export function openBackups(options: ServicesOptions, state: State): BackupSchedule {
  const { config, log } = options
  const last = async () => readRecord(await state.meta.noted(LAST_BACKUP))
  const { dir, everyHours } = config.backup
  if (dir === undefined) return noSchedule(last)
  return startSchedule({
    dir,
    everyMs: everyHours * HOUR_MS,
    firstWaitMs: FIRST_WAIT_MS,
    ageMs: ageOfNewest(dir, state, log),
    last,
    nowUs: () => state.clock.nowUs(),
    nowMs: () => performance.now(),
    make: (signal) => makeInThread(options, jobOf(options, dir, state), signal),
    record: (record) => state.meta.note(LAST_BACKUP, JSON.stringify(record)),
    log,
  })
}

/** @returns undefined for what is no record: it is only told, never relied on */
export function readRecord(text: string | undefined): BackupRecord | null {
  return text === undefined ? null : (JSON.parse(text) as BackupRecord)
}

/** Files that the settings name outside the data directory: a backup tells of them and leaves them where they are. */
export function outsideFiles({ server, sync, routing, dataproc }: Config): string[] {
  const { tlsCertFile, tlsKeyFile } = server
  const named = [tlsCertFile, tlsKeyFile, sync.caFile, dataproc.modulesDir, ...routing.maps]
  return named.filter((file) => file !== undefined)
}

function jobOf(
  { config, configFile, layout, version }: ServicesOptions,
  dir: string,
  state: State,
): BackupJob {
  return {
    layout,
    dir,
    configFile: configFile ?? null,
    outside: outsideFiles(config),
    version,
    nowUs: state.clock.nowUs(),
    isClockTrusted: state.clock.isTrusted(),
    keep: config.backup.keep,
    reserveBytes: config.limits.diskReserveBytes,
    bytesPerSecond: config.backup.maxBytesPerSecond,
  }
}

/**
 * A thread of its own, for as long as the backup takes: it reads gigabytes and sleeps in between, and neither bulk loads
 * nor searches may wait for it.
 */
async function makeInThread(
  { workerEntry, log, config, layout }: ServicesOptions,
  job: BackupJob,
  signal: AbortSignal,
): Promise<BackupResult> {
  const worker = createWorkerClient({
    spawn: () =>
      startWorker(workerEntry, 'backup', {
        workerData: { role: 'backup', config, layout },
        name: 'fieldgate-backup',
        resourceLimits: { maxYoungGenerationSizeMb: 12 },
      }),
    log,
    maxPending: 1,
  })
  try {
    return await worker.call<BackupResult>('backup.make', job, { signal })
  } finally {
    const endMs = performance.now() + STOP_MS
    while (worker.pending() > 0 && performance.now() < endMs) await sleep(20)
    await worker.stop()
  }
}

/** A place that cannot be read keeps no gateway from starting: the first backup tells what is wrong with it. */
function ageOfNewest(dir: string, { clock }: State, log: ServicesOptions['log']): number | null {
  let newest: Manifest | undefined
  try {
    newest = listBackups(placeOf(dir)).backups.at(-1)?.manifest
  } catch (error) {
    log.warn({ dir, err: error }, 'the backups made before cannot be looked at')
  }
  if (newest === undefined || !newest.isClockTrusted || !clock.isTrusted()) return null
  const ageMs = (clock.nowUs() - newest.madeAtUs) / 1000
  return ageMs < 0 ? null : ageMs
}
