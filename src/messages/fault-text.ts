import type { z } from 'zod'
import { isRawNumber } from '../json/exact-json.js'
import { candidates } from './candidates.js'

type Issue = z.core.$ZodRawIssue

const MAX_SHOWN = 40

/** A value that does not fit a schema. */
export interface SchemaFault {
  readonly path: readonly PropertyKey[]
  /** found and expected value */
  readonly message: string
  /** keys that the schema of the object at `path` does not have; absent for another kind of fault */
  readonly keys?: readonly string[]
}

/** Most faults of one value: a body of many wrong values must not become a large answer. */
const MAX_FAULTS = 100

/**
 * Checks a value against a schema.
 *
 * @param options `isOnce` for a schema that is used once: zod then compiles no code for it
 * @returns the value as the schema transforms it, or the first 100 faults and the number of all
 */
export function checkValue<S extends z.ZodType>(
  schema: S,
  value: unknown,
  { isOnce = false }: { isOnce?: boolean } = {},
): { data: z.output<S> } | { faults: SchemaFault[]; count: number } {
  const parsed = schema.safeParse(value, { reportInput: true, error: faultMessage, jitless: isOnce })
  if (parsed.success) return { data: parsed.data }
  const { issues } = parsed.error
  const faults = issues.slice(0, MAX_FAULTS).map((issue) => ({
    path: issue.path,
    message: withFound(issue.message, issue.input),
    ...(issue.code === 'unrecognized_keys' ? { keys: issue.keys } : {}),
  }))
  return { faults, count: issues.length }
}

/** Makes the message of an issue: `found 300 characters, expected at most 200`. */
function faultMessage(issue: Issue): string {
  switch (issue.code) {
    case 'unrecognized_keys':
      return unknownKeys(issue.keys, knownKeys(issue.schema))
    case 'invalid_union':
      return choicesMessage(issue)
    case 'too_small':
    case 'too_big':
      return `found ${amountOf(issue)}, expected ${boundOf(issue)}`
    default:
      return `found ${describeFound(issue.input)}, expected ${expectedOf(issue)}`
  }
}

/** Adds the found value to a message of a refinement that says only what was expected. */
function withFound(message: string, input: unknown): string {
  return message.startsWith('expected ') ? `found ${describeFound(input)}, ${message}` : message
}

/** Describes a found value in a few words: `nothing`, `an object`, `an array of 2`, `"text"`. */
export function describeFound(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (isRawNumber(value)) return cut(value.rawJSON)
  if (Array.isArray(value)) return `an array of ${value.length}`
  if (typeof value === 'string') return JSON.stringify(cut(value))
  return typeof value === 'object' ? 'an object' : String(value)
}

function expectedOf(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return typeName(issue.expected, issue.schema)
    case 'invalid_value':
      return valuesText(issue.values, issue.input)
    case 'invalid_format':
      return FORMATS[issue.format] ?? formatText(issue)
    case 'not_multiple_of':
      return `a multiple of ${issue.divisor}`
    case 'invalid_key':
      return 'another name'
    default:
      return 'another value'
  }
}

const TYPES: Record<string, string> = {
  string: 'a string',
  boolean: 'true or false',
  array: 'an array',
  tuple: 'an array',
  object: 'an object',
  record: 'an object',
  null: 'null',
  undefined: 'nothing',
  never: 'nothing',
}

const FORMATS: Record<string, string> = {
  uuid: 'a UUID',
  guid: 'a UUID',
  url: 'a URL',
  regex: 'text of another form',
}

function formatText(issue: Issue): string {
  return issue.code === 'invalid_format' ? `text in the format ${issue.format}` : 'another format'
}

function typeName(expected: string, schema: unknown): string {
  if (expected === 'number' || expected === 'int') return numberText(schema)
  return TYPES[expected] ?? `a value of type ${expected}`
}

/** A bound of a schema for numbers. */
interface BoundCheck {
  _zod: { def: { check: string; value?: unknown; inclusive?: boolean } }
}

