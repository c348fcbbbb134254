import { setTimeout as delay } from 'node:timers/promises'
import { faultOf, NOT_REPLICATED } from './faults.js'

/**
 * Lets writes pass while commits reach the standby.
 *
 * While a synchronous standby is dead or frozen each commit waits, and holds its locks, until its limit. Without the
 * gate each call would wait that long after the one before it.
 */
export interface StandbyGate {
  /** @throws Error NOT_REPLICATED while the gate is shut */
  requireOpen(): void
  /** Shuts the gate after a commit that did not reach the standby. It opens again once a probe was committed. */
  shut(): void
  /** Ends the probes. @returns after the one that is under way */
  close(): Promise<void>
}

/** Pause between two probes, ms. Each of them waits for the limit of a commit. */
const PAUSE_MS = 500

export interface GateOptions {
  /** commits nothing, as a write does; rejects where the commit does not reach the standby */
  probe(): Promise<void>
  onFault(fault: { readonly message: string }): void
  readonly pauseMs?: number
}

/** Creates a gate, which is open. */
export function createStandbyGate({ probe, onFault, pauseMs = PAUSE_MS }: GateOptions): StandbyGate {
  const closing = new AbortController()
  let probing: Promise<void> | undefined
  const run = async () => {
    for (let tries = 1; !closing.signal.aborted; tries++) {
      const fault = await probe().then(
        () => undefined,
        (error: unknown) => error,
      )
      if (fault === undefined) {
        onFault({ message: `commits reach a standby again, after ${tries} probes: writes pass` })
        break
      }
      // the timer rejects where the gate is closed, which ends the loop
      await delay(pauseMs, undefined, { signal: closing.signal }).catch(() => undefined)
    }
    probing = undefined
  }
  return {
    requireOpen() {
      if (probing === undefined) return
      throw faultOf(NOT_REPLICATED, 'commits do not reach a standby; this write was not committed')
    },
    shut() {
      if (probing !== undefined || closing.signal.aborted) return
      onFault({ message: 'a commit did not reach a standby: writes are refused until one does' })
      probing = run()
    },
    async close() {
      closing.abort()
      await probing
    },
  }
}
