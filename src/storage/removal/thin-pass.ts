import { MIN_US } from '../../datetime.js'
import type { Stored } from '../columns/column-type.js'
import type { AgePlace, RemovalStep, ThinRule } from '../retention.js'
import { agedUntil, isSent, type StepResult } from './sent.js'

/*
 * Order in which rows are thinned. Rows are looked at once, in the order of their time, up to the last interval that is old as a
 * whole; `thin_from_us` is the first interval that was not looked at as a whole. Rows that come later, are changed or are sent
 * later, and lie before it, are found by their change numbers, and their intervals are looked at again.
 *
 * A pass says what is to be read; an engine reads it and gives it back.
 */

/** A row that is looked at. */
export interface ThinnedRow {
  readonly rowId: number
  readonly atUs: bigint
  readonly originId: number
  /** names the series */
  readonly series: string
  /** stored values of the columns of the series */
  readonly key: readonly Stored[]
  /** stored values of the columns that the action reads, in their order */
  readonly values: readonly Stored[]
}

/** The same with the number of its last change. */
export type ReadRow = ThinnedRow & { readonly change: number }

/** Half-open span of time. */
interface Stretch {
  readonly fromUs: bigint
  readonly untilUs: bigint
}

/** Position of a pass over a table. */
export interface ThinPass {
  readonly rule: ThinRule
  /** stretches that are left; the last one is that of new intervals */
  stretches: Stretch[]
  /** rows up to `scanned` are looked at for late ones; `untilChange` is where that ends */
  scanned: number
  untilChange: number
  /** starts of intervals with late rows */
  readonly late: Set<bigint>
  at: { atUs: bigint; rowId: number } | undefined
}

/** What is noted of a table that is thinned. */
export interface ThinNote {
  /** start of the first interval that was not looked at as a whole; null for none that was */
  readonly from: bigint | null
  /** change up to which late rows were looked for */
  readonly change: number
}

/** Changes that are looked at for late rows in one step: 3 ms. */
const SCAN_CHANGES = 5000
/** Most intervals with late rows of one pass. */
const MAX_LATE = 10_000

/** Begins a pass. @param last number of the last change of the table */
export function beginPass(
  rule: ThinRule,
  { from, change }: ThinNote,
  last: number,
  { nowUs, sent, dropsUnsent }: Pick<RemovalStep, 'nowUs' | 'sent' | 'dropsUnsent'>,
): ThinPass {
  const untilUs = slotOf(agedUntil(nowUs, rule.afterDays), rule)
  const untilChange = Math.max(change, dropsUnsent ? last : Math.min(last, sent.until))
  const fresh = { fromUs: from ?? MIN_US, untilUs: from !== null && from > untilUs ? from : untilUs }
  // the first pass looks at every row
  const scanned = from === null ? untilChange : change
  return { rule, stretches: [fresh], scanned, untilChange, late: new Set(), at: undefined }
}

/** Changes that are to be looked at for rows of before an instant. */
export interface WantedChanges {
  readonly after: number
  readonly until: number
  readonly beforeUs: bigint
}

/** Returns the changes that are looked at next; undefined when all were. */
export function nextChanges({ stretches, scanned, untilChange }: ThinPass): WantedChanges | undefined {
  const [first] = stretches
  if (first === undefined || scanned >= untilChange) return undefined
  return { after: scanned, until: Math.min(scanned + SCAN_CHANGES, untilChange), beforeUs: first.fromUs }
}

/** Takes the times of the late rows among the changes that were wanted. */
export function takeLate(pass: ThinPass, { until }: WantedChanges, times: Iterable<bigint>): void {
  const { rule } = pass
  for (const us of times) pass.late.add(slotOf(us, rule))
  pass.scanned = until
  if (pass.late.size > MAX_LATE) pass.untilChange = until // the next pass goes on
  if (pass.scanned < pass.untilChange) return
  const slots = [...pass.late].sort((a, b) => (a < b ? -1 : 1))
  const length = BigInt(rule.intervalS) * 1_000_000n
  const late = slots.map((fromUs) => ({ fromUs, untilUs: fromUs + length }))
  pass.stretches = [...late, ...pass.stretches]
}