/** Describes the numbers that a schema takes: `a whole number from 1 to 5`, `a number above 0`. */
function numberText(schema: unknown): string {
  const { isInt = false, _zod: internals } = (schema ?? {}) as {
    isInt?: boolean
    _zod?: { def?: { checks?: BoundCheck[] } }
  }
  const noun = isInt ? 'a whole number' : 'a number'
  const checks = (internals?.def?.checks ?? []).map((check) => check._zod.def)
  const bound = (name: string) => {
    const found = checks.findLast(({ check, value }) => check === name && isFar(value) === false)
    return found === undefined ? undefined : { value: found.value, isInclusive: found.inclusive !== false }
  }
  const [min, max] = [bound('greater_than'), bound('less_than')]
  if (min?.isInclusive === true && max?.isInclusive === true)
    return `${noun} from ${min.value} to ${max.value}`
  const parts = [
    min === undefined ? '' : min.isInclusive ? ` of at least ${min.value}` : ` above ${min.value}`,
    max === undefined ? '' : max.isInclusive ? ` of at most ${max.value}` : ` below ${max.value}`,
  ]
  return `${noun}${parts.filter((part) => part !== '').join(' and')}`
}

/** True for bounds that only keep integers exact. */
function isFar(value: unknown): boolean {
  return Math.abs(Number(value)) >= Number.MAX_SAFE_INTEGER
}

function valuesText(values: readonly unknown[], input: unknown): string {
  const [first, ...more] = values
  if (more.length === 0) return describeFound(first)
  return `one of ${candidates(values.map(describeFound), describeFound(input))}`
}

type SizeIssue = Extract<Issue, { code: 'too_small' | 'too_big' }>

/** Found size: of a number the number itself. */
function amountOf({ origin, input }: SizeIssue): string {
  if (origin === 'string') return counted(String(input).length, 'character')
  if (origin === 'array' && Array.isArray(input)) return counted(input.length, 'item')
  return describeFound(input)
}

function boundOf(issue: SizeIssue): string {
  const isMin = issue.code === 'too_small'
  const bound = Number(isMin ? issue.minimum : issue.maximum)
  if (issue.origin === 'string' || issue.origin === 'array')
    return issue.exact === true ? `exactly ${bound}` : `at ${isMin ? 'least' : 'most'} ${bound}`
  // beyond 2^53 the found number may be a rounded one
  return isFar(bound)
    ? `${numberText(issue.schema)} within ±${Number.MAX_SAFE_INTEGER}`
    : numberText(issue.schema)
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

function unknownKeys(keys: readonly string[], known: readonly string[]): string {
  const [first = ''] = keys
  const shown = keys.slice(0, 3).map(describeFound).join(', ')
  const more = keys.length > 3 ? ` and ${keys.length - 3} more` : ''
  const noun = keys.length === 1 ? 'the unknown key' : 'the unknown keys'
  const expected = known.length === 0 ? 'an empty object' : `only ${candidates(known, first)}`
  return `found ${noun} ${shown}${more}, expected ${expected}`
}

function knownKeys(schema: unknown): string[] {
  const def = (schema as { _zod?: { def?: { shape?: object } } } | undefined)?._zod?.def
  return Object.keys(def?.shape ?? {})
}

/** Joins what the choices of a union expect, or the fault of the choice that fits best. */
function choicesMessage(issue: Extract<Issue, { code: 'invalid_union' }>): string {
  const found = `found ${describeFound(issue.input)}`
  const firsts = (issue.errors ?? []).flatMap(([first]) => (first === undefined ? [] : [first]))
  const deeper = firsts.find(({ path }) => path.length > 0)
  if (deeper !== undefined) return `at ${deeper.path.map(String).join('.')}: ${deeper.message}`
  const choices = new Set(firsts.map(({ message }) => message.replace(/^found .*?, expected /s, '')))
  return choices.size === 0
    ? `${found}, expected another value`
    : `${found}, expected ${[...choices].join(' or ')}`
}

function cut(text: string): string {
  if (text.length <= MAX_SHOWN) return text
  const start = text.slice(0, MAX_SHOWN)
  return `${start.isWellFormed() ? start : start.slice(0, -1)}…`
}
