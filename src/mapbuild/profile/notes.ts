import { parseCondition } from '../../routing/conditions/condition.js'
import type { Tags } from '../extract/osm-objects.js'
import type { Direction } from './access.js'
import { lookUp, setOf } from './tag-values.js'

/** Facts about a way that the search does not use but a traveller needs, by direction. */
export interface WayNotes {
  forward: string[]
  backward: string[]
}

/** Conditional keys → their clauses that the map obeys, as they are written. */
export type AppliedClauses = ReadonlyMap<string, ReadonlySet<string>>
const NONE_APPLIED: AppliedClauses = new Map()

/** End of a note about a condition that is not obeyed. */
export const NOT_APPLIED = ' (not applied)'
/** End of a conditional key. */
export const SUFFIX = ':conditional'
const MODE_NAMES: Record<string, string> = {
  access: 'everybody',
  vehicle: 'vehicles',
  motor_vehicle: 'motor vehicles',
  motorcar: 'cars',
  bicycle: 'bicycles',
  foot: 'pedestrians',
}
const LIMITS: Record<string, string> = {
  maxheight: 'height limit',
  maxwidth: 'width limit',
  maxweight: 'weight limit',
  maxlength: 'length limit',
  maxaxleload: 'axle load limit',
}
/** Values of a limit's tag that mean no limit. */
const NO_LIMIT = setOf('none default unsigned no_sign no unknown no_indications')

/** A road as wide as this is narrow for a lorry, which is up to 2.55 m wide, metres. */
const NARROW_M = 3
/** Smaller widths are typing errors. */
const MIN_WIDTH_M = 1

/**
 * Notes of a way: conditional tags in words, limits of size and weight, fords and tolls.
 *
 * @param modes access keys of the traveller, so that a condition for lorries is not a note for cars
 * @param limits true where size and weight matter, as for cars
 * @param applied conditional keys → their clauses that the map obeys
 * @see https://wiki.openstreetmap.org/wiki/Conditional_restrictions
 */
export function notesOf(
  tags: Tags,
  modes: readonly string[],
  limits: boolean,
  applied: AppliedClauses = NONE_APPLIED,
): WayNotes {
  const notes: WayNotes = { forward: [], backward: [] }
  for (const [key, value] of tags) {
    if (!key.endsWith(SUFFIX)) continue
    const [base = '', ...rest] = key.slice(0, -SUFFIX.length).split(':')
    const subject = subjectOf(
      base,
      rest.filter((part) => part !== 'forward' && part !== 'backward'),
      modes,
    )
    if (subject === undefined) continue
    for (const clause of splitClauses(value)) {
      add(notes, rest, conditionalNote(subject, clause, applied.get(key)?.has(clause)))
    }
  }
  if (limits) {
    for (const [key, name] of Object.entries(LIMITS)) {
      const value = tags.get(key)
      if (value !== undefined && !NO_LIMIT.has(value)) add(notes, [], `${name} ${withUnit(key, value)}`)
    }
    const widthM = parseMetres(tags.get('width'))
    if (widthM !== undefined && widthM >= MIN_WIDTH_M && widthM <= NARROW_M) {
      add(notes, [], `narrow: ${widthM} m wide`)
    }
    if (tags.get('hazmat') === 'no') add(notes, [], 'closed to hazardous goods')
    if (tags.get('hov') === 'designated') add(notes, [], 'for vehicles with several people in them only')
  }
  const ford = tags.get('ford')
  if (ford !== undefined && ford !== 'no') add(notes, [], 'ford')
  if (tags.get('toll') === 'yes') add(notes, [], 'toll')
  return notes
}

/** Words for one clause `value @ (condition)` of a conditional tag. @param isApplied true when the map obeys it */
export function conditionalNote(subject: string, clause: string, isApplied = false): string {
  const condition = conditionOfClause(clause)
  if (condition === undefined) return `${subject}: ${clause.trim()} under a condition${NOT_APPLIED}`
  const words = `${subject}: ${valueOfClause(clause)} at ${condition}`
  if (!isApplied) return words + NOT_APPLIED
  return parseCondition(condition)?.hasHolidays === true ? `${words} (holidays are not known)` : words
}

/** Value of a clause `value @ (condition)`. */
export function valueOfClause(clause: string): string {
  return (clause.split('@')[0] ?? '').trim()
}

/** Condition of a clause, without the parentheses around it; undefined when it has none. */
export function conditionOfClause(clause: string): string | undefined {
  const at = clause.indexOf('@')
  if (at < 0) return undefined
  const condition = clause.slice(at + 1).trim()
  return condition.startsWith('(') && condition.endsWith(')') ? condition.slice(1, -1).trim() : condition
}

/**
 * Splits `a @ (b; c); d @ e` at the semicolons outside parentheses. What follows one without a value of its own
 * belongs to the condition before it: `a @ b; c`.
 */
export function splitClauses(text: string): string[] {
  const clauses: string[] = []
  let depth = 0
  let from = 0
  for (let i = 0; i <= text.length; i++) {
    const char = text[i]
    if (char === '(') depth++
    else if (char === ')') depth = Math.max(0, depth - 1)
    else if (char === undefined || (char === ';' && depth === 0)) {
      const clause = text.slice(from, i).trim()
      const last = clauses.length - 1
      if (clause !== '' && (clause.includes('@') || last < 0)) clauses.push(clause)
      else if (clause !== '') clauses[last] += `; ${clause}`
      from = i + 1
    }
  }
  return clauses
}

/** Subject of a conditional key, for its note; undefined when the key does not concern the traveller. */
function subjectOf(base: string, rest: readonly string[], modes: readonly string[]): string | undefined {
  if (rest.some((mode) => !modes.includes(mode))) return undefined
  if (base === 'maxspeed') return 'conditional speed limit'
  if (base === 'oneway') return 'conditional one-way'
  if (base === 'toll') return 'conditional toll'
  const limit = lookUp(LIMITS, base)
  if (limit !== undefined) return `conditional ${limit}`
  return modes.includes(base) ? `conditional access for ${lookUp(MODE_NAMES, base) ?? base}` : undefined
}

/** Adds a note to the direction that the parts of its key name, or to both. */
function add(notes: WayNotes, keyParts: readonly string[], note: string): void {
  const only: Direction | undefined = keyParts.includes('forward')
    ? 'forward'
    : keyParts.includes('backward')
      ? 'backward'
      : undefined
  if (only !== 'backward') notes.forward.push(note)
  if (only !== 'forward') notes.backward.push(note)
}

/** Parses a length in metres, such as `2.5` or `2.5 m`; undefined for other text. */
function parseMetres(text: string | undefined): number | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*m?$/.exec(text ?? '')
  return match === null ? undefined : Number(match[1])
}

/** Adds the unit to a bare number: OSM gives metres and tonnes without one. */
function withUnit(key: string, value: string): string {
  if (!/^\d+(\.\d+)?$/.test(value)) return value
  return `${value} ${key === 'maxweight' || key === 'maxaxleload' ? 't' : 'm'}`
}
