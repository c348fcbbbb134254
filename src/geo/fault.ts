/** Reason why a geometry was refused. */
export interface GeometryFault {
  /** place of the fault: a JSON path, or an offset into the text or bytes */
  path: string
  /** value at that place, shortened */
  found: string
  expected: string
}

/** Returns true for a fault; a geometry never has a member `expected`. */
export function isFault(value: object): value is GeometryFault {
  return 'expected' in value
}

/** Returns a fault as one line for an error message. */
export function faultText(fault: GeometryFault): string {
  return `${fault.path}: found ${fault.found}, expected ${fault.expected}`
}

/** Describes a value of any size in a few words. */
export function describeValue(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return `an array of ${value.length}`
  if (typeof value === 'string') return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (value === undefined) return 'nothing'
  return `a value of type ${typeof value}`
}
