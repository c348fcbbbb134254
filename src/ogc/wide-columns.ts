import type { FeatureSource } from '../storage/features.js'
import { collectionId } from './collection.js'

/** Finds int8 columns with values beyond int32, and caches them until the rows change. */
export interface WideColumns {
  /**
   * Returns column → `number` when a double holds every value, else `string`. Columns within int32 are left
   * out.
   */
  find(source: FeatureSource, signal: AbortSignal): Promise<ReadonlyMap<string, string>>
}

const MAX_KEPT = 100
const INT32 = { least: -2_147_483_648, most: 2_147_483_647 }
const EXACT = { least: -9_007_199_254_740_991, most: 9_007_199_254_740_991 }

/**
 * GDAL reads an `integer` of a schema as 32 bits and truncates larger values: such a column needs another
 * type.
 */
export function createWideColumns(): WideColumns {
  const kept = new Map<string, ReadonlyMap<string, string>>()
  return {
    async find(source, signal) {
      const names = source.columns.filter(({ udtName }) => udtName === 'int8').map(({ name }) => name)
      if (names.length === 0) return new Map()
      const key = JSON.stringify([collectionId(source), await source.version()])
      const known = kept.get(key)
      if (known !== undefined) return known
      const wide = new Map<string, string>()
      for (const name of names) {
        if (!(await hasBeyond(source, name, INT32, signal))) continue
        wide.set(name, (await hasBeyond(source, name, EXACT, signal)) ? 'string' : 'number')
      }
      kept.set(key, wide)
      const oldest = kept.keys().next().value
      if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest)
      return wide
    },
  }
}

async function hasBeyond(
  source: FeatureSource,
  name: string,
  { least, most }: typeof INT32,
  signal: AbortSignal,
): Promise<boolean> {
  const conds = { or: [{ '<': [name, least] }, { '>': [name, most] }] }
  for await (const rows of source.pages({ conds, limit: 1 }, signal)) if (rows.length > 0) return true
  return false
}
