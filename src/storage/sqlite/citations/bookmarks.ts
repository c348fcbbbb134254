/**
 * Cache of the ends of pages: the next page of the same query starts there instead of counting the rows
 * before it.
 */
export interface Bookmarks {
  /** Returns the row id after which the offset starts, undefined when it is not known. */
  find(citationId: number, conds: unknown, offset: number): number | undefined
  keep(citationId: number, conds: unknown, end: PageEnd): void
}

/** Last row of a page. */
export interface PageEnd {
  /** matching rows up to and including it */
  readonly offset: number
  readonly rowId: number
}

/** Longest key to keep, in characters: conditions of any length come from callers. */
const MAX_KEY_CHARS = 2000

/**
 * Creates a cache. An entry never becomes wrong, because a cited state does not change; the oldest entries
 * are dropped.
 */
export function createBookmarks(capacity = 1000): Bookmarks {
  const marks = new Map<string, number>()
  const keyOf = (citationId: number, conds: unknown, offset: number) =>
    `${citationId} ${offset} ${JSON.stringify(conds ?? {})}`
  return {
    find: (citationId, conds, offset) => marks.get(keyOf(citationId, conds, offset)),
    keep(citationId, conds, { offset, rowId }) {
      const key = keyOf(citationId, conds, offset)
      if (key.length > MAX_KEY_CHARS) return
      marks.delete(key) // inserted again as the youngest
      marks.set(key, rowId)
      if (marks.size <= capacity) return
      for (const oldest of marks.keys()) {
        marks.delete(oldest)
        return
      }
    },
  }
}
