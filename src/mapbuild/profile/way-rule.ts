import { LINK_FLAG } from '../../routing/graph/graph.js'
import type { Tags } from '../extract/osm-objects.js'
import { type Access, accessOf, type Direction } from './access.js'
import { parseDuration } from './duration.js'
import type { WayNotes } from './notes.js'
import { isRoundabout, type Oneway } from './oneway.js'
import type { DirectionRule, WayRule } from './profile.js'

/** Properties of a way that each profile reads by its own rules. */
interface WayTraits {
  readonly oneway: Oneway
  /** access keys, most specific first; empty = no tag closes the way */
  readonly accessKeys: readonly string[]
  /** a ferry or a car train: it keeps its own time, and limits of roads do not apply */
  readonly isTransport: boolean
  readonly notes: WayNotes
  /** speed where the way is open, km/h */
  readonly kmh: (direction: Direction) => number
}

/**
 * Combines the traits of a way into its rules in both directions.
 *
 * @returns undefined when the way is closed in both directions
 */
export function makeWayRule(tags: Tags, traits: WayTraits): WayRule | undefined {
  if (traits.oneway === 'closed') return undefined
  const forward = directionRule(tags, traits, 'forward')
  const backward = directionRule(tags, traits, 'backward')
  if (forward.speedDkmh === 0 && backward.speedDkmh === 0) return undefined
  return {
    forward,
    backward,
    name: tags.get('name') ?? tags.get('ref') ?? '',
    durationS: traits.isTransport ? parseDuration(tags.get('duration')) : undefined,
  }
}

/** Access may differ by direction: `motor_vehicle:backward=no`. */
function directionRule(tags: Tags, traits: WayTraits, direction: Direction): DirectionRule {
  const { oneway, accessKeys, isTransport, notes, kmh } = traits
  const access = accessOf(tags, accessKeys, direction) ?? 'yes'
  const isOpen = access !== 'no' && (oneway === 'both' || oneway === direction)
  if (!isOpen) return { speedDkmh: 0, flags: 0, notes: [] }
  return {
    speedDkmh: Math.round(kmh(direction) * 10),
    flags:
      (access === 'restricted' ? LINK_FLAG.PRIVATE : 0) |
      (isTransport ? LINK_FLAG.FERRY : 0) |
      (isRoundabout(tags) ? LINK_FLAG.ROUNDABOUT : 0),
    notes: [...notes[direction], ...accessNotes(access)],
  }
}

function accessNotes(access: Access): string[] {
  return access === 'restricted' ? ['private or destination only'] : []
}
