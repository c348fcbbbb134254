import type { Stored } from '../../columns/column-type.js'
import { addDigest, createRowDigest, type DigestSum, noRows, takeDigest } from '../../exchange/row-digest.js'
import type { LoaderTable } from '../../tables.js'
import type { Rows, TextRow } from '../connection/database.js'
import type { SqlType } from './ddl.js'
import { sumNumber } from './digest-sums.js'
import {
  keyReader,
  type NewRow,
  type Numbers,
  type OldRow,
  type OnDuplicate,
  type PlannedRow,
  planRows,
  type RowsPlan,
} from './plan-rows.js'
import { boundsOf, MAX_TIMES } from './row-bounds.js'
import { arrayText, readValues } from './stored-values.js'
import { type TableState, TOO_MANY_TIMES } from './table-state.js'
import { boxText, writeSqlOf } from './write-sql.js'

/** Name of a write of this process, by which it is known when the answer to its commit was lost. */
export interface WriteMark {
  /** id of the process */
  readonly writer: string
  readonly writeId: string
}

/** Parts that a writer of rows depends on. */
export interface WriterOptions {
  /** the table as it is, with all of its columns */
  readonly table: LoaderTable
  /** from `lockTable`, or what another writer of the same transaction has left behind */
  readonly state: TableState
  /** node at which the rows were first put, from `row_origin` */
  readonly originId: number
  /** node that sent them; null for rows of this hub */
  readonly senderId: number | null
  readonly onDuplicate: OnDuplicate
  readonly mark?: WriteMark | undefined
}

/** Writes rows of one table and origin in a transaction. */
export interface RowWriter {
  /**
   * Writes rows. One statement where none of their keys exists, or two: one that finds the stored rows, and one that
   * writes.
   *
   * @returns what became of each row; `refused` is the position of the first one that was refused because its key
   *   exists: the transaction must not be committed then, the rows before may be written
   */
  write(rows: readonly NewRow[]): Promise<Pick<RowsPlan, 'outcomes' | 'refused'>>
  /** Returns the state of the table, for the next writer of the transaction. */
  state(): TableState
}

/** Fewest rows whose keys may be looked up by a statement of their own: for fewer the round trip is what costs. */
const LOOK_FIRST_ROWS = 200

/**
 * Tables in which the last large set of rows had stored ones with its keys. Where no key exists one statement
 * looks and writes; where some do, it has been sent, planned and answered in vain.
 */
const overridden = new WeakSet<LoaderTable>()

/** Creates a writer. The transaction holds the lock of the table. */
export function createRowWriter(rows: Rows, options: WriterOptions): RowWriter {
  const { table, onDuplicate } = options
  const keyOf = keyReader(table)
  let state = options.state
  let isFirst = true
  const isCounted = state.counted !== null && state.counted === state.lastChange
  const send = async (planned: readonly PlannedRow[], to: Numbers, looksUp: boolean) => {
    const counted = isCounted ? to.lastChange : state.counted
    const answer = await sendRows(rows, { ...options, state, isFirst, isCounted }, { planned, to, looksUp })
    const found = answer.slice(0, -1)
    if (found.length > 0) return found
    const timeCount = await keepTimes(rows, table.tableId, state.timeCount, Number(answer.at(-1)?.[1]))
    state = { ...state, ...to, counted, timeCount }
    isFirst = false
    return found
  }
  return {
    async write(given) {
      const keys = given.map((row) => originKey(row, keyOf(row.values)))
      const fresh = planRows(given, keys, { before: state, olds: new Map(), onDuplicate })
      if (fresh.planned.length === 0) return fresh
      const isLarge = fresh.planned.length >= LOOK_FIRST_ROWS
      const looksFirst = isLarge && overridden.has(table)
      const found = looksFirst
        ? await findStored(rows, options, fresh.planned)
        : await send(fresh.planned, fresh.numbers, true)
      if (found.length === 0) {
        if (isLarge) overridden.delete(table)
        if (looksFirst) await send(fresh.planned, fresh.numbers, false)
        return fresh
      }
      if (isLarge) overridden.add(table)
      const olds = readOlds(table, fresh.planned, found)
      const plan = planRows(given, keys, { before: state, olds, onDuplicate })
      if (plan.refused === undefined && plan.planned.length > 0) await send(plan.planned, plan.numbers, false)
      return plan
    },
    state: () => state,
  }
}

/**
 * Writes new rows under the numbers that they have, such as those of another hub. None of their keys is stored.
 *
 * @returns the state of the table, for the next writer of the transaction
 */
export async function writeNumbered(
  rows: Rows,
  options: WriterOptions,
  { planned, to }: { planned: readonly PlannedRow[]; to: Numbers },
): Promise<TableState> {
  const { table, state } = options
  const isCounted = state.counted !== null && state.counted === state.lastChange
  const sending = { ...options, isFirst: false, isCounted }
  const answer = await sendRows(rows, sending, { planned, to, looksUp: false })
  const timeCount = await keepTimes(rows, table.tableId, state.timeCount, Number(answer.at(-1)?.[1]))
  return { ...state, ...to, counted: isCounted ? to.lastChange : state.counted, timeCount }
}

/** Each origin has keys of its own. */
function originKey({ from }: NewRow, key: string | undefined): string | undefined {
  return from === undefined || key === undefined ? key : `${from.originId} ${key}`
}

/**
 * Gives up the instants of a table when they are too many: a table of events has one for each row, and is not read by
 * slots.
 */
