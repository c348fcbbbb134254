/** Cache of values by key, bounded by bytes; the least recently used value is dropped first. */
interface ByteCache<V> {
  get(key: string): V | undefined
  /** Adds or replaces a value; one larger than the whole cache is not kept. */
  set(key: string, value: V, bytes: number): void
  /** Drops every value whose key begins with a prefix. */
  deletePrefix(prefix: string): void
  /** Drops every value whose key ends with a suffix. */
  deleteSuffix(suffix: string): void
  bytes(): number
  size(): number
}

/** Creates an empty cache. @param maxBytes total of the sizes given to `set` */
export function createByteCache<V>(maxBytes: number): ByteCache<V> {
  const entries = new Map<string, { value: V; bytes: number }>() // in the order of last use
  let total = 0

  const remove = (key: string): void => {
    const entry = entries.get(key)
    if (entry === undefined) return
    entries.delete(key)
    total -= entry.bytes
  }

  return {
    get(key) {
      const entry = entries.get(key)
      if (entry === undefined) return undefined
      entries.delete(key)
      entries.set(key, entry)
      return entry.value
    },
    set(key, value, bytes) {
      remove(key)
      if (bytes > maxBytes) return
      entries.set(key, { value, bytes })
      total += bytes
      for (const oldest of entries.keys()) {
        if (total <= maxBytes) break
        remove(oldest)
      }
    },
    deletePrefix(prefix) {
      for (const key of entries.keys()) if (key.startsWith(prefix)) remove(key)
    },
    deleteSuffix(suffix) {
      for (const key of entries.keys()) if (key.endsWith(suffix)) remove(key)
    },
    bytes: () => total,
    size: () => entries.size,
  }
}
