import type {
  AgePlace,
  PassState,
  RemovalReason,
  RemovalResult,
  RemovalStep,
  RetentionRows,
  RuledTable,
} from '../storage/retention.js'
import type { LoaderTable } from '../storage/tables.js'
import type { SentState } from './sent-rows.js'

export interface PassDeps {
  readonly store: RetentionRows
  sentRows(table: LoaderTable): Promise<SentState>
  readonly clock: { nowUs(): number; isTrusted(): boolean }
}

/** Result of a pass over a table. */
export type PassResult = Omit<PassState, 'fault'>

/** Places at which passes over tables go on, by table and reason: rows that wait are not looked at in each. */
export type Places = Map<string, AgePlace>

/** How long a step may take, and what share of the time steps may. */
export interface Pace {
  /** time for which a step may hold the database, ms */
  readonly stepMs: number
  /** most rows of a step */
  readonly maxRows: number
  /** share of the time that removal may take */
  readonly share: number
}

const FIRST_ROWS = 128
const MIN_ROWS = 16
/** Time of a step that cleans an index, ms. */
const CLEAN_MS = 4
/** Rows that wait after which a pass ends: the next one goes on behind them. */
const MAX_WAITING = 20_000

/** Creates a number of rows for the next step, from the time that the last one took. */
export function createStepSize({ stepMs, maxRows }: Pick<Pace, 'stepMs' | 'maxRows'>): {
  rows(): number
  took(ms: number, rows: number): void
} {
  let rows = FIRST_ROWS
  return {
    rows: () => rows,
    took(ms, looked) {
      if (looked < rows) return // a part of a step tells little
      const wanted = Math.round(rows * Math.min(2, stepMs / Math.max(ms, 0.1)))
      rows = Math.min(maxRows, Math.max(MIN_ROWS, wanted))
    },
  }
}

/**
 * Does what the rule of a table says, in steps; yields the time that each has taken, ms.
 *
 * @param rows most rows of the next step
 */
export async function* passOver(
  deps: PassDeps,
  { table, rule }: RuledTable,
  { places, size }: { places: Places; size: ReturnType<typeof createStepSize> },
): AsyncGenerator<number, PassResult> {
  const { store, clock } = deps
  const sent = await deps.sentRows(table)
  const counts = { removed: 0, waiting: 0 }
  const step = (limit: number, after: AgePlace | null): RemovalStep => ({
    ...{ nowUs: BigInt(clock.nowUs()), sent, dropsUnsent: rule.dropsUnsent, limit, after },
  })
  const note = (result: RemovalResult, limit: number) => {
    counts.removed += result.removed
    counts.waiting += result.waiting
    size.took(result.tookMs, result.removed < limit ? 0 : limit)
    return result.tookMs
  }
  async function* byTime(reason: RemovalReason): AsyncGenerator<number> {
    const key = `${table.tableId} ${reason}`
    let after = places.get(key) ?? null
    do {
      const limit = size.rows()
      const result = await store.remove(table, reason, step(limit, after))
      if (result === undefined) return // the rule was taken away
      yield note(result, limit)
      after = result.next
    } while (after !== null && counts.waiting < MAX_WAITING)
    if (after === null) places.delete(key)
    else places.set(key, after)
  }
  // a clock that may be wrong lets nothing expire
  if (clock.isTrusted()) {
    if (rule.thin !== null) yield* byTime('thin')
    if (rule.ageDays !== null) yield* byTime('age')
  }
  let after: AgePlace | null = null
  const isBounded = rule.maxRows !== null || rule.maxBytes !== null
  for (let excess = isBounded ? await excessOf(store, table) : 0; excess > 0; ) {
    const limit = Math.min(size.rows(), excess)
    const result: RemovalResult | undefined = await store.removeOldest(table, step(limit, after))
    if (result === undefined) break
    yield note(result, limit)
    excess -= result.removed
    after = result.next
    if (after === null || counts.waiting >= MAX_WAITING) break
  }
  while (await store.cleanIndex(table)) yield CLEAN_MS
  return { ...counts, slowest: sent.slowest }
}

/** Returns how many rows a table has beyond its rule. */
async function excessOf(store: RetentionRows, table: LoaderTable): Promise<number> {
  const found = await store.find(table)
  if (found === undefined) return 0
  const { rows, rowBytes, rule } = found
  const byRows = rule.maxRows === null ? 0 : rows - rule.maxRows
  const byBytes = rule.maxBytes === null ? 0 : Math.ceil((rows * rowBytes - rule.maxBytes) / rowBytes)
  return Math.max(byRows, byBytes)
}
