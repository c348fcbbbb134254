import type { TextOut } from './io.js'

/** A bar on a screen; on anything else nothing is drawn, so logs stay clean. */
export interface Progress {
  /** @param fraction 0 to 1 */
  show(fraction: number, what: string): void
  /** takes the bar away again */
  clear(): void
}

const BAR_CELLS = 24
const LINE_START = '\r'
const ERASE_LINE = '\u001b[K'

export function createProgress(out: TextOut): Progress {
  let shown = ''
  if (out.isTTY !== true) return { show: () => undefined, clear: () => undefined }
  return {
    show(fraction, what) {
      const bounded = Math.max(0, Math.min(1, fraction))
      const full = Math.round(bounded * BAR_CELLS)
      const percent = String(Math.floor(bounded * 100)).padStart(3)
      const bar = `[${'#'.repeat(full)}${'.'.repeat(BAR_CELLS - full)}] ${percent} % ${what}`
      const line = bar.slice(0, (out.columns ?? 80) - 1) // a line that wraps cannot be taken back
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
