/** One page of the console, made anew each time it is gone to. */
export interface Page {
  readonly element: HTMLElement
  readonly title: string
  /** stops what goes on by itself */
  close?(): void
}

export type PageMaker = (rest: readonly string[]) => Page

/** Does something now and again every `ms`, not while the tab is hidden. @returns ends it */
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