/** Rows that are to be looked at: those behind a place, before an instant, in the order of time and id. */
export interface WantedRows {
  readonly atUs: bigint
  readonly rowId: number
  readonly untilUs: bigint
  readonly limit: number
}

/** Returns the rows that are looked at next; undefined at the end of the pass. @param limit most rows, 0 for none */
export function nextRows({ stretches, at }: ThinPass, limit: number): WantedRows | undefined {
  const [stretch] = stretches
  if (stretch === undefined || limit <= 0) return undefined
  return { ...(at ?? { atUs: stretch.fromUs, rowId: 0 }), untilUs: stretch.untilUs, limit }
}

/** Rows of a step so far. */
export interface ThinStep {
  readonly ids: number[]
  looked: number
  /** of `ids`: rows that were not sent */
  dropped: number
  /** rows that were not looked at, because they are not sent */
  waiting: number
}

/** Creates a step that has looked at nothing yet. */
export function beginStep(): ThinStep {
  return { ids: [], looked: 0, dropped: 0, waiting: 0 }
}

/** Rows that were wanted. */
interface TakenRows {
  readonly found: readonly ReadRow[]
  /** of them, those that `splitSent` lets go */
  readonly mayGo: readonly ReadRow[]
  /** of them, those that go */
  readonly ids: readonly number[]
  readonly step: RemovalStep
}

/**
 * Takes rows that were wanted, after the action has chosen those of them that go.
 *
 * @returns what is to be noted of the table, undefined for nothing; `isEnd`: the next rows are of another stretch of time
 */
export function takeRows(
  pass: ThinPass,
  done: ThinStep,
  { found, mayGo, ids, step }: TakenRows,
): { note: ThinNote | undefined; isEnd: boolean } {
  const { rule } = pass
  const limit = step.limit - done.looked
  const [stretch] = pass.stretches
  done.ids.push(...ids)
  done.looked += found.length
  if (step.dropsUnsent) {
    const unsent = new Set(mayGo.filter((row) => !isSent(row, step.sent)).map(({ rowId }) => rowId))
    done.dropped += ids.filter((id) => unsent.has(id)).length
  }
  done.waiting += found.length - mayGo.length
  const last = found.at(-1)
  pass.at = last !== undefined && found.length === limit ? { atUs: last.atUs, rowId: last.rowId } : undefined
  // the late stretches are done when that of new intervals begins
  const isFresh = pass.stretches.length === 1 && stretch !== undefined
  const from = pass.at === undefined ? stretch?.untilUs : slotOf(pass.at.atUs, rule)
  if (pass.at === undefined) pass.stretches.shift()
  return {
    note: isFresh && from !== undefined ? { from, change: pass.untilChange } : undefined,
    isEnd: pass.at === undefined,
  }
}

/** Returns the result of a step. */
export function thinResult({ at, stretches }: ThinPass, { ids, dropped, waiting }: ThinStep): StepResult {
  // a place that no row has, for a pass that goes on without one
  const next: AgePlace = at ?? { atUs: null, rowId: 0 }
  return { removed: ids.length, dropped, waiting, next: stretches.length === 0 ? null : next }
}

/** Returns the start of the interval of an instant. */
export function slotOf(us: bigint, { intervalS }: ThinRule): bigint {
  const length = BigInt(intervalS) * 1_000_000n
  const rest = us % length
  return rest < 0n ? us - rest - length : us - rest
}

/** Returns a text that names a series: rows of different nodes are of different series. */
export function seriesOf(originId: number, values: readonly Stored[]): string {
  // bytes name no series
  const texts = values.map((value) => (typeof value === 'bigint' ? ['int', String(value)] : value))
  return JSON.stringify([originId, ...texts])
}
