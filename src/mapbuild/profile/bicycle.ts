import { LINK_FLAG } from '../../routing/graph/graph.js'
import type { Tags } from '../extract/osm-objects.js'
import { accessOf, type Direction } from './access.js'
import { parseDuration } from './duration.js'
import { lookUp } from './look-up.js'
import { maxspeedOf } from './maxspeed.js'
import { notesOf } from './notes.js'
import { isRoundabout, type Oneway, onewayOf, onewayValue } from './oneway.js'
import type { DirectionRule, Profile, WayRule } from './profile.js'
import { accessNote } from './restricted-note.js'
import { nameOf } from './road-name.js'

const ACCESS_KEYS = ['bicycle', 'vehicle', 'access']
const RIDE_KMH = 15
const WALK_KMH = 4
const FERRY_KMH = 5

/** km/h by class, as OSRM's bicycle profile rides */
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
/** Where a bicycle is pushed unless tags allow riding. */
const PUSH_KMH: Record<string, number> = {
  footway: WALK_KMH,
  pedestrian: WALK_KMH,
  platform: WALK_KMH,
  steps: 2,
}
/** Ways that bicycles use where `bicycle` says so. */
const BY_TAG = new Set(['bridleway', 'busway', 'bus_guideway', 'corridor', 'motorway', 'motorway_link'])
/** km/h at most, by surface */
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
/** Barriers that a bicycle gets past. */
const PASSABLE = new Set([
  ...[
    'sump_buster',
    'bus_trap',
    'cycle_barrier',
    'bollard',
    'entrance',
    'cattle_grid',
    'border_control',
    'toll_booth',
  ],
  ...[
    'sally_port',
    'gate',
    'lift_gate',
    'swing_gate',
    'sliding_gate',
    'no',
    'block',
    'jersey_barrier',
    'kerb',
    'chain',
  ],
  ...['height_restrictor', 'width_restrictor', 'arch', 'motorcycle_barrier', 'planter', 'checkpoint', 'rope'],
])

/** Speeds are those of riding, not of any limit. @see OSRM's profiles/bicycle.lua */
export const bicycleProfile: Profile = {
  name: 'bicycle',
  wayKeys: ['highway', 'route'],
  nodeKeys: ['barrier'],
  wayRule: bicycleRule,
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

function bicycleRule(tags: Tags): WayRule | undefined {
  const isFerry = tags.get('route') === 'ferry'
  const kmh = isFerry ? FERRY_KMH : rideKmh(tags)
  if (kmh === undefined) return undefined
  const oneway = bicycleOneway(tags)
  if (oneway === 'closed') return undefined
  const notes = notesOf(tags, ACCESS_KEYS, false)
  const rule = (direction: Direction): DirectionRule => {
    // who pushes is on foot: the rules for vehicles do not hold
    const isPushed = tags.get('bicycle') === 'dismount'
    const access = (isPushed ? undefined : accessOf(tags, ACCESS_KEYS, direction)) ?? 'yes'
    const isOpen = access !== 'no' && (oneway === 'both' || oneway === direction)
    if (!isOpen) return { speedDkmh: 0, flags: 0, notes: [] }
    const limitKmh = isFerry ? undefined : maxspeedOf(tags, direction, ['bicycle'])
    return {
      speedDkmh: Math.round(Math.min(kmh, limitKmh ?? kmh) * 10),
      flags:
        (access === 'restricted' ? LINK_FLAG.PRIVATE : 0) |
        (isFerry ? LINK_FLAG.FERRY : 0) |
        (isRoundabout(tags) ? LINK_FLAG.ROUNDABOUT : 0),
      notes: [...notes[direction], ...accessNote(access)],
    }
  }
  const forward = rule('forward')
  const backward = rule('backward')
  if (forward.speedDkmh === 0 && backward.speedDkmh === 0) return undefined
  return {
    forward,
    backward,
    name: nameOf(tags),
    durationS: isFerry ? parseDuration(tags.get('duration')) : undefined,
  }
}

/** Riding or pushing speed; undefined where bicycles do not go. */
function rideKmh(tags: Tags): number | undefined {
  const highway = tags.get('highway') ?? ''
  const bicycle = accessOf(tags, ['bicycle'])
  if (tags.get('motorroad') === 'yes' && bicycle === undefined) return undefined
  const ride = lookUp(CLASS_KMH, highway)
  const push = lookUp(PUSH_KMH, highway)
  const isRideable = ride !== undefined || bicycle === 'yes' || bicycle === 'restricted'
  if (ride === undefined && push === undefined && !(BY_TAG.has(highway) && isRideable)) return undefined
  if (tags.get('bicycle') === 'dismount') return push ?? WALK_KMH
  if (!isRideable || highway === 'steps') return push
  return Math.min(ride ?? RIDE_KMH, lookUp(SURFACE_KMH, tags.get('surface')) ?? RIDE_KMH)
}

/** One-way streets that bicycles may ride against: `oneway:bicycle=no`, `cycleway=opposite…`, `cycleway:left:oneway=no`. */
function bicycleOneway(tags: Tags): Oneway {
  const own = onewayValue(tags.get('oneway:bicycle'))
  if (own !== undefined) return own
  const oneway = onewayOf(tags, ['vehicle'])
  if (oneway !== 'forward' && oneway !== 'backward') return oneway
  return hasContraflow(tags, oneway) ? 'both' : oneway
}

/** A lane of any side that leads against the traffic. */
function hasContraflow(tags: Tags, oneway: 'forward' | 'backward'): boolean {
  const against = oneway === 'forward' ? '-1' : 'yes'
  for (const key of ['cycleway', 'cycleway:left', 'cycleway:right', 'cycleway:both']) {
    if (tags.get(key)?.startsWith('opposite') === true) return true
    const lane = tags.get(`${key}:oneway`)
    if (lane === 'no' || lane === against) return true
  }
  return false
}
