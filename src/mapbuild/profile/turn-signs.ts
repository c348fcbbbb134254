import type { Tags } from '../extract/osm-objects.js'
import { drivesOnLeft } from './driving-side.js'
import type { TurnTags } from './profile.js'
import { setOf } from './tag-values.js'
import { LEFT_HAND, rankOf } from './turn-values.js'

/** Bits for what makes traffic slow down at a node. */
export const SIGN = {
  SIGNALS: 1,
  STOP: 2,
  GIVE_WAY: 4,
  GATE: 8,
  TOLL: 16,
  /** the signals or the sign are for traffic along the way only, or against it only */
  FORWARD: 32,
  BACKWARD: 64,
  /** the stop is for the smaller roads only */
  MINOR: 128,
} as const

/** Barriers at which a car stops until they open. Others that a car can pass, such as a cattle grid, cost nothing. */
const GATES = setOf(`
  gate lift_gate swing_gate sliding_gate hampshire_gate sally_port checkpoint border_control bollard`)

/** Facts about nodes and ways that turn costs for cars need. */
export const carTurnTags: TurnTags = {
  nodeKeys: ['highway', 'barrier'],
  signOf,
  rankOf: (tags, country) => {
    const side = tags.get('driving_side')
    const isLeft = side === 'left' || (side !== 'right' && drivesOnLeft(country))
    return rankOf(tags.get('highway')) | (isLeft ? LEFT_HAND : 0)
  },
}

/**
 * Returns the bits of `SIGN` of a node that cars can pass.
 *
 * @see https://wiki.openstreetmap.org/wiki/Key:direction
 */
function signOf(tags: Tags): number {
  const kinds = (tags.get('highway') ?? '').split(';').map((kind) => kind.trim())
  let sign = barrierSign(tags.get('barrier'))
  if (kinds.includes('traffic_signals'))
    sign |= SIGN.SIGNALS | directionOf(tags.get('traffic_signals:direction') ?? tags.get('direction'))
  else if (kinds.includes('stop'))
    sign |= SIGN.STOP | directionOf(tags.get('direction')) | (tags.get('stop') === 'minor' ? SIGN.MINOR : 0)
  else if (kinds.includes('give_way')) sign |= SIGN.GIVE_WAY | directionOf(tags.get('direction'))
  return sign
}

function barrierSign(barrier: string | undefined): number {
  if (barrier === undefined) return 0
  if (barrier === 'toll_booth') return SIGN.TOLL
  return GATES.has(barrier) ? SIGN.GATE : 0
}

/** `both`, angles and unknown values are for both directions. */
function directionOf(direction: string | undefined): number {
  if (direction === 'forward') return SIGN.FORWARD
  return direction === 'backward' ? SIGN.BACKWARD : 0
}
