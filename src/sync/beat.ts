/** Share of a period below which the next beat is left out: a timer that fires early must not fire twice. */
const TOO_SOON = 0.1

/**
 * Time until the next common beat of a period, ms: all parts of a gateway that look for something each second do so at the
 * same moments, which wakes the processor once. It is 0.1 to 1.1 periods.
 *
 * @param nowMs a monotonic clock that all of them share
 */
export function untilBeatMs(everyMs: number, nowMs: number = performance.now()): number {
  const restMs = everyMs - (nowMs % everyMs)
  return restMs < everyMs * TOO_SOON ? restMs + everyMs : restMs
}
