import type { Misfit } from '../mapping/time.js'

/** Reading of one instant in one message, in the form that all presets share. */
export interface Reading {
  readonly device: string
  /** identifies the message when it comes again; null where the form has nothing that does */
  readonly key: string | null
  /** text, or a number since 1970; null for the time of arrival */
  readonly time: unknown
  /** measured values by name, in one level */
  readonly values: ReadonlyMap<string, unknown>
  /** the message as it came, for paths */
  readonly message: unknown
}

/** A message to read. */
export interface PresetInput {
  readonly levels: readonly string[]
  readonly payload: Uint8Array
}

/** Reads messages of one form. Null: a message that is no reading, such as one about a bridge. */
export type Preset = (input: PresetInput) => readonly Reading[] | Misfit | null

/** Returns the object at a name; an empty one where there is none. */
export function objectAt(value: unknown, name: string): Readonly<Record<string, unknown>> {
  const found = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
  return isObject(found) ? found : {}
}

/** True for a JSON object. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns the entry with the largest number at a name, of an array of objects. */
export function best(list: unknown, name: string): Readonly<Record<string, unknown>> {
  if (!Array.isArray(list)) return {}
  const level = (one: Readonly<Record<string, unknown>>) => Number(one[name] ?? Number.NEGATIVE_INFINITY)
  return list.filter(isObject).reduce((top, one) => (level(one) > level(top) ? one : top), {})
}
