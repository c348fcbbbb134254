import type { Tags } from '../extract/osm-objects.js'
import type { Direction } from './access.js'
import { type CountryLimits, limitsOf, UNLIMITED_KMH, USUAL_LIMITS, WALK_KMH } from './countries.js'
import { lookUp } from './tag-values.js'

const KMH_PER_UNIT: Record<string, number> = {
  '': 1,
  kmh: 1,
  'km/h': 1,
  kph: 1,
  mph: 1.609344,
  knots: 1.852,
  knot: 1.852,
  kn: 1.852,
}
/** Highest limit that is accepted; a larger value is a typing error. */
const MAX_KMH = 200

/** Tags that give the source of a limit, read when `maxspeed` itself is missing: `DE:urban`, `zone30`. */
const ORIGIN_TAGS = ['maxspeed:type', 'source:maxspeed', 'zone:maxspeed', 'zone:traffic']

/**
 * Speed limit of a way in one direction, from `maxspeed` and its variants. Limits by lane are ignored,
 * because a route does not choose lanes; conditional limits become notes (`notes.ts`).
 *
 * @param modes kinds of vehicle with a limit of their own, most specific first
 * @returns km/h, undefined when no tag gives a limit
 * @see https://wiki.openstreetmap.org/wiki/Key:maxspeed
 */
export function maxspeedOf(tags: Tags, direction: Direction, modes: readonly string[]): number | undefined {
  for (const mode of [...modes.map((name) => `maxspeed:${name}`), 'maxspeed']) {
    const found = parseMaxspeed(tags.get(`${mode}:${direction}`)) ?? parseMaxspeed(tags.get(mode))
    if (found !== undefined) return found
  }
  for (const origin of ORIGIN_TAGS) {
    const found = parseOrigin(tags.get(origin))
    if (found !== undefined) return found
  }
  return undefined
}

/**
 * Parses a value of `maxspeed`: `50`, `30 mph`, `5 knots`, `none`, `walk`, `RU:urban`, or a list such as
 * `50;30`, of which the lowest limit counts.
 *
 * @returns km/h, undefined for a value that cannot be parsed or that is no fixed limit (`signals`,
 *   `variable`)
 */
export function parseMaxspeed(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  let lowest: number | undefined
  for (const part of text.split(/[;,|]/)) {
    const kmh = parseOne(part.trim())
    if (kmh !== undefined && (lowest === undefined || kmh < lowest)) lowest = kmh
  }
  return lowest
}

function parseOne(text: string): number | undefined {
  const value = text.toLowerCase()
  if (value === 'none' || value === 'unlimited') return UNLIMITED_KMH
  if (value === 'walk') return WALK_KMH
  const match = /^(\d{1,3}(?:\.\d+)?)\s*([a-z/]*)$/.exec(value)
  if (match === null) return parseCode(text)
  const factor = lookUp(KMH_PER_UNIT, match[2] ?? '')
  const kmh = factor === undefined ? 0 : Number(match[1]) * factor
  return kmh > 0 && kmh <= MAX_KMH ? kmh : undefined
}

/** Limit by country code: `DE:urban`, `BE-VLG:rural`, `GB:nsl_single`, `DE:zone30`, `FR:zone:30`, `IT:30`. */
function parseCode(text: string): number | undefined {
  const match = /^([a-z]{2})(?:-[a-z]{1,3})?:(.+)$/i.exec(text)
  if (match === null) return undefined
  const country = match[1] ?? ''
  const kind = (match[2] ?? '').toLowerCase()
  const zone = /^(?:zone)?:?(\d{1,3})(mph)?$/.exec(kind)
  if (zone !== null) return parseOne(`${zone[1]}${zone[2] ?? ''}`)
  if (kind === 'none' || kind === 'walk') return parseOne(kind)
  return limitByKind(limitsOf(country) ?? USUAL_LIMITS, kind)
}

function limitByKind(limits: CountryLimits, kind: string): number | undefined {
  switch (kind) {
    case 'urban':
    case 'urban_primary':
    case 'urban_secondary':
      return limits.urban
    case 'rural':
    case 'national':
    case 'nsl_single':
      return limits.rural
    case 'trunk':
    case 'expressway':
    case 'express':
    case 'nsl_dual':
      return limits.trunk
    case 'motorway':
      return limits.motorway
    case 'living_street':
      return limits.livingStreet
    case 'pedestrian_zone':
      return WALK_KMH
    case 'bicycle_road':
      return 30
    default:
      return undefined
  }
}

/** Limit from a source tag. `sign` and `markings` give none; a bare number occurs only in `zone:maxspeed`. */
function parseOrigin(text: string | undefined): number | undefined {
  return parseMaxspeed(text?.replace(/^zone:?/i, ''))
}
