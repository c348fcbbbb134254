import { messageOf } from '../../errors.js'
import type { Log } from '../../log.js'
import type { SessionStore } from '../../storage/access/sessions.js'
import type { State } from '../../storage/state.js'

const EVERY_MS = 60_000
/** Time after a failed round until the next one, ms: `/readyz` tells of the fault until a round succeeds. */
const RETRY_MS = 5000

export interface Housekeeping {
  /** starts a round after the running one; requests made while one waits are merged */
  request(): void
  /** reason why the last round failed; null when it did not */
  fault(): string | null
  /** waits for the running round */
  stop(): Promise<void>
}

/**
 * Starts rounds of housekeeping: at once, every minute, on request, and 5 s after one that failed. A round
 * writes batched rows, removes what belongs to ended sessions, and logs the acts that command lines recorded.
 *
 * @param endSession removes a session's files; false while a run of it goes on
 * @param retryMs time after a failed round until the next one
 */
export function startHousekeeping(
  state: Pick<State, 'housekeep' | 'audit' | 'clock'>,
  endSession: (sessionId: string) => Promise<boolean>,
  log: Log,
  retryMs = RETRY_MS,
): Housekeeping {
  let fault: string | null = null
  let isRequested = false
  const logAct = ({ act, ...facts }: { act: string }) =>
    log.info({ audit: true, act, ...facts }, 'an act of the command line')
  const report = createReport(log)
  let isStopped = false
  let retry: NodeJS.Timeout | undefined
  const runRound = async () => {
    isRequested = false
    clearTimeout(retry)
    try {
      await state.housekeep(endSession)
      await state.audit.handOver(logAct)
      fault = null
      report(undefined)
    } catch (error) {
      report(error)
      fault = 'the last round of housekeeping failed; the log has the reason'
      if (!isStopped) retry = setTimeout(request, retryMs)
    }
  }
  if (!state.clock.isTrusted())
    log.warn(
      'the wall clock is behind the last recorded time, or far ahead of it: nothing expires until it is set',
    )
  const request = () => {
    if (isRequested) return
    isRequested = true
    running = running.then(runRound)
  }
  let running = runRound()
  const timer = setInterval(request, EVERY_MS)
  return {
    request,
    fault: () => fault,
    async stop() {
      isStopped = true
      clearInterval(timer)
      clearTimeout(retry)
      await running
    },
  }
}

/** Makes the log of failed rounds: one line for a fault that lasts. Undefined after a round that succeeded. */
function createReport(log: Log): (error: unknown) => void {
  let last: string | undefined
  return (error) => {
    const message = error === undefined ? undefined : messageOf(error)
    if (error !== undefined && message !== last) log.error({ err: error }, 'housekeeping failed')
    last = message
  }
}

/** Requests a round when a session is closed, so that its files do not stay for up to a minute. */
export function withPromptCleaning(sessions: SessionStore, housekeeping: Housekeeping): SessionStore {
  return {
    ...sessions,
    async close(tokenHash) {
      await sessions.close(tokenHash)
      housekeeping.request()
    },
    async end(sessionId, keyId) {
      const ended = await sessions.end(sessionId, keyId)
      if (ended !== undefined) housekeeping.request()
      return ended
    },
  }
}
