import type { Tags } from '../extract/osm-objects.js'
import { lookUp } from './look-up.js'

/** Which directions of a way may be driven, by the one-way tags alone. */
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
  // turns by lights every few minutes: both ways are open, with a wait
  alternating: 'both',
  // turns a few times a day: without the clock it must not be used in either direction
  reversible: 'closed',
}

/**
 * Reads `oneway`, its variants for a kind of vehicle first, and what other tags imply: roundabouts and motorways are
 * one-way unless they say otherwise. A value that is not understood is as good as none.
 *
 * @param modes for instance motorcar, motor_vehicle, vehicle
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

export function onewayValue(text: string | undefined): Oneway | undefined {
  return lookUp(VALUES, text?.trim().toLowerCase())
}

export function isRoundabout(tags: Tags): boolean {
  const junction = tags.get('junction')
  return junction === 'roundabout' || junction === 'circular'
}
