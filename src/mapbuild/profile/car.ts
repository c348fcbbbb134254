import type { Tags } from '../extract/osm-objects.js'
import { accessOf, type Direction, isOpened } from './access.js'
import { conditionalKeys } from './conditional-way.js'
import { type CountryLimits, limitsOf } from './countries.js'
import { maxspeedOf } from './maxspeed.js'
import { type AppliedClauses, notesOf } from './notes.js'
import { onewayOf } from './oneway.js'
import type { Profile, WayClosure, WayRule } from './profile.js'
import { rescueTagsOf } from './rescue-tags.js'
import { surfaceLimitKmh } from './surface.js'
import { lookUp, setOf } from './tag-values.js'
import { carTurnTags } from './turn-signs.js'
import { makeWayRule } from './way-rule.js'

const ACCESS_KEYS = ['motorcar', 'motor_vehicle', 'vehicle', 'access']
const MODES = ['motorcar', 'motor_vehicle', 'vehicle']

/**
 * Speed by highway class where no limit is tagged, km/h.
 *
 * `speed` on the wire is the regulated speed, and times follow from it. OSRM drives at 0.8 of a tagged limit
 * and at fixed lower speeds where none is tagged. These values are OSRM's speeds divided by 0.8 and rounded,
 * so roads with and without a tagged limit keep OSRM's proportion. All times are then 0.8 of OSRM's: driving
 * at the limit.
 */
const CLASS_KMH: Record<string, number> = {
  motorway: 110,
  motorway_link: 55,
  trunk: 105,
  trunk_link: 50,
  primary: 80,
  primary_link: 40,
  secondary: 70,
  secondary_link: 30,
  tertiary: 50,
  tertiary_link: 25,
  unclassified: 30,
  residential: 30,
  living_street: 10,
  service: 20,
  road: 30,
}
/** Ways that are not roads: open to cars only where a tag for vehicles says so. */
const BY_TAG = setOf('track pedestrian path footway cycleway bridleway busway bus_guideway')
const BY_TAG_KMH = 12
/** Speeds where no duration is tagged: OSRM's 5 and 10 km/h, divided by 0.8 as above. */
const FERRY_KMH = 6
const SHUTTLE_TRAIN_KMH = 12
/**
 * Kinds of service road with half the speed: OSRM, too, prefers to go round them. Driveways lead to a place,
 * and are no short cuts: they have the speed of other service roads.
 */
const SLOW_SERVICES = setOf('parking_aisle alley drive-through drive-thru parking')
const SLOW_SERVICE_FACTOR = 0.5

/** Barriers that cars can pass unless access tags say otherwise. */
const PASSABLE = setOf(`
  cattle_grid border_control toll_booth sally_port gate lift_gate swing_gate no
  entrance height_restrictor width_restrictor arch sliding_gate checkpoint hampshire_gate`)
/** Kerbs that cars can drive over. */
const LOW_KERBS = setOf('lowered flush rolled no')

/**
 * Rules for cars.
 *
 * @see OSRM's profiles/car.lua and Valhalla's lua/graph.lua, the sources of these classes, key orders and
 *   lists
 */
export const carProfile: Profile = {
  name: 'car',
  wayKeys: ['highway', 'route'],
  nodeKeys: ['barrier'],
  wayRule: carRule,
  conditionalKeys: conditionalKeys(ACCESS_KEYS, MODES),
  rescueTags: rescueTagsOf,
  isClosedNode: isClosedToCars,
  restrictionTags: [
    'restriction:motorcar',
    'restriction:motor_vehicle',
    'restriction:vehicle',
    'restriction',
  ],
  exceptWords: MODES,
  turns: carTurnTags,
}

function carRule(tags: Tags, country: string | null, applied?: AppliedClauses): WayRule | WayClosure {
  const isFerry = tags.get('route') === 'ferry'
  const isTransport = isFerry || tags.get('route') === 'shuttle_train'
  if (isUnusable(tags)) return 'unusable'
  const transportKmh = isFerry ? FERRY_KMH : SHUTTLE_TRAIN_KMH
  return makeWayRule(tags, {
    oneway: onewayOf(tags, MODES),
    accessKeys: ACCESS_KEYS,
    isTransport,
    notes: notesOf(tags, ACCESS_KEYS, true, applied),
    hasLimits: true,
    kmh: (direction) => (isTransport ? transportKmh : speedKmh(tags, direction, country)),
  })
}

/** True for squares, impassable ways and emergency accesses. */
function isUnusable(tags: Tags): boolean {
  return (
    tags.get('area') === 'yes' ||
    tags.get('impassable') === 'yes' ||
    tags.get('status') === 'impassable' ||
    tags.get('smoothness') === 'impassable' ||
    tags.get('service') === 'emergency_access'
  )
}

/** A tagged limit replaces the speed of the class; the surface of the road limits both. */
function speedKmh(tags: Tags, direction: Direction, country: string | null): number | undefined {
  const classSpeedKmh = classKmh(tags, direction, country)
  if (classSpeedKmh === undefined) return undefined
  const limitKmh = maxspeedOf(tags, direction, MODES) ?? classSpeedKmh
  const slowed = SLOW_SERVICES.has(tags.get('service') ?? '') ? limitKmh * SLOW_SERVICE_FACTOR : limitKmh
  return Math.max(1, Math.min(slowed, surfaceLimitKmh(tags)))
}

/** Speed by highway class; undefined where cars may not go. */
function classKmh(tags: Tags, direction: Direction, country: string | null): number | undefined {
  const highway = tags.get('highway') ?? ''
  const kmh = lookUp(CLASS_KMH, highway)
  if (kmh !== undefined) return Math.min(kmh, legalKmh(highway, country))
  if (!BY_TAG.has(highway)) return undefined
  // a grade 1 track is a paved road; any other way needs a tag that allows vehicles
  if (highway === 'track' && tags.get('tracktype') === 'grade1') return BY_TAG_KMH
  return isOpened(tags, highway === 'track' ? ACCESS_KEYS : MODES, direction) ? BY_TAG_KMH : undefined
}

/** Legal limit on a highway class in a country, km/h; Infinity when no country is given. */
function legalKmh(highway: string, country: string | null): number {
  const limits: CountryLimits | undefined = country === null ? undefined : limitsOf(country)
  if (limits === undefined) return Number.POSITIVE_INFINITY
  if (highway.startsWith('motorway')) return limits.motorway
  if (highway.startsWith('trunk')) return limits.trunk
  if (highway === 'living_street') return limits.livingStreet
  return highway === 'residential' ? limits.urban : limits.rural
}

/** True for bollards and the like. Gates are open unless they are locked or their access tags say no. */
function isClosedToCars(tags: Tags): boolean {
  const barrier = tags.get('barrier')
  if (barrier === undefined) return false
  const access = accessOf(tags, ACCESS_KEYS)
  if (access !== undefined) return access === 'no'
  if (barrier === 'kerb') return !LOW_KERBS.has(tags.get('kerb') ?? '') && tags.get('highway') !== 'crossing'
  if (barrier === 'bollard' && tags.get('bollard') === 'rising') return false
  return !PASSABLE.has(barrier) || tags.get('locked') === 'yes'
}
