import type { Tags } from '../extract/osm-objects.js'
import { lookUp } from './tag-values.js'

/** Open directions of a way by its one-way tags alone. */
export type Oneway = 'both' | 'forward' | 'backward' | 'closed'

const VALUES: Record<string, Oneway> = {
  yes: 'forward',
  true: 'forward',
  '1': 'forward',
  '-1': 'backward',
  reverse: 'backward',
  no: 'both',
  false: 'both',
  '0': 'both',
  // the direction changes every few minutes, by lights: both are open, with a wait
  alternating: 'both',
  // the direction changes a few times a day: without a timetable neither is safe to use
  reversible: 'closed',
}

/**
 * One-way rule of a way: from `oneway:<mode>`, then `oneway`, then implied by other tags (roundabouts and
 * motorways are one-way). Unknown values are ignored.
 *
 * @param modes for instance motorcar, motor_vehicle, vehicle
 * @see https://wiki.openstreetmap.org/wiki/Key:oneway
 */
export function onewayOf(tags: Tags, modes: readonly string[]): Oneway {
  for (const mode of modes) {
    const found = onewayValue(tags.get(`oneway:${mode}`))
    if (found !== undefined) return found
  }
  const found = onewayValue(tags.get('oneway'))
  if (found !== undefined) return found
  return isRoundabout(tags) || tags.get('highway') === 'motorway' ? 'forward' : 'both'
}

/** Returns the rule of a value of `oneway`; undefined for a missing or unknown one. */
export function onewayValue(text: string | undefined): Oneway | undefined {
  return lookUp(VALUES, text?.trim().toLowerCase())
}

/** Returns true for a way that is part of a roundabout or another circular junction. */
export function isRoundabout(tags: Tags): boolean {
  const junction = tags.get('junction')
  return junction === 'roundabout' || junction === 'circular'
}
