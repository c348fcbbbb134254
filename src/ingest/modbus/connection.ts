import type { BusSettings } from '../../config/modbus.js'
import { messageOf } from '../../errors.js'
import type { Log } from '../../log.js'
import type { Timers } from '../mqtt/timers.js'
import type { BusLink } from './link.js'

/** Connects to a bus. */
export type OpenLink = (bus: BusSettings) => Promise<BusLink>

export interface ConnectionDeps {
  readonly openLink: OpenLink
  arrival(): { readonly nowUs: number }
  readonly timers: Timers
  readonly log: Pick<Log, 'warn' | 'info'>
}

/** Connection of a bus, opened when a device is due. */
export interface BusConnection {
  /** Returns the open link, or opens one. @throws Error of why it cannot */
  open(): Promise<BusLink>
  close(reason: string): void
  state(): { readonly isConnected: boolean; readonly sinceUs: number; readonly lastError: string | null }
}

/** Wait after an attempt that failed, ms, and its largest value. */
const RETRY_MS = 500
const RETRY_CAP_MS = 30_000

/** Creates the connection of a bus. */
export function createConnection(
  settings: BusSettings,
  { openLink, timers, arrival, log }: ConnectionDeps,
): BusConnection {
  const bus = settings.name
  let link: BusLink | undefined
  let sinceUs = arrival().nowUs
  let lastError: string | null = null
  let waitMs = RETRY_MS
  let notBeforeMs = Number.NEGATIVE_INFINITY
  let wasTold = false
  const drop = (reason: string) => {
    if (link === undefined) return
    link.close()
    link = undefined
    sinceUs = arrival().nowUs
    lastError = reason
  }
  return {
    async open() {
      if (link?.isOpen() === false) drop('the connection was closed')
      if (link !== undefined) return link
      if (timers.nowMs() < notBeforeMs) throw new Error(lastError ?? 'the connection was closed')
      try {
        link = await openLink(settings)
        sinceUs = arrival().nowUs
        if (wasTold) log.info({ bus }, 'the bus is connected again')
        wasTold = false
        waitMs = RETRY_MS
        return link
      } catch (error) {
        lastError = messageOf(error)
        notBeforeMs = timers.nowMs() + waitMs
        waitMs = Math.min(RETRY_CAP_MS, waitMs * 2)
        if (!wasTold) log.warn({ bus, reason: lastError }, 'the bus is not connected')
        wasTold = true
        throw error
      }
    },
    close: drop,
    state: () => ({ isConnected: link?.isOpen() === true, sinceUs, lastError }),
  }
}
