import { type Graph, LINK_FLAG } from './graph.js'

/**
 * Price of turning round at a dead end, milliseconds: 20 s for the turn and 7.5 s for its angle of 180°.
 *
 * @see Project OSRM, profiles/car.lua: `u_turn_penalty` and `turn_penalty`
 */
export const U_TURN_MS = 27_500

/** Returns the price of entering a link at its beginning: that of a U-turn where the link leaves a dead end. */
export function entryMs({ linkFlags }: Pick<Graph, 'linkFlags'>, link: number): number {
  return (linkFlags[link]! & LINK_FLAG.AFTER_U_TURN) === 0 ? 0 : U_TURN_MS
}
