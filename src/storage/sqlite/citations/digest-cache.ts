import { type PageDigests, readPageDigests } from '../../formats/page-digests.js'
import type { Db } from '../connection/database.js'
import { findPageDigests } from './catalog.js'

/** Cache of page digests, which a cited state keeps for ever. */
export interface DigestCache {
  /** Returns the digests of a citation; undefined until they are computed. */
  find(db: Db, citationId: number): PageDigests | undefined
}

/** Digests to keep, of about 60 bytes of memory each. */
const MAX_DIGESTS = 50_000

/** Creates a cache; the oldest citations are dropped. */
export function createDigestCache(): DigestCache {
  const kept = new Map<number, PageDigests>()
  let size = 0
  return {
    find(db, citationId) {
      const known = kept.get(citationId)
      if (known !== undefined) return known
      const stored = findPageDigests(db, citationId)
      if (stored === null) return undefined
      const digests = readPageDigests(stored)
      kept.set(citationId, digests)
      size += digests.size
      for (const [oldest, { size: freed }] of kept) {
        if (size <= MAX_DIGESTS || oldest === citationId) break
        kept.delete(oldest)
        size -= freed
      }
      return digests
    },
  }
}
