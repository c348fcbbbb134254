import type { Tags } from '../extract/osm-objects.js'
import type { Direction } from './access.js'
import { type CountryLimits, limitsOf, UNLIMITED_KMH, USUAL_LIMITS, WALK_KMH } from './countries.js'
import { lookUp } from './look-up.js'

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
/** No road has a limit above; a value that claims one is a slip. */
const MAX_KMH = 200

/** Where a limit may be told by its origin when `maxspeed` itself is missing: `DE:urban`, `zone30`. */
const ORIGIN_TAGS = ['maxspeed:type', 'source:maxspeed', 'zone:maxspeed', 'zone:traffic']

/**
 * The limit of a way in one direction, from `maxspeed` and its variants. Limits by lane and by condition are left
 * out here: lanes have no meaning for a route, conditions become notes.
 *
 * @param modes kinds of vehicle with a limit of their own, most specific first
 * @returns km/h, undefined when no tag says
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
 * A value of `maxspeed`: `50`, `30 mph`, `5 knots`, `none`, `walk`, `RU:urban`, or a list such as `50;30`, of which
 * the lowest counts.
 *
 * @returns km/h, undefined for what cannot be read or is no limit of now (`signals`, `variable`)
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
  const word = text.toLowerCase()
  if (word === 'none' || word === 'unlimited') return UNLIMITED_KMH
  if (word === 'walk') return WALK_KMH
  const match = /^(\d{1,3}(?:\.\d+)?)\s*([a-z/]*)$/.exec(word)
  if (match === null) return parseCode(text)
  const factor = lookUp(KMH_PER_UNIT, match[2] ?? '')
  const kmh = factor === undefined ? 0 : Number(match[1]) * factor
  return kmh > 0 && kmh <= MAX_KMH ? kmh : undefined
}

/** `DE:urban`, `BE-VLG:rural`, `GB:nsl_single`, `DE:zone30`, `FR:zone:30`, `IT:30`. */
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

/** `sign` and `markings` say nothing; a bare number is only meant in `zone:maxspeed`. */
function parseOrigin(text: string | undefined): number | undefined {
  return text === undefined ? undefined : (parseMaxspeed(text.replace(/^zone:?/i, '')) ?? undefined)
}
