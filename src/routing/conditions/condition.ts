import { edgesOf, holdAt, parseTimeRules, type TimeRules } from './time-rules.js'
import type { Vehicle } from './vehicle.js'

/** Sizes of a vehicle that conditions compare: metres and tonnes. */
type Size = 'height' | 'width' | 'length' | 'weight' | 'axleload'

/** Comparison of a size with a limit. */
interface Comparison {
  readonly size: Size
  readonly operator: '<' | '<=' | '>' | '>=' | '='
  readonly limit: number
}

/** Condition of a conditional tag: all of its parts must hold. */
export interface Condition {
  readonly times: readonly TimeRules[]
  readonly comparisons: readonly Comparison[]
  readonly isForHazmat: boolean
  readonly isForEmergency: boolean
  /** it names public or school holidays, which are not known */
  readonly hasHolidays: boolean
}

/** Condition of what is open to rescue services alone; no tag is written so. */
export const EMERGENCY = 'emergency vehicle'

/** Longer conditions are not read. */
const MAX_CHARS = 1000
const SIZES: Record<string, Size> = {
  height: 'height',
  maxheight: 'height',
  width: 'width',
  maxwidth: 'width',
  length: 'length',
  maxlength: 'length',
  weight: 'weight',
  maxweight: 'weight',
  maxweightrating: 'weight',
  grossweight: 'weight',
  axleload: 'axleload',
  maxaxleload: 'axleload',
}
/** Unit → factor to metres or tonnes; '' = without a unit. */
const UNITS: Record<string, number> = { '': 1, m: 1, t: 1, kg: 0.001 }
const COMPARISON = /^([a-z]+) ?(<=|>=|<|>|=) ?(\d{1,6}(?:\.\d{1,6})?) ?([a-z]*)$/

/**
 * Parses the condition of a conditional tag, without the parentheses around it: times, sizes of the vehicle
 * (`weight>7.5`) and `hazmat`, joined by `AND`. Linear in the text.
 *
 * @returns undefined for a condition that is not read, such as `wet` or `destination`
 * @see https://wiki.openstreetmap.org/wiki/Conditional_restrictions
 */
export function parseCondition(text: string): Condition | undefined {
  if (text.length > MAX_CHARS) return undefined
  const times: TimeRules[] = []
  const comparisons: Comparison[] = []
  let isForHazmat = false
  let isForEmergency = false
  for (const part of text.split(/\bAND\b/i).map((one) => one.trim())) {
    const comparison = parseComparison(part)
    if (comparison !== undefined) comparisons.push(comparison)
    else if (part === 'hazmat') isForHazmat = true
    else if (part === EMERGENCY) isForEmergency = true
    else {
      const rules = parseTimeRules(part)
      if (rules === undefined) return undefined
      times.push(rules)
    }
  }
  const hasHolidays = times.some((rules) => rules.hasHolidays)
  return { times, comparisons, isForHazmat, isForEmergency, hasHolidays }
}

/** Returns true when the times of a condition hold. @param dayNumber see `holdAt` */
export function holdsAt({ times }: Condition, dayNumber: number, minute: number): boolean {
  return times.every((rules) => holdAt(rules, dayNumber, minute))
}

/** Returns true when a condition holds for a vehicle, apart from its times. */
export function holdsFor(condition: Condition, vehicle: Vehicle): boolean {
  const { comparisons, isForHazmat, isForEmergency } = condition
  if (isForHazmat && vehicle.isHazmat !== true) return false
  if (isForEmergency && vehicle.isEmergency !== true) return false
  return comparisons.every((comparison) => compares(comparison, vehicle))
}

/** Returns true when a condition depends on the time. */
export function isTimed({ times }: Condition): boolean {
  return times.length > 0
}

/** Lists the minutes of a day at which a condition may begin or end to hold. */
export function edgesOfCondition({ times }: Condition): number[] {
  return times.flatMap(edgesOf)
}

function parseComparison(text: string): Comparison | undefined {
  const match = COMPARISON.exec(text.toLowerCase())
  if (match === null) return undefined
  const [, name = '', operator, limit, unit = ''] = match
  const size = Object.hasOwn(SIZES, name) ? SIZES[name] : undefined
  const factor = Object.hasOwn(UNITS, unit) ? UNITS[unit] : undefined
  if (size === undefined || factor === undefined) return undefined
  // the pattern allows no other operator
  return { size, operator: operator as Comparison['operator'], limit: Number(limit) * factor }
}

function compares({ size, operator, limit }: Comparison, vehicle: Vehicle): boolean {
  const { heightM, widthM, lengthM, weightT, axleLoadT } = vehicle
  const sizes = { height: heightM, width: widthM, length: lengthM, weight: weightT, axleload: axleLoadT }
  const value = sizes[size]
  if (value === undefined) return false
  switch (operator) {
    case '<':
      return value < limit
    case '<=':
      return value <= limit
    case '>':
      return value > limit
    case '>=':
      return value >= limit
    case '=':
      return value === limit
  }
}
