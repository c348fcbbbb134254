import type { Tags } from '../extract/osm-objects.js'
import { accessOf, type Direction, isOpened } from './access.js'
import { type AppliedClauses, notesOf } from './notes.js'
import { onewayValue } from './oneway.js'
import type { Profile, WayClosure, WayRule } from './profile.js'
import { lookUp, setOf } from './tag-values.js'
import { makeWayRule } from './way-rule.js'

const ACCESS_KEYS = ['foot', 'access']
const WALK_KMH = 5
const STEPS_KMH = 2
const FERRY_KMH = 5

/** Ways open to people on foot unless access tags close them. */
const WALKABLE = setOf(`
  trunk trunk_link primary primary_link secondary secondary_link tertiary tertiary_link
  unclassified residential road living_street service track path steps pedestrian
  footway corridor platform pier`)
/** Ways open to people on foot only where `foot` says so. */
const BY_TAG = setOf('cycleway bridleway busway bus_guideway motorway motorway_link via_ferrata')
/** Factor on the walking speed, by surface. */
const SURFACE_FACTOR: Record<string, number> = {
  fine_gravel: 0.75,
  gravel: 0.75,
  pebblestone: 0.75,
  mud: 0.5,
  sand: 0.5,
}
/** Barriers that stop people on foot; they climb over or walk round all others. */
const IMPASSABLE = setOf('wall fence hedge city_wall ditch retaining_wall guard_rail')

/**
 * Rules for people on foot. One-way tags are for vehicles: only `oneway:foot` counts.
 *
 * @see OSRM's profiles/foot.lua
 */
export const footProfile: Profile = {
  name: 'foot',
  wayKeys: ['highway', 'route', 'man_made', 'railway'],
  nodeKeys: ['barrier'],
  wayRule: footRule,
  conditionalKeys: new Set([...ACCESS_KEYS, 'oneway:foot']),
  isClosedNode: (tags) => {
    const barrier = tags.get('barrier')
    if (barrier === undefined) return false
    const access = accessOf(tags, ACCESS_KEYS)
    if (access !== undefined) return access === 'no'
    return IMPASSABLE.has(barrier) || tags.get('locked') === 'yes'
  },
  restrictionTags: ['restriction:foot'],
  exceptWords: ['foot'],
}

function footRule(tags: Tags, _country: string | null, applied?: AppliedClauses): WayRule | WayClosure {
  const isFerry = tags.get('route') === 'ferry'
  return makeWayRule(tags, {
    oneway: onewayValue(tags.get('oneway:foot')) ?? 'both',
    accessKeys: ACCESS_KEYS,
    isTransport: isFerry,
    notes: notesOf(tags, ACCESS_KEYS, false, applied),
    hasLimits: false,
    kmh: (direction) => (isFerry ? FERRY_KMH : walkKmh(tags, direction)),
  })
}

/** Walking speed; undefined where people may not walk. */
function walkKmh(tags: Tags, direction: Direction): number | undefined {
  const highway = tags.get('highway') ?? ''
  const isPlatform = tags.get('railway') === 'platform' || tags.get('man_made') === 'pier'
  const isMotorRoad = tags.get('motorroad') === 'yes' && accessOf(tags, ['foot'], direction) === undefined
  const isOpen =
    (WALKABLE.has(highway) && !isMotorRoad) ||
    (isPlatform && highway === '') ||
    (BY_TAG.has(highway) && isOpened(tags, ['foot'], direction))
  if (!isOpen) return undefined
  if (highway === 'steps') return STEPS_KMH
  return WALK_KMH * (lookUp(SURFACE_FACTOR, tags.get('surface')) ?? 1)
}