async function keepTimes(rows: Rows, tableId: number, before: number, added: number): Promise<number> {
  if (before === TOO_MANY_TIMES || before + added <= MAX_TIMES) return before + (before < 0 ? 0 : added)
  await rows.run('DELETE FROM loader_change WHERE table_id = $1', tableId)
  await rows.run(`UPDATE loader_state SET time_count = ${TOO_MANY_TIMES} WHERE table_id = $1`, tableId)
  return TOO_MANY_TIMES
}

interface SendOptions extends WriterOptions {
  readonly isFirst: boolean
  /** the sums hold all rows that were there before */
  readonly isCounted: boolean
}

/** Sends planned rows. @returns stored rows with their keys, which were looked up: nothing is written then */
async function sendRows(
  rows: Rows,
  { table, state, originId, senderId, onDuplicate, mark, isFirst, isCounted }: SendOptions,
  { planned, to, looksUp }: { planned: readonly PlannedRow[]; to: Numbers; looksUp: boolean },
): Promise<TextRow[]> {
  const sql = writeSqlOf(table)
  const days =
    state.counted === null ? [] : sumDays(table, planned, { originId, counted: state.counted, isCounted })
  const list = (type: SqlType, of: (row: PlannedRow) => Stored | undefined) =>
    arrayText(type, planned.map(of))
  const hasSources = planned.some(({ row }) => row.from !== undefined)
  const bounds = boundsOf(planned, state.timeCount !== TOO_MANY_TIMES)
  const needsValues = looksUp && (state.counted !== null || onDuplicate === 'news')
  const isMarked = isFirst && mark !== undefined
  return await rows.lists(
    needsValues ? sql.withValues : sql.text,
    [
      ...[table.tableId, originId, senderId, looksUp, isFirst ? 1 : 0, to.lastRow, to.lastChange],
      isCounted ? to.lastChange : null,
      ...(isMarked ? [mark.writer, mark.writeId] : [null, null]),
      arrayText(
        'integer',
        days.map(({ day }) => day),
      ),
      arrayText(
        'bigint',
        days.map(({ sum }) => sum.rows),
      ),
      arrayText(
        'bigint',
        days.map(({ sum }) => sumNumber(sum)),
      ),
      ...(bounds.box ?? [null, null, null, null]),
      ...[bounds.startsUs, bounds.endsUs, arrayText('bigint', [...bounds.times])],
      arrayText(
        'integer',
        days.map((day) => day.originId),
      ),
      list('bigint', ({ rowId }) => rowId),
      list('bigint', storedChange),
      list('boolean', ({ old }) => (old === undefined ? 1 : 0)),
      list('integer', ({ row }) => row.day),
      list('bigint', ({ row }) => row.version),
      list('text', ({ row }) => boxText(row.box)),
      hasSources ? list('integer', ({ row }) => row.from?.originId) : null,
      hasSources ? list('integer', ({ row }) => row.from?.senderId) : null,
      ...sql.types.map((type, slot) => list(type, ({ row }) => row.values[slot])),
    ],
    'kept',
  )
}

/** Finds the stored rows with the keys of planned ones. */
function findStored(
  rows: Rows,
  { table, originId }: Pick<WriterOptions, 'table' | 'originId'>,
  planned: readonly PlannedRow[],
): Promise<TextRow[]> {
  const sql = writeSqlOf(table)
  const list = (type: SqlType, of: (row: PlannedRow) => Stored | undefined) =>
    arrayText(type, planned.map(of))
  return rows.lists(
    sql.find,
    [
      originId,
      list('bigint', ({ rowId }) => rowId),
      list('integer', ({ row }) => row.from?.originId),
      ...sql.keySlots.map((slot) => list(sql.types[slot] as SqlType, ({ row }) => row.values[slot])),
    ],
    'kept',
  )
}

/** A new row whose change number is its id stores none: most are so, and the index of changes stays small. */
function storedChange({ rowId, change, old }: PlannedRow): Stored {
  return old === undefined && change === rowId ? null : change
}

interface OriginDay {
  readonly originId: number
  readonly day: number
  readonly sum: DigestSum
}

/** Sums the digests of rows that come, less those of rows that go, by origin and day. */
function sumDays(
  table: LoaderTable,
  planned: readonly PlannedRow[],
  { originId, counted, isCounted }: { originId: number; counted: number; isCounted: boolean },
): OriginDay[] {
  const digest = createRowDigest(table.columns)
  const days = new Map<string, OriginDay>()
  const sumOf = ({ from }: NewRow, day: number): DigestSum => {
    const origin = from?.originId ?? originId
    const name = `${origin} ${day}`
    const known = days.get(name)
    if (known !== undefined) return known.sum
    const sum = noRows()
    days.set(name, { originId: origin, day, sum })
    return sum
  }
  for (const { row, old } of planned) {
    const isIn = old?.values !== undefined && (isCounted || old.change <= counted)
    if (isIn) takeDigest(sumOf(row, old.day), digest(old.values))
    if (isCounted) addDigest(sumOf(row, row.day), digest(row.values))
  }
  return [...days.values()]
}

/** Reads the stored rows of an answer. @returns by position of the first new row with their key */
function readOlds(
  table: LoaderTable,
  planned: readonly PlannedRow[],
  found: readonly TextRow[],
): ReadonlyMap<number, OldRow> {
  const { types } = writeSqlOf(table)
  const indexOf = new Map(planned.map(({ rowId, index }) => [rowId, index]))
  return new Map(
    found.map((row) => {
      const [givenId, rowId, change, day, version] = row.slice(0, HEAD).map(Number) as [
        number,
        number,
        number,
        number,
        number,
      ]
      const values = row.length > HEAD ? readValues(types, row, HEAD) : undefined
      return [indexOf.get(givenId) as number, { rowId, change, day, version, values }]
    }),
  )
}

/** Values of an answer before those of the columns. */
const HEAD = 5
