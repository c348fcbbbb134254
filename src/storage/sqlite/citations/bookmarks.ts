/** Where pages ended, so that the next page of the same reading begins there instead of counting again. */
export interface Bookmarks {
  /** @returns the row id after which the offset begins */
  find(citationId: number, conds: unknown, offset: number): number | undefined
  keep(citationId: number, conds: unknown, offset: number, rowId: number): void
}

/** What a citation sees never changes, so a bookmark is never wrong; the oldest go. */
export function createBookmarks(capacity = 1000): Bookmarks {
  const marks = new Map<string, number>()
  const keyOf = (citationId: number, conds: unknown, offset: number) =>
    `${citationId} ${offset} ${JSON.stringify(conds ?? {})}`
  return {
    find: (citationId, conds, offset) => marks.get(keyOf(citationId, conds, offset)),
    keep(citationId, conds, offset, rowId) {
      const key = keyOf(citationId, conds, offset)
      if (key.length > 2000) return
      marks.delete(key) // so that it is the youngest again
      marks.set(key, rowId)
      if (marks.size <= capacity) return
      for (const oldest of marks.keys()) {
        marks.delete(oldest)
        return
      }
    },
  }
}
