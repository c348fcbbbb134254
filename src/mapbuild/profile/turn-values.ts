import { PRIVATE_ENTRY_MS, U_TURN_MS } from '../../routing/graph/turn-costs.js'

/**
 * Prices of turns, milliseconds: the one table of them. Those of a U-turn at a dead end and of a private road
 * are in every map, the others in maps for cars with turn costs.
 *
 * | Price | Value | Source |
 * |---|---|---|
 * | by angle | up to 7.5 s, see `angleMs` | OSRM, car.lua: `turn_penalty`, `turn_bias` |
 * | U-turn | 27.5 s | OSRM: `u_turn_penalty` 20 s, and 7.5 s for its angle |
 * | traffic signals, stop, give way | 2 s, 2 s, 1 s | OSRM: `traffic_light_penalty`, obstacles of version 6 |
 * | against the traffic into a larger road, or across one | 3 s | the low end of Valhalla's turn costs by stop impact |
 * | entering private or destination-only roads | 450 s | Valhalla: `private_access_penalty` |
 * | gate | 60 s | OSRM: gates as obstacles |
 * | toll booth | 15 s | Valhalla: `toll_booth_cost` |
 *
 * @see Project OSRM, profiles/car.lua; Valhalla, sif/autocost.cc
 */
export const TURN_MS = {
  angle: 7500,
  uTurn: U_TURN_MS,
  privateEntry: PRIVATE_ENTRY_MS,
  signals: 2000,
  stop: 2000,
  giveWay: 1000,
  largerRoad: 3000,
  gate: 60_000,
  toll: 15_000,
} as const

/** Factor by which turns across the traffic are dearer than those with it. */
const TURN_BIAS = 1.075

/**
 * Returns the price of a turn by its angle: a sigmoid, in tenths of a second. A turn with the traffic (to the
 * right where traffic drives on the right) costs 0.1 s at 45°, 2.1 s at 90° and 6.7 s at 135°, one across it
 * 0.5 s, 5.4 s and 7.4 s.
 *
 * @param degrees −180 to 180, positive to the right, 0 straight on
 */
export function angleMs(degrees: number, isLeftHand: boolean): number {
  const isWithTraffic = isLeftHand ? degrees <= 0 : degrees >= 0
  const bias = isWithTraffic ? TURN_BIAS : 1 / TURN_BIAS
  const share = 1 / (1 + Math.exp(-(((13 / bias) * Math.abs(degrees)) / 180 - 6.5 * bias)))
  return Math.round((TURN_MS.angle * share) / 100) * 100
}

/**
 * Rank of road classes, the larger road first; links between roads give way, whatever they join. A road of no
 * class here has rank 1, a ferry too.
 */
const RANK: Readonly<Record<string, number>> = {
  motorway: 7,
  trunk: 6,
  primary: 5,
  secondary: 4,
  tertiary: 3,
  unclassified: 2,
  residential: 2,
  road: 2,
  motorway_link: 2,
  trunk_link: 2,
  primary_link: 2,
  secondary_link: 2,
  tertiary_link: 2,
}

/** Bit beside the rank: traffic drives on the left. */
export const LEFT_HAND = 8
/** Bits of the rank alone. */
export const RANK_BITS = 7

/** Returns the rank of a road class, 1 to 7. */
export function rankOf(highway: string | undefined): number {
  return (highway !== undefined && Object.hasOwn(RANK, highway) && RANK[highway]) || 1
}
