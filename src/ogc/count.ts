import { AppError, isAppError } from '../errors.js'
import type { FeatureSource } from '../storage/features.js'
import { collectionId } from './collection.js'
import type { ItemsQuery } from './items-query.js'

/** Counts features and caches the numbers until the rows change. */
export interface Counter {
  /**
   * Returns undefined when counting takes longer than 3 s, and for later pages that have no cached number.
   */
  count(source: FeatureSource, query: ItemsQuery, signal: AbortSignal): Promise<number | undefined>
}

/** Longest wait for a number that the standard does not require. */
const MAX_COUNT_MS = 3000
const MAX_KEPT = 500

/** Creates a counter with an empty cache. */
export function createCounter(): Counter {
  const kept = new Map<string, number>()
  return {
    async count(source, query, signal) {
      const key = JSON.stringify([collectionId(source), await source.version(), query.key])
      const known = kept.get(key)
      if (known !== undefined) return known
      // a client that pages has the number from the first page
      if (query.afterId !== undefined || query.beforeId !== undefined) return undefined
      const counted = await countWithin(source, query, signal)
      if (counted === undefined) return undefined
      kept.set(key, counted)
      const oldest = kept.keys().next().value
      if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest)
      return counted
    },
  }
}

async function countWithin(
  source: FeatureSource,
  { filter }: ItemsQuery,
  signal: AbortSignal,
): Promise<number | undefined> {
  const limit = AbortSignal.timeout(MAX_COUNT_MS)
  try {
    return await source.count(filter, AbortSignal.any([signal, limit]))
  } catch (error) {
    if (limit.aborted && !signal.aborted && isAppError(error)) return undefined
    throw signal.aborted ? new AppError('CANCELLED') : error
  }
}
