import { setTimeout as sleep } from 'node:timers/promises'
import type { BackupJob, BackupResult } from '../backup/make-backup.js'
import { listBackups, type Manifest } from '../backup/manifest.js'
import { placeOf } from '../backup/place.js'
import {
  type BackupSchedule,
  LAST_BACKUP,
  noSchedule,
  readRecord,
  startSchedule,
} from '../backup/schedule.js'
import type { Config } from '../config/config.js'
import type { State } from '../storage/state.js'
import { createWorkerClient } from '../worker/client.js'
import { type Recheck, startRecheck } from './health/recheck.js'
import type { ServicesOptions } from './options.js'
import { spawn } from './threads.js'

const HOUR_MS = 3_600_000
/** Delay of a backup that is due at the start, so that it does not compete with the start. */
const FIRST_WAIT_MS = 60_000
/** Time that a cancelled backup has to remove its files before its thread is ended. */
const STOP_MS = 5000
/** A copy makes short-lived buffers only: V8's own choice would keep 90 MB for them. */
const YOUNG_MB = 12

/** Schedules the gateway's own backups by `backup.dir`, `backup.everyHours` and `backup.keep`. */
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

/** Files that the settings name outside the data directory. A backup lists them and does not copy them. */
export function outsideFiles({ server, sync, routing, dataproc, encryption }: Config): string[] {
  const { tlsCertFile, tlsKeyFile } = server
  const named = [
    tlsCertFile,
    tlsKeyFile,
    encryption.keyFile,
    sync.caFile,
    dataproc.modulesDir,
    ...routing.maps,
  ]
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
 * Makes a backup in a thread that lives as long as the backup: it reads gigabytes and sleeps in between, and
 * neither bulk loads nor searches may wait for it.
 */
async function makeInThread(
  options: ServicesOptions,
  job: BackupJob,
  signal: AbortSignal,
): Promise<BackupResult> {
  return await callOnce<BackupResult>(options, 'backup.make', job, signal)
}

/** Reads everything again, in such a thread, after a damaged page was met. */
export function openRecheck(options: ServicesOptions): Recheck {
  const { diskFaults, log } = options
  return startRecheck({
    diskFaults,
    find: (withRows, signal) => callOnce<string[]>(options, 'damage.find', withRows, signal),
    log,
  })
}

/** Calls a thread that lives as long as the call. */
async function callOnce<T>(
  options: ServicesOptions,
  name: string,
  payload: unknown,
  signal: AbortSignal,
): Promise<T> {
  const worker = createWorkerClient({
    spawn: () => spawn(options, 'backup', { maxYoungGenerationSizeMb: YOUNG_MB }),
    log: options.log,
    maxPending: 1,
  })
  try {
    return await worker.call<T>(name, payload, { signal })
  } finally {
    const endMs = performance.now() + STOP_MS
    while (worker.pending() > 0 && performance.now() < endMs) await sleep(20)
    await worker.stop()
  }
}

/**
 * Age of the newest backup, ms; null when there is none or a wrong clock leaves it open. A directory that
 * cannot be read does not stop the gateway from starting: the first backup reports the fault.
 */
function ageOfNewest(dir: string, { clock }: State, log: ServicesOptions['log']): number | null {
  let newest: Manifest | undefined
  try {
    newest = listBackups(placeOf(dir)).backups.at(-1)?.manifest
  } catch (error) {
    log.warn({ dir, err: error }, 'the existing backups cannot be listed')
  }
  if (newest === undefined || !newest.isClockTrusted || !clock.isTrusted()) return null
  const ageMs = (clock.nowUs() - newest.madeAtUs) / 1000
  return ageMs < 0 ? null : ageMs
}
