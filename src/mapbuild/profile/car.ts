import { LINK_FLAG } from '../../routing/graph/graph.js'
import type { Tags } from '../extract/osm-objects.js'
import { type Access, accessOf, type Direction } from './access.js'
import { type CountryLimits, limitsOf } from './countries.js'
import { parseDuration } from './duration.js'
import { lookUp } from './look-up.js'
import { maxspeedOf } from './maxspeed.js'
import { notesOf } from './notes.js'
import { isRoundabout, onewayOf } from './oneway.js'
import type { DirectionRule, Profile, WayRule } from './profile.js'
import { accessNote } from './restricted-note.js'
import { nameOf } from './road-name.js'
import { surfaceLimitKmh } from './surface.js'

const ACCESS_KEYS = ['motorcar', 'motor_vehicle', 'vehicle', 'access']
const MODES = ['motorcar', 'motor_vehicle', 'vehicle']

/**
 * Speed where no limit is tagged, km/h.
 *
 * The wire's `speed` is the regulated speed, and times follow from it. OSRM drives at 0.8 of a tagged limit and at
 * fixed lower speeds where none is tagged; so that the two kinds of roads keep OSRM's proportion to each other,
 * these are OSRM's speeds divided by 0.8 and rounded. All times are then 0.8 of OSRM's: those of driving at the limit.
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
/** Ways that are no roads, but are open to cars where a tag for motor vehicles says so. */
const OTHERWISE = new Set([
  'track',
  'pedestrian',
  'path',
  'footway',
  'cycleway',
  'bridleway',
  'busway',
  'bus_guideway',
])
const OTHERWISE_KMH = 12
/** where no duration is given; OSRM's 5 and 10 km/h on the scale above */
const FERRY_KMH = 6
const SHUTTLE_TRAIN_KMH = 12
/** Service roads that are slower still. */
const SLOW_SERVICES = new Set([
  'parking_aisle',
  'driveway',
  'alley',
  'drive-through',
  'drive-thru',
  'parking',
])
const SLOW_SERVICE_FACTOR = 0.5

/** Barriers that let cars pass unless access tags say otherwise. */
const PASSABLE = new Set([
  ...['cattle_grid', 'border_control', 'toll_booth', 'sally_port', 'gate', 'lift_gate', 'swing_gate', 'no'],
  ...[
    'entrance',
    'height_restrictor',
    'width_restrictor',
    'arch',
    'sliding_gate',
    'checkpoint',
    'hampshire_gate',
  ],
])

export const carProfile: Profile = {
  name: 'car',
  wayKeys: ['highway', 'route'],
  nodeKeys: ['barrier'],
  wayRule: carRule,
  isClosedNode: isClosedToCars,
  restrictionTags: [
    'restriction:motorcar',
    'restriction:motor_vehicle',
    'restriction:vehicle',
    'restriction',
  ],
  exceptWords: MODES,
}

/** @see OSRM's profiles/car.lua and Valhalla's lua/graph.lua, whose classes, hierarchy and lists these rules follow */
function carRule(tags: Tags, country: string | null): WayRule | undefined {
  const isFerry = tags.get('route') === 'ferry'
  const isTransport = isFerry || tags.get('route') === 'shuttle_train'
  const baseKmh = isTransport ? (isFerry ? FERRY_KMH : SHUTTLE_TRAIN_KMH) : classKmh(tags, country)
  if (baseKmh === undefined || isUnusable(tags)) return undefined
  const oneway = onewayOf(tags, MODES)
  if (oneway === 'closed') return undefined
  const notes = notesOf(tags, ACCESS_KEYS, true)
  // access may differ by direction, as `motor_vehicle:backward=no` says
  const rule = (direction: Direction): DirectionRule => {
    const access = accessOf(tags, ACCESS_KEYS, direction) ?? 'yes'
    const isOpen = (oneway === 'both' || oneway === direction) && access !== 'no'
    return {
      speedDkmh: isOpen ? Math.round((isTransport ? baseKmh : speedKmh(tags, direction, baseKmh)) * 10) : 0,
      flags: isOpen ? flagsOf(tags, access, isTransport) : 0,
      notes: isOpen ? [...notes[direction], ...accessNote(access)] : [],
    }
  }
  const forward = rule('forward')
  const backward = rule('backward')
  if (forward.speedDkmh === 0 && backward.speedDkmh === 0) return undefined
  return {
    forward,
    backward,
    name: nameOf(tags),
    durationS: isTransport ? parseDuration(tags.get('duration')) : undefined,
  }
}

