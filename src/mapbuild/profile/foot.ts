import { LINK_FLAG } from '../../routing/graph/graph.js'
import type { Tags } from '../extract/osm-objects.js'
import { accessOf, type Direction } from './access.js'
import { parseDuration } from './duration.js'
import { lookUp } from './look-up.js'
import { notesOf } from './notes.js'
import { isRoundabout, onewayValue } from './oneway.js'
import type { DirectionRule, Profile, WayRule } from './profile.js'
import { accessNote } from './restricted-note.js'
import { nameOf } from './road-name.js'

const ACCESS_KEYS = ['foot', 'access']
const WALK_KMH = 5
const STEPS_KMH = 2
const FERRY_KMH = 5

/** Ways that people walk on unless told otherwise. */
const WALKABLE = new Set([
  ...[
    'trunk',
    'trunk_link',
    'primary',
    'primary_link',
    'secondary',
    'secondary_link',
    'tertiary',
    'tertiary_link',
  ],
  ...[
    'unclassified',
    'residential',
    'road',
    'living_street',
    'service',
    'track',
    'path',
    'steps',
    'pedestrian',
  ],
  ...['footway', 'corridor', 'platform', 'pier'],
])
/** Ways that they walk on where `foot` says so. */
const BY_TAG = new Set([
  'cycleway',
  'bridleway',
  'busway',
  'bus_guideway',
  'motorway',
  'motorway_link',
  'via_ferrata',
])
/** share of the walking speed that is left */
const SURFACE_FACTOR: Record<string, number> = {
  fine_gravel: 0.75,
  gravel: 0.75,
  pebblestone: 0.75,
  mud: 0.5,
  sand: 0.5,
}
/** Barriers that stop people on foot; they climb over or walk round all others. */
const IMPASSABLE = new Set(['wall', 'fence', 'hedge', 'city_wall', 'ditch', 'retaining_wall', 'guard_rail'])

/** One-way rules are for vehicles: only `oneway:foot` counts. @see OSRM's profiles/foot.lua */
export const footProfile: Profile = {
  name: 'foot',
  wayKeys: ['highway', 'route', 'man_made', 'railway'],
  nodeKeys: ['barrier'],
  wayRule: footRule,
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

function footRule(tags: Tags): WayRule | undefined {
  const isFerry = tags.get('route') === 'ferry'
  const kmh = isFerry ? FERRY_KMH : walkKmh(tags)
  if (kmh === undefined) return undefined
  const oneway = onewayValue(tags.get('oneway:foot')) ?? 'both'
  const notes = notesOf(tags, ACCESS_KEYS, false)
  const rule = (direction: Direction): DirectionRule => {
    const access = accessOf(tags, ACCESS_KEYS, direction) ?? 'yes'
    const isOpen = access !== 'no' && (oneway === 'both' || oneway === direction)
    if (!isOpen) return { speedDkmh: 0, flags: 0, notes: [] }
    return {
      speedDkmh: Math.round(kmh * 10),
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

/** Walking speed; undefined where nobody walks. */
function walkKmh(tags: Tags): number | undefined {
  const highway = tags.get('highway') ?? ''
  const foot = accessOf(tags, ['foot'])
  const isPlatform = tags.get('railway') === 'platform' || tags.get('man_made') === 'pier'
  const isWalkable = WALKABLE.has(highway) && !(tags.get('motorroad') === 'yes' && foot === undefined)
  if (!isWalkable && !(isPlatform && highway === '') && !(BY_TAG.has(highway) && foot !== undefined))
    return undefined
  if (highway === 'steps') return STEPS_KMH
  return WALK_KMH * (lookUp(SURFACE_FACTOR, tags.get('surface')) ?? 1)
}
