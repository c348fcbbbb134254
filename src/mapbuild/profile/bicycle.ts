import type { Tags } from '../extract/osm-objects.js'
import { accessOf, type Direction, isOpened } from './access.js'
import { conditionalKeys } from './conditional-way.js'
import { maxspeedOf } from './maxspeed.js'
import { type AppliedClauses, notesOf } from './notes.js'
import { type Oneway, onewayOf, onewayValue } from './oneway.js'
import type { Profile, WayClosure, WayRule } from './profile.js'
import { lookUp, setOf } from './tag-values.js'
import { makeWayRule } from './way-rule.js'

const ACCESS_KEYS = ['bicycle', 'vehicle', 'access']
const RIDE_KMH = 15
const WALK_KMH = 4
const FERRY_KMH = 5

/** Riding speed by highway class, km/h, as in OSRM's bicycle profile. */
const CLASS_KMH: Record<string, number> = {
  cycleway: RIDE_KMH,
  trunk: RIDE_KMH,
  trunk_link: RIDE_KMH,
  primary: RIDE_KMH,
  primary_link: RIDE_KMH,
  secondary: RIDE_KMH,
  secondary_link: RIDE_KMH,
  tertiary: RIDE_KMH,
  tertiary_link: RIDE_KMH,
  residential: RIDE_KMH,
  unclassified: RIDE_KMH,
  living_street: RIDE_KMH,
  road: RIDE_KMH,
  service: RIDE_KMH,
  track: 12,
  path: 13,
}
/** Speed of pushing a bicycle, km/h, on ways where riding is not allowed unless tags say so. */
const PUSH_KMH: Record<string, number> = {
  footway: WALK_KMH,
  pedestrian: WALK_KMH,
  platform: WALK_KMH,
  steps: 2,
}
/** Ways open to bicycles only where `bicycle` says so. */
const BY_TAG = setOf('bridleway busway bus_guideway corridor motorway motorway_link')
/** Highest speed by surface, km/h. */
const SURFACE_KMH: Record<string, number> = {
  'cobblestone:flattened': 10,
  paving_stones: 10,
  compacted: 10,
  sett: 10,
  cobblestone: 6,
  unpaved: 6,
  fine_gravel: 6,
  gravel: 6,
  pebblestone: 6,
  ground: 6,
  dirt: 6,
  earth: 6,
  grass: 6,
  mud: 3,
  sand: 3,
}
/** Barriers that a bicycle can pass. */
const PASSABLE = setOf(`
  sump_buster bus_trap cycle_barrier bollard entrance cattle_grid border_control toll_booth
  sally_port gate lift_gate swing_gate sliding_gate no block jersey_barrier kerb chain
  height_restrictor width_restrictor arch motorcycle_barrier planter checkpoint rope`)

/**
 * Rules for bicycles. Speeds are riding speeds; a lower tagged limit applies.
 *
 * @see OSRM's profiles/bicycle.lua
 */
export const bicycleProfile: Profile = {
  name: 'bicycle',
  wayKeys: ['highway', 'route'],
  nodeKeys: ['barrier'],
  wayRule: bicycleRule,
  conditionalKeys: conditionalKeys(ACCESS_KEYS, ['bicycle', 'vehicle']),
  isClosedNode: (tags) => {
    const barrier = tags.get('barrier')
    if (barrier === undefined) return false
    const access = accessOf(tags, ACCESS_KEYS)
    if (access !== undefined && tags.get('bicycle') !== 'dismount') return access === 'no'
    return !PASSABLE.has(barrier) || tags.get('locked') === 'yes'
  },
  restrictionTags: ['restriction:bicycle', 'restriction:vehicle', 'restriction'],
  exceptWords: ['bicycle', 'vehicle'],
}

function bicycleRule(tags: Tags, _country: string | null, applied?: AppliedClauses): WayRule | WayClosure {
  const isFerry = tags.get('route') === 'ferry'
  const isPushed = tags.get('bicycle') === 'dismount'
  return makeWayRule(tags, {
    oneway: bicycleOneway(tags),
    // a person who pushes a bicycle is on foot: access rules for vehicles do not apply
    accessKeys: isPushed ? [] : ACCESS_KEYS,
    isTransport: isFerry,
    notes: notesOf(tags, ACCESS_KEYS, false, applied),
    hasLimits: false,
    kmh: (direction) => {
      if (isFerry) return FERRY_KMH
      const kmh = rideKmh(tags, direction)
      if (kmh === undefined) return undefined
      return Math.min(kmh, maxspeedOf(tags, direction, ['bicycle']) ?? kmh)
    },
  })
}

/** Riding or pushing speed; undefined where bicycles may not go. */
function rideKmh(tags: Tags, direction: Direction): number | undefined {
  const highway = tags.get('highway') ?? ''
  if (tags.get('motorroad') === 'yes' && accessOf(tags, ['bicycle'], direction) === undefined)
    return undefined
  const ride = lookUp(CLASS_KMH, highway)
  const push = lookUp(PUSH_KMH, highway)
  const isRideable = ride !== undefined || isOpened(tags, ['bicycle'], direction)
  if (ride === undefined && push === undefined && !(BY_TAG.has(highway) && isRideable)) return undefined
  if (tags.get('bicycle') === 'dismount') return push ?? WALK_KMH
  if (!isRideable || highway === 'steps') return push
  return Math.min(ride ?? RIDE_KMH, lookUp(SURFACE_KMH, tags.get('surface')) ?? RIDE_KMH)
}

/**
 * One-way rule for bicycles: `oneway:bicycle`, `cycleway=opposite…` and `cycleway:left:oneway=no` allow
 * contraflow.
 */
function bicycleOneway(tags: Tags): Oneway {
  const own = onewayValue(tags.get('oneway:bicycle'))
  if (own !== undefined) return own
  const oneway = onewayOf(tags, ['vehicle'])
  if (oneway !== 'forward' && oneway !== 'backward') return oneway
  return hasContraflow(tags, oneway) ? 'both' : oneway
}

/** True when a cycle lane on any side leads against the one-way traffic. */
function hasContraflow(tags: Tags, oneway: 'forward' | 'backward'): boolean {
  const against = oneway === 'forward' ? '-1' : 'yes'
  for (const key of ['cycleway', 'cycleway:left', 'cycleway:right', 'cycleway:both']) {
    if (tags.get(key)?.startsWith('opposite') === true) return true
    const lane = tags.get(`${key}:oneway`)
    if (lane === 'no' || lane === against) return true
  }
  return false
}
