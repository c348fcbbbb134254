/** A page of the console, created each time it is opened. */
export interface Page {
  readonly element: HTMLElement
  readonly title: string
  /** stops timers and releases resources */
  close?(): void
}

/** Creates a page. @param rest parts of the address after the page's name */
export type PageMaker = (rest: readonly string[]) => Page

/**
 * Runs `act` now and then every `ms` after it has finished, not while the tab is hidden.
 *
 * @returns a function that stops it
 */
export function repeat(ms: number, act: () => Promise<void>): () => void {
  let timer: number | undefined
  let isOver = false
  const run = async () => {
    if (!document.hidden) await act()
    if (!isOver) timer = window.setTimeout(() => void run(), ms)
  }
  void run()
  return () => {
    isOver = true
    clearTimeout(timer)
  }
}