/** Squares, ways that nothing on wheels passes, ways for fire engines. */
function isUnusable(tags: Tags): boolean {
  return (
    tags.get('area') === 'yes' ||
    tags.get('impassable') === 'yes' ||
    tags.get('status') === 'impassable' ||
    tags.get('smoothness') === 'impassable' ||
    tags.get('service') === 'emergency_access'
  )
}

/** Speed by class; undefined where cars do not go. */
function classKmh(tags: Tags, country: string | null): number | undefined {
  const highway = tags.get('highway') ?? ''
  const kmh = lookUp(CLASS_KMH, highway)
  if (kmh !== undefined) return Math.min(kmh, legalKmh(highway, country))
  if (!OTHERWISE.has(highway)) return undefined
  // a grade 1 track is a paved road; any other way needs to be opened to motor vehicles by name
  const keys = highway === 'track' ? ACCESS_KEYS : ['motorcar', 'motor_vehicle']
  const access = accessOf(tags, keys)
  if (highway === 'track' && tags.get('tracktype') === 'grade1') return OTHERWISE_KMH
  return access === 'yes' || access === 'restricted' ? OTHERWISE_KMH : undefined
}

/** What the law allows on such a road of the country; no bound when the country is not given. */
function legalKmh(highway: string, country: string | null): number {
  const limits: CountryLimits | undefined = country === null ? undefined : limitsOf(country)
  if (limits === undefined) return Number.POSITIVE_INFINITY
  if (highway.startsWith('motorway')) return limits.motorway
  if (highway.startsWith('trunk')) return limits.trunk
  if (highway === 'living_street') return limits.livingStreet
  return highway === 'residential' ? limits.urban : limits.rural
}

/** A tagged limit takes the place of the class's speed, the state of the road bounds both. */
function speedKmh(tags: Tags, direction: Direction, classSpeedKmh: number): number {
  const limitKmh = maxspeedOf(tags, direction, MODES) ?? classSpeedKmh
  const slowed = SLOW_SERVICES.has(tags.get('service') ?? '') ? limitKmh * SLOW_SERVICE_FACTOR : limitKmh
  return Math.max(1, Math.min(slowed, surfaceLimitKmh(tags)))
}

/** Bits of `LINK_FLAG`. */
function flagsOf(tags: Tags, access: Access, isTransport: boolean): number {
  return (
    (access === 'restricted' ? LINK_FLAG.PRIVATE : 0) |
    (isTransport ? LINK_FLAG.FERRY : 0) |
    (isRoundabout(tags) ? LINK_FLAG.ROUNDABOUT : 0)
  )
}

/** Bollards and the like; gates are open unless they are locked or their access tags say no. */
function isClosedToCars(tags: Tags): boolean {
  const barrier = tags.get('barrier')
  if (barrier === undefined) return false
  const access = accessOf(tags, ACCESS_KEYS)
  if (access !== undefined) return access === 'no'
  if (barrier === 'kerb')
    return (
      !['lowered', 'flush', 'rolled', 'no'].includes(tags.get('kerb') ?? '') &&
      tags.get('highway') !== 'crossing'
    )
  if (barrier === 'bollard' && tags.get('bollard') === 'rising') return false
  return !PASSABLE.has(barrier) || tags.get('locked') === 'yes'
}
