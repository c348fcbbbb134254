/** Why a geometry was refused: the place, what stands there (shortened), and what should. */
export interface GeometryFault {
  path: string
  found: string
  expected: string
}

/** Tells a refusal from a geometry, which never has `expected`. */
export function isFault(value: object): value is GeometryFault {
  return 'expected' in value
}

/** One line for an error message. */
export function faultText(fault: GeometryFault): string {
  return `${fault.path}: found ${fault.found}, expected ${fault.expected}`
}

/** A value in a few words, never longer than a line however large it is. */
export function describeValue(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return `an array of ${value.length}`
  if (typeof value === 'string') return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (value === undefined) return 'nothing'
  return `a value of type ${typeof value}`
}
