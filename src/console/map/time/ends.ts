import { readEvents } from '../../core/tables.js'

export type Span = [fromMs: number, toMs: number]

/** Times beyond these are open ends: `infinity`, and sentinels such as the year 9999. */
const EARLIEST = '0002-01-01T00:00:00Z'
const LATEST = '9000-01-01T00:00:00Z'
/** Time added on both sides of data that has one instant only, ms. */
const MARGIN_MS = 30 * 60_000

/** Reads from when to when the records of tables are, and remembers it until a table changes. */
export function timeEnds() {
  const known = new Map<string, Promise<Span | undefined>>()
  const endsOf = (table: string) => {
    let ends = known.get(table)
    if (ends === undefined) {
      ends = readEnds(table)
      known.set(table, ends)
      ends.catch(() => known.delete(table))
    }
    return ends
  }
  return {
    forget: (table: string) => void known.delete(table),
    /** Returns the range of all the tables; undefined where no record has a time. @throws CallFault */
    async of(tables: readonly string[]): Promise<Span | undefined> {
      return unionOf(await Promise.all(tables.map(endsOf)))
    },
  }
}

/** Returns the range that holds all of some; one instant is widened. */
export function unionOf(spans: readonly (Span | undefined)[]): Span | undefined {
  const found = spans.filter((span) => span !== undefined)
  if (found.length === 0) return undefined
  const from = Math.min(...found.map(([start]) => start))
  const to = Math.max(...found.map(([, end]) => end))
  return from < to ? [from, to] : [from - MARGIN_MS, to + MARGIN_MS]
}

/** Reads the first start of a table, and its last end, or its last start where that is later. */
async function readEnds(table: string): Promise<Span | undefined> {
  const ask = async (column: string, isFirst: boolean) => {
    // a condition is neither true nor false for null: records without a time are left out
    const conds = isFirst ? { '>': [column, EARLIEST] } : { '<': [column, LATEST] }
    const order = isFirst ? column : `-${column}`
    const [record] = await readEvents({ table, columns: [column], conds, order, limit: 1 })
    return Date.parse(String(record?.properties[column] ?? ''))
  }
  const [start, lastStart, end] = await Promise.all([
    ask('start_datetime', true),
    ask('start_datetime', false),
    ask('end_datetime', false),
  ])
  const ends = [lastStart, end].filter((ms) => !Number.isNaN(ms))
  return Number.isNaN(start) || ends.length === 0 ? undefined : [start, Math.max(...ends)]
}
