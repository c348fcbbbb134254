import type { Caller } from '../auth/caller.js'
import type { Config } from '../config/config.js'
import type { Log } from '../log.js'

/** Clock of a call; a test passes its own. */
interface Clock {
  /** µs since 1970 UTC, exact until 2255 */
  nowUs(): number
}

/** Part of the context that belongs to one HTTP request. */
export interface CallContext {
  readonly caller: Caller
  /** fires when the caller hangs up, the time limit passes, or the gateway stops */
  readonly signal: AbortSignal
  readonly requestId: string
  /** receives the time that a search took in its thread, ms; absent where nobody asks */
  noteSearchMs?(ms: number): void
}

/**
 * Part of the context that every room of `api/` has. A handler names what it needs of it; a room adds its own
 * part.
 */
export interface SharedContext {
  readonly clock: Clock
  /** makes a random UUID */
  newId(): string
  readonly config: Config
  /** `service.timeZone` in minutes east of UTC */
  readonly timeZoneMin: number
  readonly log: Log
}

export type BaseContext = CallContext & SharedContext
