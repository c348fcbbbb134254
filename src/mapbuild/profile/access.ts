import type { Tags } from '../extract/osm-objects.js'

/** restricted: those with business there may use it, at the ends of a route */
export type Access = 'yes' | 'restricted' | 'no'
export type Direction = 'forward' | 'backward'

const RESTRICTED = new Set([
  ...['private', 'destination', 'customers', 'customer', 'delivery', 'permit', 'residents', 'resident'],
  ...['visitors', 'employees', 'members', 'students', 'guests', 'staff', 'restricted'],
])
const YES = new Set([
  'yes',
  'permissive',
  'designated',
  'official',
  'public',
  'allowed',
  'hov',
  'discouraged',
  'tolerated',
])
const NO = new Set([
  ...[
    'no',
    'none',
    'agricultural',
    'forestry',
    'farm',
    'logging',
    'emergency',
    'fire',
    'police',
    'ambulance',
  ],
  ...[
    'psv',
    'bus',
    'taxi',
    'tourist_bus',
    'hgv',
    'goods',
    'military',
    'maintenance',
    'authorized',
    'authorised',
  ],
  ...[
    'service',
    'foot',
    'bicycle',
    'horse',
    'snowmobile',
    'use_sidepath',
    'dismount',
    'impassable',
    'closed',
  ],
])

/**
 * What the access tags say for one direction: the most specific key that says anything wins, and of one key the
 * variant for the direction.
 *
 * @param keys most specific first, for instance motorcar, motor_vehicle, vehicle, access
 * @returns undefined when no tag says anything that is understood
 */
export function accessOf(tags: Tags, keys: readonly string[], direction?: Direction): Access | undefined {
  for (const key of keys) {
    const directed = direction === undefined ? undefined : accessValue(tags.get(`${key}:${direction}`))
    const found = directed ?? accessValue(tags.get(key))
    if (found !== undefined) return found
  }
  return undefined
}

/** A value, or the mildest of a list `private;delivery`. */
export function accessValue(text: string | undefined): Access | undefined {
  if (text === undefined) return undefined
  const words = text.split(/[;,|]/).map((word) => word.trim().toLowerCase())
  if (words.some((word) => YES.has(word))) return 'yes'
  if (words.some((word) => RESTRICTED.has(word))) return 'restricted'
  if (words.some((word) => NO.has(word))) return 'no'
  return undefined
}
