import { LINK_FLAG } from '../../routing/graph/graph.js'
import type { Tags } from '../extract/osm-objects.js'
import { type Access, accessOf, type Direction } from './access.js'
import { parseDuration } from './duration.js'
import { limitsOf } from './limits.js'
import type { WayNotes } from './notes.js'
import { isRoundabout, type Oneway } from './oneway.js'
import type { DirectionRule, WayClosure, WayRule } from './profile.js'
import { setOf } from './tag-values.js'

/** Properties of a way that each profile reads by its own rules. */
interface WayTraits {
  readonly oneway: Oneway
  /** access keys, most specific first; empty = no tag closes the way */
  readonly accessKeys: readonly string[]
  /** a ferry or a car train: it keeps its own time, and limits of roads do not apply */
  readonly isTransport: boolean
  readonly notes: WayNotes
  /** true where limits of size and weight matter, as for cars */
  readonly hasLimits: boolean
  /** speed where access tags do not close the way, km/h; undefined = its class is closed to the traveller */
  readonly kmh: (direction: Direction) => number | undefined
}

/**
 * Combines the traits of a way into its rules in both directions.
 *
 * @returns the cause when the way is closed in both directions
 */
export function makeWayRule(tags: Tags, traits: WayTraits): WayRule | WayClosure {
  if (isUnderConstruction(tags)) return 'construction'
  if (traits.oneway === 'closed') return 'reversible'
  const forward = directionRule(tags, traits, 'forward')
  const backward = directionRule(tags, traits, 'backward')
  if (forward.speedDkmh === 0 && backward.speedDkmh === 0) {
    const hasSpeed = traits.kmh('forward') !== undefined || traits.kmh('backward') !== undefined
    return hasSpeed ? 'access' : 'class'
  }
  return {
    forward,
    backward,
    name: tags.get('name') ?? tags.get('ref') ?? '',
    durationS: traits.isTransport ? parseDuration(tags.get('duration')) : undefined,
  }
}

/** Works on a road that leave it open, as in OSRM's profiles. */
const OPEN_WORKS = setOf('no widening minor')

/** Returns true for a road that is tagged as one in use, and as closed for works. */
function isUnderConstruction(tags: Tags): boolean {
  const works = tags.get('construction')
  return works !== undefined && !OPEN_WORKS.has(works)
}

/** Access may differ by direction: `motor_vehicle:backward=no`. */
function directionRule(tags: Tags, traits: WayTraits, direction: Direction): DirectionRule {
  const { oneway, accessKeys, isTransport, notes, kmh } = traits
  const access = accessOf(tags, accessKeys, direction) ?? 'yes'
  const isOpen = access !== 'no' && (oneway === 'both' || oneway === direction)
  const speedKmh = isOpen ? kmh(direction) : undefined
  if (speedKmh === undefined) return { speedDkmh: 0, flags: 0, notes: [], limits: undefined }
  return {
    speedDkmh: Math.round(speedKmh * 10),
    flags:
      (access === 'restricted' ? LINK_FLAG.PRIVATE : 0) |
      (isTransport ? LINK_FLAG.FERRY : 0) |
      (isRoundabout(tags) ? LINK_FLAG.ROUNDABOUT : 0),
    notes: [...notes[direction], ...accessNotes(access)],
    limits: traits.hasLimits ? limitsOf(tags, direction) : undefined,
  }
}

function accessNotes(access: Access): string[] {
  return access === 'restricted' ? ['private or destination only'] : []
}
