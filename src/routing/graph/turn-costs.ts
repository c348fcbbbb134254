import { type Graph, LINK_FLAG } from './graph.js'

/**
 * Price of turning round at a dead end, milliseconds: 20 s for the turn and 7.5 s for its angle of 180°.
 *
 * @see Project OSRM, profiles/car.lua: `u_turn_penalty` and `turn_penalty`
 */
export const U_TURN_MS = 27_500

/** Most different prices of a map: an arc has one byte for its own. */
export const MAX_TURN_PRICES = 256

/** The part of a graph that has the prices of turns. */
type PricedGraph = Pick<Graph, 'arcLink' | 'linkFlags' | 'turnPrices' | 'arcTurn'>

/**
 * Returns the price of the turn by which an arc enters its link, milliseconds: that of a U-turn where the link
 * leaves a dead end, and the arc's own, in maps with turn costs.
 */
export function turnMs({ arcLink, linkFlags, turnPrices, arcTurn }: PricedGraph, arc: number): number {
  const uTurnMs = (linkFlags[arcLink[arc]!]! & LINK_FLAG.AFTER_U_TURN) === 0 ? 0 : U_TURN_MS
  return turnPrices === undefined || arcTurn === undefined ? uTurnMs : uTurnMs + turnPrices[arcTurn[arc]!]!
}

/** Returns a bound of `turnMs` over all arcs. */
export function highestTurnMs({ linkFlags, turnPrices }: Pick<Graph, 'linkFlags' | 'turnPrices'>): number {
  const hasUTurns = linkFlags.some((flags) => (flags & LINK_FLAG.AFTER_U_TURN) !== 0)
  return (hasUTurns ? U_TURN_MS : 0) + (turnPrices?.reduce((most, ms) => Math.max(most, ms), 0) ?? 0)
}
