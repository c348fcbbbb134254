import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Sliced } from '../routing/search/sliced.js'
import { throwIfCancelled, type Work } from '../worker/host.js'

/** So long a call works before others have their turn; one that takes less is not interrupted. */
const TURN_MS = 5

/** Does work slice by slice; other calls are answered in between. @throws AppError CANCELLED */
export async function inTurns<T>(sliced: Sliced<T>, work: Pick<Work, 'cancel'>): Promise<T> {
  let begunMs = performance.now()
  for (;;) {
    const slice = sliced.next()
    if (slice.done === true) return slice.value
    if (performance.now() - begunMs < TURN_MS) continue
    await nextTurn()
    throwIfCancelled(work)
    begunMs = performance.now()
  }
}
