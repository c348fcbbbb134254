import type { Feature } from './read-file.js'

/** Two records of one file with the same key, numbered from 0. */
export interface SharedKey {
  readonly first: number
  readonly second: number
  /** key columns with their values */
  readonly key: string
}

/** Records of a file whose key an earlier record has. */
export interface SharedKeys {
  readonly count: number
  /** the first ones, at most three */
  readonly examples: readonly SharedKey[]
}

const MAX_EXAMPLES = 3
/** Longest key that is shown. */
const MAX_KEY_CHARS = 100

/** Finds records with the key of an earlier one. A record without a value for the key is left to the gateway. */
export function findSharedKeys(records: readonly Feature[], uniqueColumns: readonly string[]): SharedKeys {
  const firstOf = new Map<string, number>()
  const examples: SharedKey[] = []
  let count = 0
  for (const [second, record] of records.entries()) {
    const key = keyOf(record, uniqueColumns)
    const first = key === undefined ? undefined : firstOf.get(key)
    if (key !== undefined && first === undefined) firstOf.set(key, second)
    if (key === undefined || first === undefined) continue
    count++
    if (examples.length < MAX_EXAMPLES) examples.push({ first, second, key: key.slice(0, MAX_KEY_CHARS) })
  }
  return { count, examples }
}

function keyOf({ properties, geometry }: Feature, uniqueColumns: readonly string[]): string | undefined {
  const parts: string[] = []
  for (const name of uniqueColumns) {
    const value = name === 'location' ? geometry : properties?.[name]
    if (value === undefined || value === null) return undefined
    parts.push(`${name} ${JSON.stringify(value)}`)
  }
  return parts.join(', ')
}
