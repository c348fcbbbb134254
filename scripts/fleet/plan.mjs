import { createRandom } from '../random.mjs'

/**
 * Makes the outages of a run: the same for the same seed.
 *
 * @param flags `outages`, `storms`, `outage-s`, `minutes`, `seed`
 * @returns outages in the order of their beginnings, ms since the beginning of the run
 */
export function planOutages(flags) {
  const random = createRandom(flags.seed)
  const runMs = flags.minutes * 60_000
  const outageMs = flags['outage-s'] * 1000
  const outage = (no, share, lengthMs) => {
    // the last part of the run shows how it goes on
    const fromMs = Math.round(runMs * (0.1 + 0.6 * random()))
    return { no, share, fromMs, untilMs: fromMs + Math.round(lengthMs) }
  }
  return [
    ...Array.from({ length: flags.storms }, (_, at) => outage(at, 1, outageMs)),
    ...Array.from({ length: flags.outages }, (_, at) =>
      outage(flags.storms + at, 0.05 + 0.45 * random(), outageMs * (0.1 + 0.9 * random())),
    ),
  ].sort((a, b) => a.fromMs - b.fromMs)
}

/** Time after an outage in which the rows of it are sent, ms. */
const SETTLING_MS = 60_000

/** True during an outage of some gateways, and while they send what they could not. */
export function isSettling(outages, atMs) {
  return outages.some(({ fromMs, untilMs }) => fromMs <= atMs && atMs < untilMs + SETTLING_MS)
}

/** True when an outage cuts the link of a gateway. @param place number from 0 to below 1 of the gateway */
export function isCut({ no, share }, place) {
  return (place * 7919 + no * 0.618) % 1 < share
}

/** End of the outages in which the link of a gateway lies; 0 for none. */
export function cutUntilMs(outages, place, atMs) {
  let untilMs = 0
  for (const outage of outages)
    if (
      outage.fromMs <= Math.max(atMs, untilMs) &&
      Math.max(atMs, untilMs) < outage.untilMs &&
      isCut(outage, place)
    )
      untilMs = outage.untilMs
  return untilMs
}
