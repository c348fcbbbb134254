import type { Db } from './database.js'

const limits = new WeakMap<Db, number>()

/** Limits the values that are written and read through a connection, bytes. */
export function limitValues(db: Db, maxBytes: number): void {
  limits.set(db, maxBytes)
}

/** Returns the limit of a connection; infinite without one, as for exports by the command line. */
export function valueLimitOf(db: Db): number {
  return limits.get(db) ?? Number.POSITIVE_INFINITY
}
