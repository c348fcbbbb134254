import type { Tags } from '../extract/osm-objects.js'
import { setOf } from './tag-values.js'

/** Access of one kind of traveller; `restricted`: only at the ends of a route (private, destination …). */
export type Access = 'yes' | 'restricted' | 'no'
/** Direction of travel relative to the order of a way's nodes. */
export type Direction = 'forward' | 'backward'

const RESTRICTED = setOf(`
  private destination customers customer delivery permit residents resident
  visitors employees members students guests staff restricted`)
const YES = setOf('yes permissive designated official public allowed hov discouraged tolerated')
const NO = setOf(`
  no none agricultural forestry farm logging emergency fire police ambulance
  psv bus minibus coach taxi share_taxi tourist_bus hgv goods military maintenance
  emergency_vehicle authorized authorised service foot bicycle horse snowmobile use_sidepath
  dismount impassable closed`)

/**
 * Access by the tags of an object. The most specific key with a known value wins, and of one key the variant
 * for the direction.
 *
 * @param keys most specific first, for instance motorcar, motor_vehicle, vehicle, access
 * @returns undefined when no tag has a known value
 * @see https://wiki.openstreetmap.org/wiki/Key:access
 */
export function accessOf(tags: Tags, keys: readonly string[], direction?: Direction): Access | undefined {
  for (const key of keys) {
    const directed = direction === undefined ? undefined : accessValue(tags.get(`${key}:${direction}`))
    const found = directed ?? accessValue(tags.get(key))
    if (found !== undefined) return found
  }
  return undefined
}

/**
 * Returns true where the tags say that a traveller may use a way, as ways need that are closed by their
 * class.
 *
 * @param keys most specific first
 */
export function isOpened(tags: Tags, keys: readonly string[], direction: Direction): boolean {
  const access = accessOf(tags, keys, direction)
  return access === 'yes' || access === 'restricted'
}

/**
 * Access of one tag value; of a list such as `private;delivery` the least strict.
 *
 * @returns undefined for a value that is not known
 */
export function accessValue(text: string | undefined): Access | undefined {
  if (text === undefined) return undefined
  const values = text.split(/[;,|]/).map((value) => value.trim().toLowerCase())
  if (values.some((value) => YES.has(value))) return 'yes'
  if (values.some((value) => RESTRICTED.has(value))) return 'restricted'
  if (values.some((value) => NO.has(value))) return 'no'
  return undefined
}
