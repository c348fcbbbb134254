import type { Caller } from '../auth/caller.js'
import type { Config } from '../config.js'
import type { Log } from '../log.js'

/** Time and identity come from outside, so tests can set them. */
export interface Clock {
  /** µs since 1970 UTC, exact until 2255 */
  nowUs(): number
}

/** What belongs to one HTTP request. */
export interface CallContext {
  readonly caller: Caller
  /** fires when the caller hangs up, the time limit passes, or the gateway stops */
  readonly signal: AbortSignal
  readonly requestId: string
}

/** What every room of `api/` may ask for; each handler names the part it needs. Rooms add theirs in `app.ts`. */
export interface SharedContext {
  readonly clock: Clock
  /** a fresh random UUID */
  newId(): string
  readonly config: Config
  /** `service.timeZone` in minutes east of UTC */
  readonly timeZoneMin: number
  readonly log: Log
}

export type BaseContext = CallContext & SharedContext
