import { LINK_FLAG } from '../../routing/graph/graph.js'
import { MAX_TURN_PRICES } from '../../routing/graph/turn-costs.js'
import { fillWith } from '../arrays/fill-with.js'
import type { RoadNetwork } from '../network/network.js'
import type { Segments } from '../network/segments.js'
import { SIGN } from '../profile/turn-signs.js'
import { angleMs, LEFT_HAND, RANK_BITS, TURN_MS } from '../profile/turn-values.js'
import { type Adjacency, linkHead } from './adjacency.js'
import { linkBearings } from './link-bearings.js'

/**
 * Turns that have a price: `signs` at signals, stops, give ways, gates and toll booths; `main` also by angle and
 * larger roads, at junctions of a road of 45 km/h or more; `full` at all junctions.
 */
export type TurnCosts = 'signs' | 'main' | 'full'

/** Prices of turns, and the links by which arrivals have to be told apart for them. */
export interface TurnPricing {
  /** Returns the price of the turn from a link into one that leaves its end, milliseconds. */
  turnMs(from: number, to: number): number
  /** Returns the price of entering a link where it does not depend on the link before; 0 where it does. */
  entryMs(to: number): number
  /** Returns true where the price of leaving the end of a link depends on that link. */
  isTold(link: number): boolean
  /** Returns true where arrivals at a junction are told apart. */
  isToldAt(junction: number): boolean
}

/** Speed from which on a road is a main road, 1/10 km/h. */
const MAIN_DKMH = 450
/** A turn of less is straight on. */
const STRAIGHT_DEGREES = 45

/** Facts that prices of turns depend on. */
interface Turns {
  readonly segments: Segments
  readonly linkSigns: Uint8Array
  readonly bearings: Float32Array
  /** junction → all links that leave it, closed ones too, are `arms[first[junction] … first[junction + 1])` */
  readonly first: Uint32Array
  readonly arms: Uint32Array
  /** junction → 1 where turns have a price by angle */
  readonly isAngled: Uint8Array
}

/** Computes the prices of turns. Linear in the links. @param adjacency after `flagTurns` */
export function priceTurns(network: RoadNetwork, adjacency: Adjacency, kind: TurnCosts): TurnPricing {
  const { segments, linkSigns } = network
  const { first, arms } = findArms(segments, adjacency.junctionCount)
  const isAngled = findAngled(segments, { first, arms }, kind)
  const turns = { segments, linkSigns, first, arms, isAngled, bearings: linkBearings(network) }
  const turnMs = (from: number, to: number) => priceOf(turns, from, to)
  const isTold = new Uint8Array(adjacency.junctionCount)
  const entryMs = new Uint32Array(segments.count * 2)
  for (let junction = 0; junction < adjacency.junctionCount; junction++) {
    if (isUniform(turns, adjacency, junction, entryMs)) continue
    isTold[junction] = 1
    for (const to of adjacency.linksOut(junction)) entryMs[to] = 0
  }
  return {
    turnMs,
    entryMs: (to) => entryMs[to]!,
    isTold: (link) => isTold[linkHead(segments, link)] === 1,
    isToldAt: (junction) => isTold[junction] === 1,
  }
}

/** Sets the prices of entering the links of a junction. @returns false when one depends on the link before */
function isUniform(turns: Turns, adjacency: Adjacency, junction: number, entryMs: Uint32Array): boolean {
  const { first, arms, segments } = turns
  for (const to of adjacency.linksOut(junction)) {
    let known = -1
    for (let at = first[junction]!; at < first[junction + 1]!; at++) {
      const from = arms[at]! ^ 1
      if (!adjacency.isOpen(from)) continue
      if (from === (to ^ 1) && (segments.linkFlags[from]! & LINK_FLAG.NO_U_TURN) !== 0) continue
      const ms = priceOf(turns, from, to)
      if (known >= 0 && ms !== known) return false
      known = ms
    }
    entryMs[to] = Math.max(0, known)
  }
  return true
}

/** Junction → all links that leave it; a loop leaves it twice. Counting sort. */
function findArms({ count, tail, head }: Segments, junctionCount: number): Pick<Turns, 'first' | 'arms'> {
  const first = new Uint32Array(junctionCount + 1)
  for (let segment = 0; segment < count; segment++) {
    first[tail[segment]! + 1]!++
    first[head[segment]! + 1]!++
  }
  for (let junction = 0; junction < junctionCount; junction++) first[junction + 1]! += first[junction]!
  const arms = new Uint32Array(count * 2)
  const at = first.slice()
  for (let segment = 0; segment < count; segment++) {
    arms[at[tail[segment]!]!++] = segment * 2
    arms[at[head[segment]!]!++] = segment * 2 + 1
  }
  return { first, arms }
}

