import type { RoadLimits } from '../../routing/graph/limits.js'
import type { Tags } from '../extract/osm-objects.js'
import type { Direction } from './access.js'
import { lookUp } from './tag-values.js'

const CM_PER_M = 100
const CM_PER_FOOT = 30.48
const CM_PER_INCH = 2.54
const KG_PER_T = 1000
/** Largest values that are believed; larger ones count as typing errors. */
const MAX_CM = 100_000
const MAX_KG = 1_000_000
/** Clearance where no sign says less: OSM's words for it are read as this height, as Valhalla does. */
const UNSIGNED_CM = 450
const UNSIGNED: Record<string, number> = { none: UNSIGNED_CM, default: UNSIGNED_CM, unsigned: UNSIGNED_CM }
const KG_PER_UNIT: Record<string, number> = {
  '': KG_PER_T,
  t: KG_PER_T,
  kg: 1,
  st: 907.185,
  lt: 1016.047,
  lbs: 0.453592,
  lb: 0.453592,
}

/**
 * Limits of a way for the size and the weight of a vehicle, in one direction. What cannot be read, such as
 * `below_default`, is no limit; the way's note names it.
 *
 * @returns undefined when there is none
 */
export function limitsOf(tags: Tags, direction: Direction): RoadLimits | undefined {
  const tagOf = (key: string) => tags.get(`${key}:${direction}`) ?? tags.get(key)
  const height = tagOf('maxheight') ?? tagOf('maxheight:physical')
  const limits = {
    heightCm: lookUp(UNSIGNED, height) ?? parseCm(height),
    widthCm: parseCm(tagOf('maxwidth') ?? tagOf('maxwidth:physical')),
    lengthCm: parseCm(tagOf('maxlength')),
    weightKg: parseKg(tagOf('maxweight')),
    axleLoadKg: parseKg(tagOf('maxaxleload')),
    noHazmat: tagOf('hazmat') === 'no' ? 1 : 0,
  }
  return Object.values(limits).some((limit) => limit > 0) ? limits : undefined
}

/** Parses `3.5`, `3.5 m`, `12'6"`, `12 ft` to whole centimetres; 0 for anything else. */
function parseCm(text: string | undefined): number {
  const metric = /^(\d+(?:[.,]\d+)?)\s*m?$/.exec(text?.trim() ?? '')
  const feet = /^(\d+)\s*(?:'|ft)\s*(?:(\d+)\s*(?:"|''|in)?)?$/.exec(text?.trim() ?? '')
  const cm =
    metric !== null
      ? Number(metric[1]?.replace(',', '.')) * CM_PER_M
      : feet !== null
        ? Number(feet[1]) * CM_PER_FOOT + Number(feet[2] ?? 0) * CM_PER_INCH
        : 0
  return cm <= MAX_CM ? Math.round(cm) : 0
}

/** Parses `7.5`, `7.5 t`, `3500 kg`, `5 st`, `16000 lbs` to whole kilograms; 0 for anything else. */
function parseKg(text: string | undefined): number {
  const match = /^(\d+(?:[.,]\d+)?)\s*([a-z]*)$/.exec(text?.trim().toLowerCase() ?? '')
  const factor = match === null ? undefined : lookUp(KG_PER_UNIT, match[2])
  const kg = factor === undefined ? 0 : Number(match?.[1]?.replace(',', '.')) * factor
  return kg <= MAX_KG ? Math.round(kg) : 0
}
