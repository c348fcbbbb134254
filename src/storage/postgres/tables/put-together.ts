import { utcDayOf } from '../../../datetime.js'
import { isAppError } from '../../../errors.js'
import { createOwnerQueue, type OwnerQueue } from '../../../owner-queue.js'
import type { Counters, LoaderTable, PutOptions } from '../../tables.js'
import type { Rows } from '../connection/database.js'
import type { NewRow } from './plan-rows.js'
import { putAlone } from './put-alone.js'
import {
  CHUNK_ROWS,
  callWriter,
  canJoin,
  countOutcomes,
  currentTable,
  toNewRow,
  type WriteContext,
  writeOnce,
} from './put-call.js'
import type { Batch } from './read-batch.js'
import type { WriteMark } from './row-writer.js'
import { lockedState, lockSql, type TableState } from './table-state.js'

/** Owner of writes that no caller asked for. */
const HUB = ''
/** Most rows of the calls of one transaction. */
const GROUP_ROWS = 4 * CHUNK_ROWS

interface Call {
  readonly table: LoaderTable
  readonly batch: Batch
  readonly options: PutOptions
  resolve(counters: Counters): void
  reject(error: unknown): void
}

/** Calls of one table that wait for their turn. */
interface Waiting {
  readonly queue: OwnerQueue<Call>
  /** a call that was taken and does not fit the group before it */
  held: Call | undefined
}

/** Calls of one process that store rows. */
export interface Puts {
  run(table: LoaderTable, batch: Batch, options: PutOptions): Promise<Counters>
}

/**
 * Creates the calls of one process. Those of one table take turns here, so that they do not take all connections to
 * wait for each other; those that wait at the same time are committed together, because each commit takes the time
 * of the disk and of the standby. Owners have turns.
 */
export function createPuts(context: WriteContext): Puts {
  const tables = new Map<number, Waiting>()
  const serve = async (tableId: number, waiting: Waiting) => {
    for (let group = takeGroup(waiting); group.length > 0; group = takeGroup(waiting))
      await runGroup(context, group)
    tables.delete(tableId)
  }
  return {
    run: (table, batch, options) =>
      new Promise((resolve, reject) => {
        const known = tables.get(table.tableId)
        const waiting = known ?? { queue: createOwnerQueue<Call>(), held: undefined }
        waiting.queue.push(options.owner ?? HUB, { table, batch, options, resolve, reject })
        if (known !== undefined) return
        tables.set(table.tableId, waiting)
        void Promise.resolve().then(() => serve(table.tableId, waiting))
      }),
  }
}

/** Takes calls that can be committed together: a call that cannot is alone. */
function takeGroup(waiting: Waiting): Call[] {
  const group: Call[] = []
  let rows = 0
  for (;;) {
    const call = waiting.held ?? waiting.queue.take()
    waiting.held = undefined
    if (call === undefined) return group
    const isJoining = canJoin(call.table, call.batch, call.options)
    if (group.length > 0 && (!isJoining || rows + call.batch.rows.length > GROUP_ROWS)) {
      waiting.held = call
      return group
    }
    group.push(call)
    rows += call.batch.rows.length
    if (!isJoining) return group
  }
}

/** Stores the rows of calls and answers them. Never rejects. */
async function runGroup(context: WriteContext, group: readonly Call[]): Promise<void> {
  const ready = group.filter(isWanted)
  const [only] = ready
  if (only === undefined) return
  if (ready.length === 1) return await runAlone(context, only)
  try {
    const counters = await writeOnce(
      context,
      only.table,
      (rows, attempt, mark) =>
        writeGroup(rows, context, ready, { state: lockedState(only.table, attempt), mark }),
      { first: lockSql(only.table), canRepeat: true },
    )
    for (const [at, call] of ready.entries()) call.resolve(counters[at] as Counters)
  } catch (error) {
    if (isAppError(error)) for (const call of ready) call.reject(error)
    // what the database does not take of one call must not be the fault of the others
    else for (const call of ready) await runAlone(context, call)
  }
}

async function runAlone(
  context: WriteContext,
  { table, batch, options, resolve, reject }: Call,
): Promise<void> {
  try {
    resolve(await putAlone(context, table, batch, options))
  } catch (error) {
    reject(error)
  }
}

/** False for a call that nobody waits for any longer, which is answered here, and for one with a key that does not fit. */
function isWanted({ table, batch, options, reject }: Call): boolean {
  try {
    options.throwIfCancelled?.()
    for (const [index, row] of batch.rows.entries()) toNewRow(table, row, 0, index)
    return true
  } catch (error) {
    reject(error)
    return false
  }
}

/** Rows of calls that are written by one statement: they have the same origin and the same rule. */
interface Part {
  readonly options: PutOptions
  readonly rows: NewRow[]
  /** position of the call in the group, and number of its rows */
  readonly shares: { readonly call: number; readonly count: number }[]
}

async function writeGroup(
  rows: Rows,
  context: WriteContext,
  group: readonly Call[],
  begun: { state: TableState; mark: WriteMark },
): Promise<Counters[]> {
  const [{ table: known }] = group as [Call]
  const table = await currentTable(rows, context.catalog, known, begun.state)
  const counters: Counters[] = group.map(() => countOutcomes([]))
  let { state } = begun
  let mark: WriteMark | undefined = begun.mark
  for (const part of partsOf(table, group)) {
    const writer = await callWriter(rows, context, { table, state, mark, options: part.options })
    const { outcomes } = await writer.write(part.rows)
    let at = 0
    for (const { call, count } of part.shares) {
      counters[call] = countOutcomes(outcomes.slice(at, at + count), counters[call])
      at += count
    }
    if (writer.state() !== state) mark = undefined // one mark is enough for the transaction
    state = writer.state()
  }
  return counters
}

/** Joins the rows of calls that follow each other, as far as one statement takes them. */
function partsOf(table: LoaderTable, group: readonly Call[]): Part[] {
  const parts: Part[] = []
  for (const [call, { batch, options }] of group.entries()) {
    const last = parts.at(-1)
    const isSame =
      last?.options.ifExists === options.ifExists && (last.options.origin ?? '') === (options.origin ?? '')
    const day = utcDayOf(options.env.nowUs)
    const made = batch.rows.map((row, index) => toNewRow(table, row, day, index))
    if (isSame && last.rows.length + made.length <= CHUNK_ROWS) {
      last.rows.push(...made)
      last.shares.push({ call, count: made.length })
    } else parts.push({ options, rows: made, shares: [{ call, count: made.length }] })
  }
  return parts
}
