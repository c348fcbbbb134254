/**
 * Cache of values by key, bounded by bytes. The least recently used value is dropped first; while all are in use it is
 * that of the owner with the most bytes, so that nobody drops what others use.
 */
interface ByteCache<V> {
  get(key: string): V | undefined
  /** Adds or replaces a value; one larger than the whole cache is not kept. @param owner whose share it takes */
  set(key: string, value: V, bytes: number, owner?: string): void
  /** Drops every value whose key begins with a prefix. */
  deletePrefix(prefix: string): void
  /** Drops every value whose key ends with a suffix. */
  deleteSuffix(suffix: string): void
  bytes(): number
  size(): number
}

/** A value, and when it was used last. */
interface Kept<V> {
  readonly value: V
  readonly bytes: number
  readonly owner: string
  readonly usedMs: number
}

/** Time after its last use for which a value counts as in use, ms. */
const IN_USE_MS = 60_000

/**
 * Creates an empty cache.
 *
 * @param maxBytes total of the sizes given to `set`
 * @param nowMs clock
 */
export function createByteCache<V>(maxBytes: number, nowMs = () => performance.now()): ByteCache<V> {
  const entries = new Map<string, Kept<V>>() // in the order of last use
  const bytesOf = new Map<string, number>() // owner → bytes
  let total = 0

  const count = (owner: string, bytes: number): void => {
    total += bytes
    const share = (bytesOf.get(owner) ?? 0) + bytes
    if (share === 0) bytesOf.delete(owner)
    else bytesOf.set(owner, share)
  }
  const remove = (key: string): void => {
    const entry = entries.get(key)
    if (entry === undefined) return
    entries.delete(key)
    count(entry.owner, -entry.bytes)
  }
  /** Drops the least recently used value, or that of the largest owner while all are in use. */
  const dropNext = (unusedBeforeMs: number): void => {
    const [largest] = [...bytesOf].reduce((most, share) => (share[1] > most[1] ? share : most))
    for (const [key, { owner, usedMs }] of entries) {
      if (usedMs >= unusedBeforeMs && owner !== largest) continue
      remove(key)
      return
    }
  }

  return {
    get(key) {
      const entry = entries.get(key)
      if (entry === undefined) return undefined
      entries.delete(key)
      entries.set(key, { ...entry, usedMs: nowMs() })
      return entry.value
    },
    set(key, value, bytes, owner = '') {
      remove(key)
      if (bytes > maxBytes) return
      const usedMs = nowMs()
      entries.set(key, { value, bytes, owner, usedMs })
      count(owner, bytes)
      while (total > maxBytes) dropNext(usedMs - IN_USE_MS)
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
