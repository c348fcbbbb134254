import { createHash } from 'node:crypto'

/** Two records of one file with the same key, numbered from 1 as in the file. */
interface SharedKey {
  readonly first: number
  readonly second: number
  /** key columns with their values */
  readonly key: string
}

/** Keys of the records of a file, as far as memory allows. */
interface FileKeys {
  /** Notes the keys of the next records. Returns the records whose key came before, at most `MAX_EXAMPLES` kept. */
  add(uniqueColumns: readonly string[], records: readonly unknown[]): void
  /** Number of records whose key an earlier record of the file has. */
  count(): number
  examples(): readonly SharedKey[]
}

/** Keys that are remembered, some 60 bytes each; a wrong key column shows in the first records. */
const MAX_KEYS = 500_000
const MAX_EXAMPLES = 3

/** Creates an empty set of keys. */
export function createFileKeys(): FileKeys {
  /** digest of a key → number of its first record */
  const seen = new Map<number, number>()
  const examples: SharedKey[] = []
  let count = 0
  let record = 0
  return {
    add(uniqueColumns, records) {
      for (const feature of records) {
        record++
        const key = keyOf(uniqueColumns, feature)
        if (key === undefined) continue
        const digest = createHash('sha256').update(key).digest().readUIntBE(0, 6)
        const first = seen.get(digest)
        if (first === undefined) {
          if (seen.size < MAX_KEYS) seen.set(digest, record)
          continue
        }
        count++
        if (examples.length < MAX_EXAMPLES) examples.push({ first, second: record, key })
      }
    },
    count: () => count,
    examples: () => examples,
  }
}

/** Text of examples: `record 7 has the key of record 3 (gauge "a")`. */
export function exampleText(examples: readonly SharedKey[]): string {
  return examples
    .map(({ first, second, key }) => `record ${second} has the key of record ${first} (${key.slice(0, 200)})`)
    .join('; ')
}

/** Key of a record as text; undefined when a column of it is missing, which storing it reports. */
function keyOf(uniqueColumns: readonly string[], feature: unknown): string | undefined {
  if (typeof feature !== 'object' || feature === null) return undefined
  const { geometry, properties }: { geometry?: unknown; properties?: unknown } = feature
  if (typeof properties !== 'object' || properties === null) return undefined
  const values = new Map<string, unknown>([...Object.entries(properties), ['location', geometry]])
  const parts = uniqueColumns.map((name) => [name, values.get(name)] as const)
  if (parts.some(([, value]) => value === undefined || value === null)) return undefined
  return parts.map(([name, value]) => `${name} ${JSON.stringify(value)}`).join(', ')
}
