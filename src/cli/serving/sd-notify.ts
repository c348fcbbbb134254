import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Log } from '../../log.js'

/** The service manager's ear. Every function settles when the manager has been told, or could not be, and never throws. */
export interface Notifier {
  ready(status: string): Promise<void>
  reloading(): Promise<void>
  stopping(): Promise<void>
  /**
   * Tells the manager that all is well, twice in each of its watchdog periods, as long as `isAlive` says so. A stuck event
   * loop tells nothing by itself: the process is then started again.
   *
   * @param isAlive must settle within the milliseconds it is given
   * @returns ends it
   */
  startWatchdog(isAlive: (limitMs: number) => Promise<boolean>): () => void
}

type Env = Readonly<Record<string, string | undefined>>

const run = promisify(execFile)
const PROGRAM = 'systemd-notify'
/** The program ends in milliseconds; one that does not must not pile up. */
const TELL_MS = 5000

/**
 * Talks to systemd by its `systemd-notify` program, for Node has no datagram sockets of the file system. Does nothing where
 * no manager listens.
 *
 * @see sd_notify(3), sd_watchdog_enabled(3)
 */
export function createNotifier(env: Env, log: Pick<Log, 'warn' | 'error'>): Notifier {
  const { NOTIFY_SOCKET, PATH } = env
  let isMissing = false
  const tell = async (...assignments: string[]) => {
    if (NOTIFY_SOCKET === undefined || NOTIFY_SOCKET === '' || isMissing) return
    try {
      await run(PROGRAM, assignments, { env: { NOTIFY_SOCKET, PATH }, timeout: TELL_MS })
    } catch (error) {
      isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
      log.warn({ err: error, told: assignments[0] }, `${PROGRAM} failed: the service manager was not told`)
    }
  }
  return {
    ready: (status) => tell('READY=1', `STATUS=${status}`),
    reloading: () => tell('RELOADING=1', `MONOTONIC_USEC=${process.hrtime.bigint() / 1000n}`),
    stopping: () => tell('STOPPING=1', 'STATUS=letting running calls end'),
    startWatchdog(isAlive) {
      const periodMs = watchdogMs(env)
      if (periodMs === undefined || NOTIFY_SOCKET === undefined) return () => undefined
      return startBeat(periodMs / 2, isAlive, () => tell('WATCHDOG=1'), log)
    },
  }
}

/** The manager's period, undefined when it asks for none, or asks another process. */
export function watchdogMs(
  { WATCHDOG_USEC, WATCHDOG_PID }: Env,
  pid: number = process.pid,
): number | undefined {
  const us = Number(WATCHDOG_USEC)
  const isMeant = WATCHDOG_PID === undefined || WATCHDOG_PID === '' || Number(WATCHDOG_PID) === pid
  return isMeant && Number.isSafeInteger(us) && us > 0 ? us / 1000 : undefined
}

function startBeat(
  everyMs: number,
  isAlive: (limitMs: number) => Promise<boolean>,
  tell: () => Promise<void>,
  log: Pick<Log, 'error'>,
): () => void {
  let isBeating = false
  const beat = async () => {
    if (isBeating) return
    isBeating = true
    try {
      if (await isAlive(everyMs / 2)) await tell()
      else log.error('a worker thread does not answer: the watchdog is not told that all is well')
    } catch (error) {
      log.error({ err: error }, 'the watchdog could not look whether all is well')
    }
    isBeating = false
  }
  void beat()
  const timer = setInterval(() => void beat(), everyMs)
  return () => clearInterval(timer)
}
