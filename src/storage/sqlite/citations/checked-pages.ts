import { AppError } from '../../../errors.js'
import type { Stored } from '../../columns/column-type.js'
import type { StateQuery, StateRow } from '../../datasets/states.js'
import { canonicalLine } from '../../formats/canonical.js'
import { createPageHash, PAGE_IDS, type PageDigests, pageOf } from '../../formats/page-digests.js'
import { readRows, type StateReading } from '../versions/read-state.js'
import type { TableState } from '../versions/versioned-table.js'

/** Reading of a cited state whose rows are checked. */
interface CheckedReading {
  readonly reading: StateReading
  readonly state: TableState
  readonly digests: PageDigests
  readonly query: StateQuery
  /** name of the citation, for errors */
  readonly label: string
}

/** Pages read again in one step, about a millisecond. */
const STEP_PAGES = 8

/**
 * Compares the rows of a reading with the digests of their pages before it yields them, so that a byte that
 * changed on the disk is an error and no answer.
 *
 * Whole rows in the order of their ids are compared as they pass. For other queries the pages of their rows
 * are read once more: at most the whole state once for each reading. A row that no longer meets a condition,
 * because of the change, is not noticed by that query.
 *
 * @throws AppError CITATION_DAMAGED
 */
export async function* checkedPages(
  pages: AsyncGenerator<StateRow[]>,
  checked: CheckedReading,
): AsyncGenerator<StateRow[]> {
  yield* isWholeAndOrdered(checked.query) ? passing(pages, checked) : readingAgain(pages, checked)
}

/** True for readings of complete rows, all from some row on, in the order of their ids. */
function isWholeAndOrdered({
  conds,
  order,
  columns,
  within,
  span,
  isFromEnd,
  beforeId,
}: StateQuery): boolean {
  const isAll = conds === undefined && within === undefined && span === undefined && beforeId === undefined
  return isAll && order === undefined && (columns ?? []).length === 0 && isFromEnd !== true
}

/** Most bytes of values that are held back: a page with more of them is read once more instead. */
const HELD_BYTES = 256 * 1024

/** Rows of a page are held back until the first row behind it has come, or they are large. */
async function* passing(
  pages: AsyncGenerator<StateRow[]>,
  checked: CheckedReading,
): AsyncGenerator<StateRow[]> {
  const { pageRows } = checked.reading
  const walk = createWalk(checked)
  let held: StateRow[] = []
  let heldBytes = 0
  let knownPage: number | undefined
  for await (const rows of pages) {
    const ready: StateRow[] = []
    const release = () => {
      for (const one of held) ready.push(one)
      held = []
      heldBytes = 0
    }
    for (const row of rows) {
      const page = pageOf(row[0])
      if (held[0] !== undefined && page !== pageOf(held[0][0])) {
        walk.pass(held)
        release()
      }
      if (page === knownPage) {
        ready.push(row)
        continue
      }
      held.push(row)
      for (const value of row) heldBytes += quickBytes(value)
      if (heldBytes <= HELD_BYTES) continue
      walk.check(page)
      knownPage = page
      release()
    }
    yield* slicesOf(ready, pageRows)
  }
  walk.end(held)
  yield* slicesOf(held, pageRows)
}

/** Size of a value, about: a character counts as one byte. */
function quickBytes(value: Stored): number {
  if (typeof value === 'string') return value.length
  return value instanceof Uint8Array ? value.byteLength : 0
}

/** Follows the pages of a reading beside those that have digests, so that a missing page is noticed, too. */
function createWalk(checked: CheckedReading) {
  const { query, digests } = checked
  const expected = digests.keys()
  const isCut = query.limit !== undefined // the last page may go on behind
  let isInside = (query.offset ?? 0) > 0 || (query.afterId ?? 0) > 0 // the first page may begin before
  const advance = (page: number, compare: () => void) => {
    let next = expected.next()
    while (isInside && next.done !== true && next.value < page) next = expected.next()
    if (isInside) checkPages([page], checked)
    else if (next.value !== page) throw damaged(checked, next.value ?? page)
    else compare()
    isInside = false
  }
  const pass = (rows: readonly StateRow[]) => {
    const page = pageOf(rows[0]?.[0] ?? 0) // no test: every caller has a row
    advance(page, () => comparePage(page, rows, checked))
  }
  return {
    /** Compares the rows of a whole page. */
    pass,
    /** Reads a whole page and compares it. */
    check: (page: number) => advance(page, () => checkPages([page], checked)),
    /** Compares the rows of the last page, empty for none. */
    end(rows: readonly StateRow[]) {
      // no test: `rows` is not empty here, the 0 is for the types alone
      if (rows.length > 0 && isCut) checkPages([pageOf(rows[0]?.[0] ?? 0)], checked)
      else if (rows.length > 0) pass(rows)
      const missing = isCut || isInside ? undefined : expected.next()
      if (missing?.done === false) throw damaged(checked, missing.value)
    },
  }
}

async function* readingAgain(
  pages: AsyncGenerator<StateRow[]>,
  checked: CheckedReading,
): AsyncGenerator<StateRow[]> {
  const known = new Set<number>()
  for await (const rows of pages) {
    const due = [...new Set(rows.map(([rowId]) => pageOf(rowId)))].filter((page) => !known.has(page))
    for (let at = 0; at < due.length; at += STEP_PAGES) {
      if (at > 0) await checked.reading.pause()
      checkPages(due.slice(at, at + STEP_PAGES), checked)
    }
    for (const page of due) known.add(page)
    yield rows
  }
}

/** Reads whole pages row by row and compares them. @throws AppError CITATION_DAMAGED */
function checkPages(pages: readonly number[], checked: CheckedReading): void {
  const { reading, state } = checked
  for (const page of pages) {
    const ids = Array.from({ length: PAGE_IDS }, (_, at) => page * PAGE_IDS + at)
    comparePage(
      page,
      readRows(
        reading,
        state,
        ids.filter((id) => id <= state.lastRowId),
      ),
      checked,
    )
  }
}

function comparePage(page: number, rows: Iterable<StateRow>, checked: CheckedReading): void {
  const hash = createPageHash()
  for (const row of rows) {
    const line = lineOf(row, checked)
    if (line === undefined) throw damaged(checked, page)
    hash.add(line)
  }
  if (checked.digests.get(page) !== hash.digest()) throw damaged(checked, page)
}

/** Canonical line of a row; undefined for a value that its column cannot hold, such as a time out of range. */
function lineOf([, ...values]: StateRow, { state: { columns } }: CheckedReading): string | undefined {
  try {
    return canonicalLine(columns, values)
  } catch {
    return undefined // the caller reports the page
  }
}

function damaged({ label }: CheckedReading, page: number): AppError {
  const first = page * PAGE_IDS
  const text = `rows with the ids ${first} to ${first + PAGE_IDS - 1} do not have the digest of the citation`
  const cause = Object.assign(new Error(`${label}: ${text}`), { code: 'DIGEST_MISMATCH' })
  const shown = label.slice(0, 100)
  return new AppError('CITATION_DAMAGED', { citation_label: shown }, { cause })
}

function* slicesOf(rows: StateRow[], size: number): Generator<StateRow[]> {
  for (let at = 0; at < rows.length; at += size) yield rows.slice(at, at + size)
}
