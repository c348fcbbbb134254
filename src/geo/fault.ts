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
