import { droppedMeanwhile } from '../../records/read-records.js'
import { agedUntil, type StepResult, splitSent, stepResult } from '../../removal/sent.js'
import type { ThinNote } from '../../removal/thin-pass.js'
import type { RemovalResult, RemovalStep, RetentionRows, RetentionRule } from '../../retention.js'
import type { LoaderTable, TableRef } from '../../tables.js'
import type { Attempt, Rows } from '../connection/database.js'
import { writeOnce } from '../tables/put-call.js'
import type { TablesContext } from '../tables/store.js'
import { lockedState, lockSql } from '../tables/table-state.js'
import { isOrderedSql, prepareSmall } from './age-index.js'
import { findRetained, listRetained, listRules, readRule, type SizeOfFile } from './facts.js'
import { type Pruned, pruneInstants } from './prune-instants.js'
import { type AgedRow, readAged, readArrived, readOldest } from './read-rows.js'
import { type LockedTable, removeRows } from './remove-rows.js'
import { createThinning, NOTHING_DONE } from './thin.js'

/** Table of a step, with what is stored of its rule. */
interface RuledStep {
  readonly locked: LockedTable
  /** undefined for a table without a rule */
  readonly rule: RetentionRule | undefined
  /** the table has its index of ages, and its ids without a row are counted */
  readonly isPrepared: boolean
  readonly note: ThinNote
  readonly isRepeat: boolean
}

/** Result of a step, and what is to be done once it is committed. */
interface Done {
  readonly result: StepResult
  keep(): void
}

/**
 * Opens the rules of the tables of a hub. Steps of one process follow each other; those of another one wait for the lock of the
 * table, and writes of rows do, too. A step that may have been committed is known by its mark: it removes nothing twice.
 *
 * @param sizeOfFile size of a stored file, 0 for a missing one
 */
export function createRetentionStore(context: TablesContext, sizeOfFile: SizeOfFile): RetentionRows {
  const { db, catalog } = context
  // puts of this process have marks of their own
  const marking = { db, writer: `${context.writer} retention` }
  const thinning = createThinning(catalog)
  const pruned: Pruned = new Map()
  const inStep = async (
    ref: TableRef,
    nowUs: bigint,
    work: (rows: Rows, step: RuledStep) => Promise<Done | undefined>,
  ): Promise<RemovalResult | undefined> => {
    const startMs = performance.now()
    let attempts = 0
    const done = await writeOnce(
      marking,
      ref,
      async (rows, attempt, mark) => {
        const isRepeat = attempts++ > 0
        const table = attempt.first === undefined ? undefined : await catalog.findById(rows, ref.tableId)
        if (table === undefined) return undefined
        const locked = { table, state: lockedState(ref, attempt), mark, nowUs }
        return await work(rows, { locked, ...(await readStep(rows, table)), isRepeat })
      },
      { first: lockSql(ref), canRepeat: true },
    )
    if (done === undefined) return undefined
    done.keep()
    return { ...done.result, tookMs: performance.now() - startMs }
  }
  return {
    set: (ref, rule) =>
      db.write((rows, attempt) => setRule(rows, context, ref, { rule, attempt }), { first: lockSql(ref) }),
    rules: () => listRules(db.read, catalog),
    list: () => listRetained(db, catalog, sizeOfFile),
    find: ({ tableId }) => findRetained(db, catalog, tableId, sizeOfFile),
    remove: (ref, reason, step) =>
      inStep(ref, step.nowUs, async (rows, { locked, rule, isPrepared, note, isRepeat }) => {
        if (rule === undefined) return undefined
        if (!isPrepared) return NOTHING_DONE
        if (reason === 'thin')
          return rule.thin === null
            ? NOTHING_DONE
            : await thinning.step(rows, locked, { rule: rule.thin, note, isRepeat }, step)
        return rule.ageDays === null ? NOTHING_DONE : await removeAged(rows, locked, rule.ageDays, step)
      }),
    removeOldest: (ref, step) =>
      inStep(ref, step.nowUs, async (rows, { locked, rule, isPrepared }) => {
        if (rule !== undefined && !isPrepared) return NOTHING_DONE
        const read = rule === undefined ? readArrived : readOldest
        return await removeSent(rows, locked, await read(rows, locked.table, step.after, step.limit), step)
      }),
    cleanIndex: (ref) => pruneInstants(context, ref, pruned),
  }
}

async function setRule(
  rows: Rows,
  { catalog }: TablesContext,
  ref: TableRef,
  { rule, attempt }: { rule: RetentionRule | null; attempt: Attempt },
): Promise<void> {
  const { lastRow } = lockedState(ref, attempt)
  const table = await catalog.findById(rows, ref.tableId)
  if (table?.dataName !== ref.dataName) throw droppedMeanwhile(ref.dataName)
  if (rule === null) {
    // the index of ages goes later: its removal waits for all readers
    await rows.run('DELETE FROM loader_retention WHERE table_id = $1', ref.tableId)
    return
  }
  await rows.run(
    `INSERT INTO loader_retention (table_id, rule) VALUES ($1, $2)
     ON CONFLICT (table_id) DO UPDATE SET rule = excluded.rule, thin_from_us = NULL, thin_change = 0`,
    ...[ref.tableId, JSON.stringify(rule)],
  )
  await prepareSmall(rows, table, lastRow)
}

interface StepRow {
  rule: string | null
  isOrdered: boolean | null
  gone: number | null
  from: string | null
  change: number | null
}

async function readStep(
  rows: Rows,
  table: LoaderTable,
): Promise<Pick<RuledStep, 'rule' | 'isPrepared' | 'note'>> {
  const sql = `SELECT r.rule, ${isOrderedSql(table)} AS "isOrdered", s.gone, r.thin_from_us::text AS "from",
      r.thin_change AS change
    FROM loader_state AS s LEFT JOIN loader_retention AS r USING (table_id) WHERE s.table_id = $1`
  const found = await rows.get<StepRow>(sql, table.tableId)
  const { rule = null, isOrdered = null, gone = null, from = null, change = null } = found ?? {}
  return {
    rule: rule === null ? undefined : readRule(rule),
    isPrepared: isOrdered === true && gone !== null,
    note: { from: from === null ? null : BigInt(from), change: change ?? 0 },
  }
}

async function removeAged(
  rows: Rows,
  locked: LockedTable,
  ageDays: number,
  step: RemovalStep,
): Promise<Done> {
  const found = await readAged(rows, locked.table, step, agedUntil(step.nowUs, ageDays))
  return await removeSent(rows, locked, found, step)
}

async function removeSent(
  rows: Rows,
  locked: LockedTable,
  found: readonly AgedRow[],
  step: RemovalStep,
): Promise<Done> {
  const split = splitSent(found, step)
  const result = stepResult(found, split, step)
  const ids = split.mayGo.map(({ rowId }) => rowId)
  await removeRows(rows, locked, ids, { removed: result.removed, thinned: 0, dropped: result.dropped })
  return { result, keep: NOTHING_DONE.keep }
}
