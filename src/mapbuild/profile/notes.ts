import type { Tags } from '../extract/osm-objects.js'
import type { Direction } from './access.js'
import { lookUp } from './look-up.js'

/** What a traveller should know of a way and the search does not use, per direction. */
export interface WayNotes {
  forward: string[]
  backward: string[]
}

const SUFFIX = ':conditional'
const MODE_WORDS: Record<string, string> = {
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
}
/** Values that limit nothing. */
const NO_LIMIT = new Set([
  'none',
  'default',
  'unsigned',
  'no_sign',
  'below_default',
  'no',
  'unknown',
  'no_indications',
])

/**
 * Conditional tags in words, and limits, fords and tolls.
 *
 * @param modes access keys of the traveller, so that a condition for lorries is no note for cars
 * @param limits true where size and weight matter, as for cars
 */
export function notesOf(tags: Tags, modes: readonly string[], limits: boolean): WayNotes {
  const notes: WayNotes = { forward: [], backward: [] }
  for (const [key, value] of tags) {
    if (!key.endsWith(SUFFIX)) continue
    const [base = '', ...rest] = key.slice(0, -SUFFIX.length).split(':')
    const subject = subjectOf(
      base,
      rest.filter((word) => word !== 'forward' && word !== 'backward'),
      modes,
    )
    if (subject === undefined) continue
    for (const clause of splitClauses(value)) add(notes, rest, conditionalNote(subject, clause))
  }
  if (limits) {
    for (const [key, words] of Object.entries(LIMITS)) {
      const value = tags.get(key)
      if (value !== undefined && !NO_LIMIT.has(value)) add(notes, [], `${words} ${withUnit(key, value)}`)
    }
  }
  const ford = tags.get('ford')
  if (ford !== undefined && ford !== 'no') add(notes, [], 'ford')
  if (tags.get('toll') === 'yes') add(notes, [], 'toll')
  return notes
}

/** `value @ (condition)` in words. */
export function conditionalNote(subject: string, clause: string): string {
  const at = clause.indexOf('@')
  if (at < 0) return `${subject}: ${clause.trim()} under a condition (not applied)`
  const value = clause.slice(0, at).trim()
  const condition = clause
    .slice(at + 1)
    .trim()
    .replace(/^\((.*)\)$/, '$1')
  return `${subject}: ${value} at ${condition} (not applied)`
}

/** Splits `a @ (b; c); d @ e` at the semicolons outside parentheses. */
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
      if (clause !== '') clauses.push(clause)
      from = i + 1
    }
  }
  return clauses
}

/** What a conditional key speaks of; undefined when it does not concern the traveller. */
function subjectOf(base: string, rest: readonly string[], modes: readonly string[]): string | undefined {
  if (rest.some((word) => !modes.includes(word))) return undefined
  if (base === 'maxspeed') return 'conditional speed limit'
  if (base === 'oneway') return 'conditional one-way'
  if (base === 'toll') return 'conditional toll'
  const limit = lookUp(LIMITS, base)
  if (limit !== undefined) return `conditional ${limit}`
  return modes.includes(base) ? `conditional access for ${lookUp(MODE_WORDS, base) ?? base}` : undefined
}

function add(notes: WayNotes, words: readonly string[], note: string): void {
  const only: Direction | undefined = words.includes('forward')
    ? 'forward'
    : words.includes('backward')
      ? 'backward'
      : undefined
  if (only !== 'backward') notes.forward.push(note)
  if (only !== 'forward') notes.backward.push(note)
}

/** Bare numbers are metres and tonnes by convention. */
function withUnit(key: string, value: string): string {
  if (!/^\d+(\.\d+)?$/.test(value)) return value
  return `${value} ${key === 'maxweight' ? 't' : 'm'}`
}