/** Finds the junctions of three and more roads where turns are priced by angle. */
function findAngled(
  { linkSpeed }: Segments,
  { first, arms }: Pick<Turns, 'first' | 'arms'>,
  kind: TurnCosts,
): Uint8Array {
  const isAngled = new Uint8Array(first.length - 1)
  if (kind === 'signs') return isAngled
  for (let junction = 0; junction < isAngled.length; junction++) {
    const around = arms.subarray(first[junction]!, first[junction + 1]!)
    if (around.length < 3) continue
    const isMain = (arm: number) => Math.max(linkSpeed[arm]!, linkSpeed[arm ^ 1]!) >= MAIN_DKMH
    if (kind === 'full' || around.some(isMain)) isAngled[junction] = 1
  }
  return isAngled
}

/** Price of one turn. A link without length is no part of an answer, so entering one has no price. */
function priceOf(turns: Turns, from: number, to: number): number {
  const { segments, linkSigns, bearings, isAngled } = turns
  if (segments.lengthMm[to >>> 1] === 0) return 0
  const isAngledHere = isAngled[linkHead(segments, from)] === 1
  // at a dead end the link itself has the price, see `LINK_FLAG.AFTER_U_TURN`; who turns passes no sign
  if (to === (from ^ 1)) return isAngledHere ? TURN_MS.uTurn : 0
  const sign = linkSigns[from]!
  const degrees = angleBetween(bearings[from ^ 1]!, bearings[to]!)
  // along a roundabout no traffic is crossed, however tight its circle
  const isAround = isRoundabout(segments, from) && isRoundabout(segments, to)
  if (!isAngledHere || isAround || Number.isNaN(degrees)) return signMs(sign)
  const isLeftHand = (segments.rank[from >>> 1]! & LEFT_HAND) !== 0
  const isSignalled = (sign & SIGN.SIGNALS) !== 0
  const largerMs = !isSignalled && meetsLarger(turns, from, to, isLeftHand) ? TURN_MS.largerRoad : 0
  return signMs(sign) + angleMs(degrees, isLeftHand) + largerMs
}

function isRoundabout({ linkFlags }: Segments, link: number): boolean {
  return (linkFlags[link]! & LINK_FLAG.ROUNDABOUT) !== 0
}

function signMs(sign: number): number {
  return (
    ((sign & SIGN.SIGNALS) !== 0 ? TURN_MS.signals : 0) +
    ((sign & SIGN.STOP) !== 0 ? TURN_MS.stop : 0) +
    ((sign & SIGN.GIVE_WAY) !== 0 ? TURN_MS.giveWay : 0) +
    ((sign & SIGN.GATE) !== 0 ? TURN_MS.gate : 0) +
    ((sign & SIGN.TOLL) !== 0 ? TURN_MS.toll : 0)
  )
}

/** Angle of a turn: −180 to 180 degrees, positive to the right. @param back bearing back along the link before */
function angleBetween(back: number, onward: number): number {
  return ((((onward - back) % 360) + 360) % 360) - 180
}

/** Returns true for a turn against the traffic into a larger road, and for a way across one. */
function meetsLarger(
  { segments, bearings, first, arms }: Turns,
  from: number,
  to: number,
  isLeftHand: boolean,
): boolean {
  const rank = (link: number) => segments.rank[link >>> 1]! & RANK_BITS
  const back = bearings[from ^ 1]!
  const degrees = angleBetween(back, bearings[to]!)
  const isAgainst = isLeftHand ? degrees > STRAIGHT_DEGREES : degrees < -STRAIGHT_DEGREES
  if (isAgainst && rank(to) > rank(from)) return true
  const largest = Math.max(rank(from), rank(to))
  let [isLeft, isRight] = [false, false]
  const junction = linkHead(segments, from)
  for (let at = first[junction]!; at < first[junction + 1]!; at++) {
    const arm = arms[at]!
    if (rank(arm) <= largest || arm === to || arm === (from ^ 1)) continue
    if (angleBetween(back, bearings[arm]!) > degrees) isRight = true
    else isLeft = true
  }
  return isLeft && isRight
}

/**
 * Packs the prices of arcs: a list of the different ones, and the position of each arc's own in it. Prices are
 * whole tenths of a second, coarser where a map has more than 256 different ones.
 */
export function packPrices(arcMs: Uint32Array): { turnPrices: Uint32Array; arcTurn: Uint8Array } {
  for (let stepMs = 100; ; stepMs *= 2) {
    const rounded = arcMs.map((ms) => Math.round(ms / stepMs) * stepMs)
    const prices = [...new Set([0, ...new Set(rounded)])].sort((a, b) => a - b)
    if (prices.length > MAX_TURN_PRICES) continue
    const position = new Map(prices.map((ms, i) => [ms, i]))
    return {
      turnPrices: Uint32Array.from(prices),
      arcTurn: fillWith(new Uint8Array(rounded.length), (arc) => position.get(rounded[arc]!)!),
    }
  }
}
