import type { RemovalReason, RemovalStep, RetentionRows, RetentionRule } from '../../src/storage/retention.js'
import { createRetentionStore } from '../../src/storage/sqlite/retention/store.js'
import type { Column, LoaderTable } from '../../src/storage/tables.js'
import { NOW_US, openTables, type Tables } from './tables.js'

export const NO_RULE: RetentionRule = {
  ...{ ageDays: null, maxRows: null, maxBytes: null, thin: null },
  dropsUnsent: false,
}
export const DAY_US = 86_400_000_000n
/** Columns and key of a table of readings. */
export const READINGS: readonly Partial<Column>[] = [
  { name: 'sensor', udtName: 'text', isNullable: false },
  { name: 'seq', udtName: 'int4', isNullable: false },
  { name: 'value', udtName: 'float8' },
  { name: 'hits', udtName: 'int8' },
]
export const READINGS_KEY: readonly string[] = ['sensor', 'seq']
const SENT_ALL = { until: Number.POSITIVE_INFINITY, except: new Set<number>() }

/** A table of readings, and the rules of its database. */
export function openRetention(file = ':memory:') {
  const tables = openTables(file)
  const store = createRetentionStore(tables.data, async (digest) => tables.files.get(digest)?.length ?? 0)
  const table = tables.register('readings', [...READINGS], [...READINGS_KEY])
  return { tables, table, store }
}

/** Returns a reading `ageS` seconds before now. */
export function reading(seq: number, ageS: number | null, more: Record<string, unknown> = {}) {
  const at = ageS === null ? null : new Date(NOW_US / 1000 - ageS * 1000).toISOString()
  return {
    ...{ type: 'Feature', geometry: { type: 'Point', coordinates: [139 + (seq % 100) / 100, 35] } },
    properties: { sensor: 'a', seq, value: seq, hits: null, start_datetime: at, ...more },
  }
}

/** Removes all that a rule names, step by step. */
export async function removeAll(
  { store }: { readonly store: Pick<RetentionRows, 'remove'> },
  table: LoaderTable,
  reason: RemovalReason,
  given: Partial<RemovalStep> = {},
) {
  const counts = { removed: 0, dropped: 0, waiting: 0 }
  let after: RemovalStep['after'] = null
  do {
    const result = await store.remove(table, reason, { ...stepOf(given), after })
    if (result === undefined) throw new Error('the table has no rule')
    for (const name of ['removed', 'dropped', 'waiting'] as const) counts[name] += result[name]
    after = result.next
  } while (after !== null)
  return counts
}

export function stepOf(given: Partial<RemovalStep> = {}): RemovalStep {
  return { nowUs: BigInt(NOW_US), sent: SENT_ALL, dropsUnsent: false, limit: 7, after: null, ...given }
}

/** Returns the numbers of the readings that are there. */
export async function seqsOf({ read }: Pick<Tables, 'read'>, table: LoaderTable): Promise<unknown[]> {
  return (await read(table)).map(({ properties }) => properties.seq)
}
