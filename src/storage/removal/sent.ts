import type { RemovalResult, RemovalStep, SentRows } from '../retention.js'

const US_PER_DAY = 86_400_000_000

/** Result of a step within its transaction. */
export type StepResult = Omit<RemovalResult, 'tookMs'>

/** Result of a step that has nothing to do. */
export const NOTHING: StepResult = { removed: 0, dropped: 0, waiting: 0, next: null }

/** Returns the instant before which a time has an age. */
export function agedUntil(nowUs: bigint, days: number): bigint {
  return nowUs - BigInt(Math.round(days * US_PER_DAY))
}

/** A row by the number of its last change. */
export interface Numbered {
  readonly change: number
}

/** True for a row that every feed has sent. */
export function isSent({ change }: Numbered, { until, except }: SentRows): boolean {
  return change <= until && !except.has(change)
}

/** Splits rows that a rule names into those that may go, and counts those that are not sent. */
export function splitSent<Row extends Numbered>(
  rows: readonly Row[],
  { sent, dropsUnsent }: Pick<RemovalStep, 'sent' | 'dropsUnsent'>,
): { mayGo: readonly Row[]; unsent: number } {
  const gone = rows.filter((row) => isSent(row, sent))
  return { mayGo: dropsUnsent ? rows : gone, unsent: rows.length - gone.length }
}

/** Result of a step over rows in the order of their age. @param rows those that were looked at */
export function stepResult(
  rows: readonly { readonly atUs: bigint | null; readonly rowId: number }[],
  { mayGo, unsent }: { mayGo: readonly unknown[]; unsent: number },
  { dropsUnsent, limit }: Pick<RemovalStep, 'dropsUnsent' | 'limit'>,
): StepResult {
  const last = rows.length < limit ? undefined : rows.at(-1)
  return {
    removed: mayGo.length,
    dropped: dropsUnsent ? unsent : 0,
    waiting: dropsUnsent ? 0 : unsent,
    next: last === undefined ? null : { atUs: last.atUs, rowId: last.rowId },
  }
}
