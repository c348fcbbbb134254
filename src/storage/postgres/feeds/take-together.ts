import { createOwnerQueue, type OwnerQueue } from '../../../owner-queue.js'
import { cursorMismatch, feedUnknown, isSameState } from '../../exchange/feed-errors.js'
import type { ReceivedBatch, ReceivedRow } from '../../exchange/feeds.js'
import type { LoaderTable } from '../../tables.js'
import { createPause } from '../../work/pause.js'
import type { Attempt, Rows } from '../connection/database.js'
import { type GroupOutcome, type Settled, settleTogether } from '../connection/write-together.js'
import { currentTable } from '../tables/put-call.js'
import { putSentTogether, type SentRows } from '../tables/sent-rows.js'
import type { TablesContext } from '../tables/store.js'
import { lockedState, lockSql, type TableState } from '../tables/table-state.js'
import { type CursorRow, feedKey, lockCursorsSql, lockedCursors, moveCursorsSql } from './cursors.js'

/** Most rows and batches of one transaction. */
const GROUP_ROWS = 2000
const GROUP_BATCHES = 100

/**
 * Transactions of one table at a time. The second one waits in the database for the lock of the table, so that it goes on
 * at the moment at which the first one ends: without it the table would be idle until this process had read the
 * answer and begun anew, half of the time under load.
 */
const GROUPS_AT_ONCE = 2

/** Rows between two checks of the clock. */
const CHECK_ROWS = 64
/** Longest stretch of work between two turns of the event loop, ms. */
const SLICE_MS = 5

/** Its result: rows that were written; undefined for a feed of another table. */
interface Call extends Settled<number | undefined> {
  readonly batch: ReceivedBatch
}

/** A batch whose rows were read, which a repeat needs once more. */
interface ReadCall extends Call {
  readonly rows: readonly ReceivedRow[]
}

/** Batches that are stored. */
export interface Taking {
  /**
   * Stores a batch with those of the same table that wait at the time. Its rows are read when its turn is near.
   *
   * @param owner key that sends
   * @returns rows that were written; undefined, and nothing is stored, for a feed of another table
   * @throws AppError UNKNOWN_FEED, CURSOR_MISMATCH, BAD_RECORD
   */
  take(table: LoaderTable, batch: ReceivedBatch, owner: string): Promise<number | undefined>
}

/** Batches of one table that wait for their turn. */
interface Waiting {
  readonly queue: OwnerQueue<Call>
  /** a batch that was read and does not fit the group before it */
  held: ReadCall | undefined
}

/** Batches of the next transaction. */
interface Group {
  readonly calls: ReadCall[]
  rows: number
}

/**
 * Creates the storing of one process. Batches of one table take turns here, and those that wait at the same time are
 * committed together, because each commit takes the time of the disk and of the standby. Owners have turns. While
 * groups are stored, the rows of the next one are read; all others wait as they came, because their rows take many
 * times as much memory.
 */
export function createTaking(context: TablesContext): Taking {
  const tables = new Map<number, Waiting>()
  const serve = async (table: LoaderTable, waiting: Waiting) => {
    const storing = new Set<Promise<void>>()
    let group = await fill(waiting)
    while (group.calls.length > 0 || waiting.queue.size() > 0 || storing.size > 0) {
      if (storing.size === GROUPS_AT_ONCE || (group.calls.length === 0 && storing.size > 0))
        await Promise.race(storing)
      // with those that came meanwhile, also since the queue was found empty
      const { calls } = await fill(waiting, group)
      if (calls.length > 0) {
        const stored = settleTogether(calls, (some) => takeGroup(context, table, some)).finally(() =>
          storing.delete(stored),
        )
        storing.add(stored)
      }
      group = await fill(waiting)
    }
    tables.delete(table.tableId)
  }
  return {
    take: (table, batch, owner) =>
      new Promise((resolve, reject) => {
        const known = tables.get(table.tableId)
        const waiting = known ?? { queue: createOwnerQueue<Call>(), held: undefined }
        waiting.queue.push(owner, { batch, resolve, reject })
        if (known !== undefined) return
        tables.set(table.tableId, waiting)
        void Promise.resolve().then(() => serve(table, waiting))
      }),
  }
}

/** Adds batches that wait to a group until it is full, and reads their rows. Never rejects. */
async function fill(waiting: Waiting, group: Group = { calls: [], rows: 0 }): Promise<Group> {
  while (group.calls.length < GROUP_BATCHES && group.rows < GROUP_ROWS) {
    const call = waiting.held ?? (await readNext(waiting))
    waiting.held = undefined
    if (call === undefined) return group
    if (group.calls.length > 0 && group.rows + call.rows.length > GROUP_ROWS) {
      waiting.held = call
      return group
    }
    group.calls.push(call)
    group.rows += call.rows.length
  }
  return group
}

