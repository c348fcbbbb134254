import { type Graph, LINK_FLAG } from './graph.js'

/**
 * Price of turning round at a dead end, milliseconds: 20 s for the turn and 7.5 s for its angle of 180°.
 *
 * @see Project OSRM, profiles/car.lua: `u_turn_penalty` and `turn_penalty`
 */
export const U_TURN_MS = 27_500

/**
 * Price of entering private and destination-only roads from public ones, milliseconds.
 *
 * @see Valhalla, sif/autocost.cc: `private_access_penalty`, 450 s
 */
export const PRIVATE_ENTRY_MS = 450_000

const PRIVATE_ENTRY = LINK_FLAG.PRIVATE | LINK_FLAG.FROM_PUBLIC

/** Most different prices of a map: an arc has one byte for its own. */
export const MAX_TURN_PRICES = 256

/** The part of a graph that has the prices of turns. */
type PricedGraph = Pick<Graph, 'arcLink' | 'linkFlags' | 'turnPrices' | 'arcTurn'>

/**
 * Returns the price of the turn by which an arc enters its link, milliseconds: that of a U-turn where the link
 * leaves a dead end, that of entering a private road, and the arc's own, in maps with turn costs.
 */
export function turnMs({ arcLink, linkFlags, turnPrices, arcTurn }: PricedGraph, arc: number): number {
  const flags = linkFlags[arcLink[arc]!]!
  const uTurnMs = (flags & LINK_FLAG.AFTER_U_TURN) === 0 ? 0 : U_TURN_MS
  const linkMs = (flags & PRIVATE_ENTRY) === PRIVATE_ENTRY ? uTurnMs + PRIVATE_ENTRY_MS : uTurnMs
  return turnPrices === undefined || arcTurn === undefined ? linkMs : linkMs + turnPrices[arcTurn[arc]!]!
}

/** Returns the price of driving a link from its beginning on where a route begins there: that of a private road. */
export function entryMs({ linkFlags }: Pick<Graph, 'linkFlags'>, link: number): number {
  return (linkFlags[link]! & PRIVATE_ENTRY) === PRIVATE_ENTRY ? PRIVATE_ENTRY_MS : 0
}

/** Returns a bound of `turnMs` over all arcs, whatever conditions hold. */
export function highestTurnMs({ linkFlags, turnPrices }: Pick<Graph, 'linkFlags' | 'turnPrices'>): number {
  const hasFlag = (flag: number) => linkFlags.some((flags) => (flags & flag) !== 0)
  const uTurnMs = hasFlag(LINK_FLAG.AFTER_U_TURN) ? U_TURN_MS : 0
  const privateMs = hasFlag(LINK_FLAG.FROM_PUBLIC) ? PRIVATE_ENTRY_MS : 0
  return uTurnMs + privateMs + (turnPrices?.reduce((most, ms) => Math.max(most, ms), 0) ?? 0)
}
