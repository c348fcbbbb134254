import { type ErrorName, isAppError } from '../errors.js'
import type { Work } from '../worker/host.js'
import type { LoadedMap, Maps } from './maps.js'
import type { ThemeOverlay, Themes } from './themes.js'

/** Idle time before work ahead begins, ms: calls that wait are answered first. */
const QUIET_MS = 50
/** Work ahead has no caller who may hang up. */
export const NEVER_ENDED: Pick<Work, 'cancel' | 'owner'> = { cancel: new Int32Array(1), owner: '' }
/** Most keys of work that is not repeated; when there are more, all are forgotten. */
const MAX_KEYS = 1000
/** Most works that wait: a worker that is never idle does none of them, and the oldest are out of date first. */
const MAX_WAITING = 64

/** Errors after which nothing is to be done ahead: a theme was dropped meanwhile, or its rows cannot be fetched now. */
const NEEDS_NO_WORK: ReadonlySet<ErrorName> = new Set([
  'UNKNOWN_THEME',
  'DATABASE_UNAVAILABLE',
  'BUSY',
  'TIME_LIMIT',
])

/**
 * Runs work ahead of its need while the worker is idle, for instance overlays of the next slot of themes in
 * use.
 */
export interface Prefetcher {
  /** Records that a theme was used at an instant, µs UTC. */
  noteUse(theme: string, map: LoadedMap, used: ThemeOverlay, instantUs: bigint): void
  /** Runs some work once for each key. */
  whenIdle(key: string, work: () => void | Promise<void>): void
  /** Forgets work that waits under a key, and what it refers to. */
  forget(key: string): void
  stop(): void
}

/** Settings and parts of a prefetcher. */
interface PrefetchOptions {
  readonly maps: Maps
  readonly themes: Themes
  /** `routing.riskSlotS`: a slot that begins later than this after the instant in use is not prepared */
  readonly slotS: number
  /** called with errors of work ahead; the calls that asked for it are not disturbed */
  readonly onFault: (error: unknown) => void
}

/** Creates a prefetcher; its timer does not keep the process alive. */
export function createPrefetcher({ maps, themes, slotS, onFault }: PrefetchOptions): Prefetcher {
  const seen = new Set<string>()
  const waiting = new Map<string, () => void | Promise<void>>()
  let timer: NodeJS.Timeout | undefined

  const runNext = async (): Promise<void> => {
    const [next] = waiting
    timer = undefined
    if (next === undefined) return
    waiting.delete(next[0])
    try {
      await next[1]()
    } catch (error) {
      if (!isAppError(error) || !NEEDS_NO_WORK.has(error.errorName)) onFault(error)
    }
    arm()
  }
  const arm = (): void => {
    clearTimeout(timer)
    timer = waiting.size > 0 ? setTimeout(() => void runNext(), QUIET_MS) : undefined
    timer?.unref()
  }
  const whenIdle = (key: string, work: () => void | Promise<void>): void => {
    if (seen.has(key)) return
    if (seen.size >= MAX_KEYS) seen.clear()
    seen.add(key)
    waiting.set(key, work)
    for (const oldest of waiting.keys()) {
      if (waiting.size <= MAX_WAITING) break
      waiting.delete(oldest)
    }
    arm()
  }

  return {
    noteUse(theme, map, { key, slot: { untilUs } }, instantUs) {
      if (untilUs === undefined || untilUs - instantUs > BigInt(slotS) * 1_000_000n) return
      whenIdle(key, async () => {
        // the map was replaced meanwhile, or left the memory
        if (!maps.list().some((served) => served.loaded() === map)) return
        await themes.withRows([theme], () => themes.prepare(theme, map, untilUs, NEVER_ENDED))
      })
    },
    whenIdle,
    forget: (key) => void waiting.delete(key),
    stop() {
      clearTimeout(timer)
      waiting.clear()
    },
  }
}