/** Reads the rows of the next batch. One that cannot be read is answered. */
async function readNext({ queue }: Waiting): Promise<ReadCall | undefined> {
  for (let call = queue.take(); call !== undefined; call = queue.take()) {
    try {
      return { ...call, rows: await readAll(call.batch.rows) }
    } catch (error) {
      call.reject(error)
    }
  }
  return undefined
}

async function readAll(rows: Iterable<ReceivedRow>): Promise<ReceivedRow[]> {
  const pause = createPause(undefined, SLICE_MS)
  const all: ReceivedRow[] = []
  for (const row of rows) {
    all.push(row)
    if (all.length % CHECK_ROWS === 0) await pause()
  }
  return all
}

type Outcome = GroupOutcome<number | undefined>

/** Stores batches: rows of one must not be the fault of the others. @returns an outcome for each */
async function takeGroup(
  context: TablesContext,
  table: LoaderTable,
  group: readonly ReadCall[],
): Promise<readonly Outcome[]> {
  await context.origins.prepare(group.flatMap(nodesOf))
  /** of the last attempt, by call */
  let outcomes: Outcome[] = []
  return await context.db.write(
    async (rows, attempt) => {
      const before = attempt.isRepeat ? outcomes : []
      const storing = { table, group, before, cursors: lockedCursors(attempt), state: begun(table, attempt) }
      const stored = await storeGroup(rows, context, storing)
      if (stored.moved.length > 0) attempt.endWith(moveCursorsSql(stored.moved))
      outcomes = stored.outcomes
      return outcomes
    },
    { first: lockSql(table), second: lockCursorsSql(group.map(({ batch }) => batch)) },
  )
}

/** Returns the state of the table; undefined when it is gone, together with its feeds. */
function begun(table: LoaderTable, attempt: Attempt): TableState | undefined {
  return attempt.first === undefined ? undefined : lockedState(table, attempt)
}

interface Storing {
  readonly table: LoaderTable
  readonly group: readonly ReadCall[]
  /** outcomes of an earlier attempt, whose commit may have taken place; empty for none */
  readonly before: readonly Outcome[]
  /** of the batches, locked; by `feedKey` */
  readonly cursors: ReadonlyMap<string, CursorRow>
  /** undefined when the table is gone */
  readonly state: TableState | undefined
}

/**
 * Stores the rows of batches, in the transaction that has locked their table and cursors.
 *
 * @returns an outcome for each, and cursors to move
 */
async function storeGroup(
  rows: Rows,
  { catalog, origins }: TablesContext,
  storing: Storing,
): Promise<{ outcomes: Outcome[]; moved: CursorRow[] }> {
  const { group, before, cursors, state } = storing
  const { tableId } = storing.table
  const table = state === undefined ? undefined : await currentTable(rows, catalog, storing.table, state)
  const moved = new Map<string, CursorRow>()
  const outcomes: (Outcome | undefined)[] = []
  const sets: (SentRows & { readonly call: number })[] = []
  for (const [call, taken] of group.entries()) {
    const key = feedKey(taken.batch)
    const cursor = moved.get(key) ?? cursors.get(key)
    outcomes[call] = judge(taken.batch, cursor, { tableId, before: before[call] })
    if (outcomes[call] !== undefined || cursor === undefined) continue
    moved.set(key, { ...cursor, cursor: taken.batch.last })
    for (const [origin, sent] of partsOf(taken))
      sets.push({ call, origin, sender: taken.batch.sender, rows: sent })
  }
  const counts = group.map(() => 0)
  if (table !== undefined && state !== undefined) {
    const { written } = await putSentTogether(rows, { table, state, origins }, sets)
    for (const [at, { call }] of sets.entries()) counts[call] = (counts[call] ?? 0) + (written[at] ?? 0)
  }
  return {
    outcomes: outcomes.map((outcome, call) => outcome ?? { result: counts[call] }),
    moved: [...moved.values()],
  }
}

/** Decides on a batch that is not stored. @returns undefined for one that is stored now */
function judge(
  batch: ReceivedBatch,
  cursor: CursorRow | undefined,
  { tableId, before }: { tableId: number; before: Outcome | undefined },
): Outcome | undefined {
  if (cursor === undefined || !isSameState(cursor, batch)) return { fault: feedUnknown(batch) }
  if (cursor.tableId !== tableId) return { result: undefined }
  if (cursor.cursor === batch.after) return undefined
  // the commit of an earlier attempt took place, and its answer was lost
  if (before !== undefined && 'result' in before && cursor.cursor === batch.last) return before
  return { fault: cursorMismatch(batch, cursor.cursor) }
}

/** Nodes of a batch, which its rows name. */
function nodesOf(call: ReadCall): string[] {
  return [call.batch.sender, ...[...partsOf(call)].map(([origin]) => origin)]
}

/** Rows by their origin, in the order of their first row. */
function partsOf({ batch, rows }: ReadCall): Iterable<[string, readonly ReceivedRow[]]> {
  if (rows.length === 0) return []
  return batch.origin === undefined ? Map.groupBy(rows, ({ origin }) => origin) : [[batch.origin, rows]]
}
