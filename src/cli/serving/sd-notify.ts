import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Log } from '../../log.js'

/**
 * Notifications to the service manager. All functions resolve, also when a notification fails; failures are
 * logged.
 */
export interface Notifier {
  ready(status: string): Promise<void>
  reloading(): Promise<void>
  stopping(): Promise<void>
  /**
   * Notifies the watchdog twice in each period while `isAlive` resolves to true. A blocked event loop sends
   * nothing, and the manager restarts the process.
   *
   * @param isAlive resolves within the given number of milliseconds
   * @returns a function that stops it
   */
  startWatchdog(isAlive: (limitMs: number) => Promise<boolean>): () => void
}

type Env = Readonly<Record<string, string | undefined>>

const run = promisify(execFile)
const PROGRAM = 'systemd-notify'
/** Time limit of one notification, which normally takes milliseconds. */
const NOTIFY_MS = 5000

/**
 * Creates a notifier that runs `systemd-notify`: Node has no Unix datagram sockets. Without a service manager
 * it does nothing.
 *
 * @see sd_notify(3), sd_watchdog_enabled(3)
 */
export function createNotifier(env: Env, log: Pick<Log, 'warn' | 'error'>): Notifier {
  const { NOTIFY_SOCKET, PATH } = env
  let isMissing = false
  const notify = async (...assignments: string[]) => {
    if (NOTIFY_SOCKET === undefined || NOTIFY_SOCKET === '' || isMissing) return
    try {
      await run(PROGRAM, assignments, { env: { NOTIFY_SOCKET, PATH }, timeout: NOTIFY_MS })
    } catch (error) {
      isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
      log.warn(
        { err: error, notification: assignments[0] },
        `${PROGRAM} failed: the service manager was not notified`,
      )
    }
  }
  return {
    ready: (status) => notify('READY=1', `STATUS=${status}`),
    reloading: () => notify('RELOADING=1', `MONOTONIC_USEC=${process.hrtime.bigint() / 1000n}`),
    stopping: () => notify('STOPPING=1', 'STATUS=waiting for running calls to end'),
    startWatchdog(isAlive) {
      const periodMs = watchdogMs(env)
      if (periodMs === undefined || NOTIFY_SOCKET === undefined) return () => undefined
      return startBeat(periodMs / 2, isAlive, () => notify('WATCHDOG=1'), log)
    },
  }
}

/** Period of the watchdog, ms; undefined when there is none, or when it is for another process. */
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
  notify: () => Promise<void>,
  log: Pick<Log, 'error'>,
): () => void {
  let isBeating = false
  const beat = async () => {
    if (isBeating) return
    isBeating = true
    try {
      if (await isAlive(everyMs / 2)) await notify()
      else log.error('a worker thread does not respond: the watchdog is not notified')
    } catch (error) {
      log.error({ err: error }, 'the liveness check of the watchdog failed')
    }
    isBeating = false
  }
  void beat()
  const timer = setInterval(() => void beat(), everyMs)
  return () => clearInterval(timer)
}
