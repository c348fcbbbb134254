/** Longest time for which work waits for an idle page, ms. */
const PATIENCE_MS = 2000
/** Pause in place of it where a browser does not tell (Safari), ms. */
const PAUSE_MS = 50

/** Runs work when the page has nothing else to do, so that input does not wait for it. */
export function whenIdle(act: () => void): void {
  if ('requestIdleCallback' in window) requestIdleCallback(act, { timeout: PATIENCE_MS })
  else setTimeout(act, PAUSE_MS)
}

/**
 * Runs work once, when an element comes into view and the page is idle.
 *
 * @returns a function that forgets it
 */
export function whenSeen(element: Element, act: () => void): () => void {
  let isOver = false
  const observer = new IntersectionObserver((entries) => {
    if (!entries.some(({ isIntersecting }) => isIntersecting)) return
    observer.disconnect()
    whenIdle(() => {
      if (!isOver) act()
    })
  })
  observer.observe(element)
  return () => {
    isOver = true
    observer.disconnect()
  }
}
