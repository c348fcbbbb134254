import type { Segments } from '../network/segments.js'
import { TURN_MS } from '../profile/turn-values.js'
import { type Adjacency, linkHead } from './adjacency.js'
import type { TurnPricing } from './turn-prices.js'

/** Most that one turn costs more than another, which is what turning round a little further could save. */
const MOST_SAVED_MS = TURN_MS.angle + TURN_MS.largerRoad

/**
 * Finds the links at whose ends the graph itself must not turn round because of prices of turns: those that are
 * told apart there anyway, and those to which a route could drive to save the price of a turn, because out and
 * back again take no longer than the dearest turn costs. Risk makes such ways longer, never shorter.
 *
 * Cost: a few links for each junction with prices.
 *
 * @param mayTurn of `findTurningPlaces`
 * @returns links, each once
 */
export function findTurnsNearPrices(
  segments: Segments,
  adjacency: Adjacency,
  { isTold, isToldAt }: TurnPricing,
  mayTurn: Uint8Array,
): Set<number> {
  const found = new Set<number>()
  for (let junction = 0; junction < adjacency.junctionCount; junction++) {
    if (!isToldAt(junction)) continue
    for (const link of linksAround(segments, adjacency, junction)) {
      if (mayTurn[link] === 0) found.add(link)
    }
    for (const link of adjacency.linksOut(junction)) {
      const arrival = link ^ 1
      if (mayTurn[arrival] === 0 && adjacency.isOpen(arrival) && isTold(arrival)) found.add(arrival)
    }
  }
  return found
}

/** Links to which, and back from which, one can drive over the same roads within `MOST_SAVED_MS`. */
function linksAround(segments: Segments, adjacency: Adjacency, junction: number): Set<number> {
  const within = new Map<number, number>()
  const open: { at: number; before: number; ms: number }[] = [{ at: junction, before: -1, ms: 0 }]
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    for (const link of adjacency.linksOut(one.at)) {
      if (link === (one.before ^ 1) || !adjacency.isOpen(link ^ 1)) continue
      const ms = one.ms + bothWaysMs(segments, link >>> 1)
      if (ms > MOST_SAVED_MS || ms >= (within.get(link) ?? Number.POSITIVE_INFINITY)) continue
      within.set(link, ms)
      open.push({ at: linkHead(segments, link), before: link, ms })
    }
  }
  return new Set(within.keys())
}

/** Driving time there and back. */
function bothWaysMs({ lengthMm, linkSpeed }: Segments, segment: number): number {
  const mm = lengthMm[segment]!
  return (mm * 36) / linkSpeed[segment * 2]! + (mm * 36) / linkSpeed[segment * 2 + 1]!
}
