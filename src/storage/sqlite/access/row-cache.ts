import type { Db } from '../connection/database.js'

/** Rows that were read, by a key; all are forgotten as soon as anyone has written the database. */
export interface RowCache<R> {
  /**
   * Returns the kept row, or reads it.
   *
   * @param isAsked true where a look at the writes of others in the same turn of the event loop is enough
   */
  get(key: string, read: () => R, isAsked?: boolean): R
}

/** Most rows of a cache, some 500 bytes each; at the limit all are forgotten. */
const MAX_ROWS = 4096

/**
 * Returns a function that makes caches of rows of a database. What another process wrote is seen by the next
 * request, what this connection wrote at once.
 *
 * Asking SQLite takes 5 µs for the writes of others, and 1 µs for those of the connection; reading a key and its
 * secrets takes 15.
 */
export function rowCaches(db: Db): <R>() => RowCache<R> {
  const generation = changeCounter(db)
  return () => createRowCache(generation)
}

/** Returns a number that grows when the database was changed. @param isAsked as of `RowCache` */
type Generation = (isAsked: boolean) => number

function createRowCache<R>(generation: Generation): RowCache<R> {
  const kept = new Map<string, R>()
  let keptOf = -1
  return {
    get(key, read, isAsked = false) {
      const now = generation(isAsked)
      if (now !== keptOf || kept.size >= MAX_ROWS) kept.clear()
      keptOf = now
      if (kept.has(key)) return kept.get(key) as R
      const row = read()
      kept.set(key, row)
      return row
    },
  }
}

function changeCounter(db: Db): Generation {
  // of other connections, and of this one, which the first leaves out
  const ofOthers = db.prepare<[], number>('PRAGMA data_version').pluck()
  const ofThis = db.prepare<[], number>('SELECT total_changes()').pluck()
  let others: number | undefined
  let own: number | undefined
  let generation = 0
  let isKnown = false
  const forget = () => {
    isKnown = false
  }
  return (isAsked) => {
    const nowOwn = ofThis.get()
    let nowOthers = others
    if (!isKnown || !isAsked) {
      nowOthers = ofOthers.get()
      if (!isKnown) setImmediate(forget)
      isKnown = true
    }
    if (nowOwn !== own || nowOthers !== others) generation++
    own = nowOwn
    others = nowOthers
    return generation
  }
}
