import { isAppError } from '../errors.js'
import type { LoadedMap, Maps } from './maps.js'
import type { ThemeOverlay, Themes } from './themes.js'

/** Calls that wait are answered first: work ahead begins when nothing came for so long. */
const QUIET_MS = 50
/** Overlays remembered as already prepared for; then all is forgotten. */
const MAX_REMEMBERED = 1000

/** Lays the next slot of themes in use on their maps before it is asked for. */
export interface Ahead {
  /** Notes that a theme was used at an instant. */
  noteUse(theme: string, map: LoadedMap, used: ThemeOverlay, instantUs: bigint): void
  /** Does some work once for a key, when nothing else is to be done. */
  later(key: string, work: () => void | Promise<void>): void
  stop(): void
}

/**
 * @param slotS `routing.riskSlotS`: a slot that begins later than this after the instant in use is not prepared
 * @param onFault told of what went wrong; the use itself is not disturbed
 */
export function createAhead(
  maps: Maps,
  themes: Themes,
  slotS: number,
  onFault: (error: unknown) => void,
): Ahead {
  const prepared = new Set<string>()
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
      // a theme that is gone by now needs no overlay
      if (!isAppError(error) || error.errorName !== 'UNKNOWN_THEME') onFault(error)
    }
    arm()
  }
  const arm = (): void => {
    clearTimeout(timer)
    timer = waiting.size > 0 ? setTimeout(() => void runNext(), QUIET_MS) : undefined
    timer?.unref()
  }
  const later = (key: string, work: () => void | Promise<void>): void => {
    if (prepared.has(key)) return
    if (prepared.size >= MAX_REMEMBERED) prepared.clear()
    prepared.add(key)
    waiting.set(key, work)
    arm()
  }

  return {
    noteUse(theme, map, { key, slot: { untilUs } }, instantUs) {
      if (untilUs === undefined || untilUs - instantUs > BigInt(slotS) * 1_000_000n) return
      later(key, () => {
        if (!maps.list().includes(map)) return // replaced meanwhile
        themes.reading(() => themes.overlayOf(themes.find(theme), map, untilUs))
      })
    },
    later,
    stop() {
      clearTimeout(timer)
      waiting.clear()
    },
  }
}
