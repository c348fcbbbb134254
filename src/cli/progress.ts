import type { TextOut } from './io.js'

/** Progress bar of a terminal. In files and pipes nothing is drawn. */
export interface Progress {
  /** @param fraction 0 to 1 */
  show(fraction: number, what: string): void
  /** removes the bar */
  clear(): void
}

const BAR_CELLS = 24
const LINE_START = '\r'
const ERASE_LINE = '\u001b[K'

/** Creates a progress bar; it appears with the first `show`. */
export function createProgress(out: TextOut): Progress {
  let shown = ''
  if (out.isTTY !== true) return { show: () => undefined, clear: () => undefined }
  return {
    show(fraction, what) {
      const bounded = Math.max(0, Math.min(1, fraction))
      const full = Math.round(bounded * BAR_CELLS)
      const percent = String(Math.floor(bounded * 100)).padStart(3)
      const bar = `[${'#'.repeat(full)}${'.'.repeat(BAR_CELLS - full)}] ${percent} % ${what}`
      const line = bar.slice(0, (out.columns ?? 80) - 1) // a wrapped line cannot be overwritten
      if (line === shown) return
      shown = line
      out.write(`${LINE_START}${line}${ERASE_LINE}`)
    },
    clear() {
      if (shown !== '') out.write(`${LINE_START}${ERASE_LINE}`)
      shown = ''
    },
  }
}
