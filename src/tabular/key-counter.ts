import { MAX_COUNTED_KEYS } from './columns.js'
import { createKeySet } from './key-set.js'
import type { FileRecord } from './record.js'

/** Two records of one file with the same key. */
export interface SharedKey {
  /** lines of the file or numbers of the records, as its rows count them */
  readonly first: number
  readonly second: number
  /** key columns with their values */
  readonly key: string
}

/** Findings about a key. */
export interface KeyCount {
  readonly columns: readonly string[]
  /** records whose key an earlier one has */
  readonly shared: number
  /** records without a value for a column of the key, which no table takes */
  readonly missing: number
  /** the first shared ones, at most three */
  readonly examples: readonly SharedKey[]
  /** false when there were too many keys to compare them all */
  readonly isWhole: boolean
}

const MAX_EXAMPLES = 3
/** Longest key that is shown. */
const MAX_KEY_CHARS = 100

/** Counts records of one file that share a key. */
export interface KeyCounter {
  /** @param place line or number of the record */
  add(record: FileRecord, place: number): void
  count(): KeyCount
}

/**
 * @param columns of the key; `location` is the geometry
 * @param maxKeys keys that are remembered, 20 to 40 bytes each
 */
export function createKeyCounter(columns: readonly string[], maxKeys = MAX_COUNTED_KEYS): KeyCounter {
  const seen = createKeySet()
  const examples: SharedKey[] = []
  let [shared, missing] = [0, 0]
  let isWhole = true
  return {
    add(record, place) {
      const key = keyText(record, columns)
      if (key === undefined) {
        missing++
        return
      }
      if (seen.size() >= maxKeys) {
        isWhole = false
        return
      }
      const first = seen.put(key, place)
      if (first === undefined) return
      shared++
      if (examples.length < MAX_EXAMPLES)
        examples.push({ first, second: place, key: key.slice(0, MAX_KEY_CHARS) })
    },
    count: () => ({ columns, shared, missing, examples, isWhole }),
  }
}

/** Key of a record as text: `gauge "a", level 3`; undefined when a value is missing. */
export function keyText(
  { properties, geometry }: FileRecord,
  columns: readonly string[],
): string | undefined {
  const parts: string[] = []
  for (const name of columns) {
    const value = name === 'location' ? geometry : properties[name]
    if (value === undefined || value === null) return undefined
    parts.push(`${name} ${JSON.stringify(name.endsWith('_datetime') ? instant(value) : value)}`)
  }
  return parts.join(', ')
}

/** The same instant is the same key, with whatever offset it is written. */
function instant(value: unknown): unknown {
  if (typeof value !== 'string' || /\.\d{4}/.test(value)) return value
  const hasZone = /(?:Z|[+-]\d{2}(?::?\d{2})?)$/i.test(value.slice(10))
  const ms = hasZone ? Date.parse(value.replace(' ', 'T').replace(/([+-]\d{2})$/, '$1:00')) : Number.NaN
  return Number.isNaN(ms) ? value : new Date(ms).toISOString()
}

/** The key to propose: the first one that no two records share, else the one that the fewest share. */
export function bestKey(counts: readonly KeyCount[]): KeyCount | undefined {
  const cost = ({ shared, missing }: KeyCount) => shared + missing
  return [...counts].sort((a, b) => cost(a) - cost(b))[0]
}
