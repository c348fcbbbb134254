import { createLatest, type Latest } from './latest.js'

/** Runs work by the frames of the screen, see `createLatest`. */
export function newest(work: Parameters<typeof createLatest>[0]): Latest {
  return createLatest(work, {
    frame: (act) => void requestAnimationFrame(act),
    nowMs: () => performance.now(),
  })
}
