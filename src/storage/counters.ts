import type { Counters } from './tables.js'

/** Counters of a call without records. */
export const NO_RECORDS: Counters = { upload: 0, duplicate: 0, insert: 0, update: 0 }

/** Returns the sum of two counters. */
export function addCounters(a: Counters, b: Counters): Counters {
  return {
    upload: a.upload + b.upload,
    duplicate: a.duplicate + b.duplicate,
    insert: a.insert + b.insert,
    update: a.update + b.update,
  }
}
