import { NOTHING, type StepResult } from '../../removal/sent.js'
import { createKeep } from '../../removal/thin-keep.js'
import { type ThinPass, thinResult } from '../../removal/thin-pass.js'
import type {
  RemovalReason,
  RemovalResult,
  RemovalStep,
  RetentionRule,
  RetentionStore,
} from '../../retention.js'
import type { LoaderTable, TableRef } from '../../tables.js'
import type { WriteLock } from '../../work/write-lock.js'
import { type Db, oneValue, retryBusy, statement, transaction } from '../connection/database.js'
import { freeing } from '../connection/reserve.js'
import { findTableById } from '../tables/catalog.js'
import { tableSql } from '../tables/ddl.js'
import { requireTable } from '../tables/store.js'
import { buildAgeIndex, dropAgeIndex } from './age-index.js'
import { createRunCleaner } from './clean-runs.js'
import { noteRemoved, removeAged, removeOldest } from './expire.js'
import { findRetained, listRetained, listRules, type SizeOfFile } from './facts.js'
import { removeRows } from './remove-rows.js'
import { createInto } from './thin-into.js'
import { beginThinning, stepPass, type ThinAction } from './thin-scan.js'

interface RetentionConnection {
  /** sees committed rows only */
  readonly reader: Db
  /** used by the holder of `lock` alone */
  readonly writer: Db
  readonly lock: WriteLock
}

/** Pages that are given back in one step: 2 ms. */
const SHRINK_PAGES = 64

/** Opens the rules of the tables of `data.db`. @param sizeOfFile size of a stored file, 0 for a missing one */
export function createRetentionStore(
  { reader, writer, lock }: RetentionConnection,
  sizeOfFile: SizeOfFile,
): RetentionStore {
  // also on a full disk, where rows go so that others can come
  const free = <T>(work: () => T): Promise<T> =>
    lock.run(() => freeing(writer, () => retryBusy(() => transaction(writer, work))))
  const timed = (work: (found: LoaderTable) => StepResult | undefined, { tableId }: TableRef) =>
    free((): RemovalResult | undefined => {
      const startMs = performance.now()
      const found = findTableById(writer, tableId)
      const result = found === undefined ? undefined : work(found)
      return result === undefined ? undefined : { ...result, tookMs: performance.now() - startMs }
    })
  const thinning = createThinning()
  const cleaner = createRunCleaner()
  return {
    set: (table, rule) => lock.run(() => retryBusy(() => setWithSpace(writer, table, rule))),
    rules: async () => listRules(reader),
    list: () => listRetained(reader, sizeOfFile),
    find: (table) => findRetained(reader, table, sizeOfFile),
    remove: (table, reason, step) =>
      timed((found) => {
        const rule = ruleOf(writer, found)
        if (rule === undefined) return undefined
        const result = removeBy(writer, found, { rule, thinning }, reason, step)
        const thinned = reason === 'thin' ? result.removed : 0
        noteRemoved(writer, found, { ...result, thinned }, step.nowUs)
        return result
      }, table),
    removeOldest: (table, step) =>
      timed((found) => {
        const result = removeOldest(writer, found, step)
        noteRemoved(writer, found, { ...result, thinned: 0 }, step.nowUs)
        return result
      }, table),
    cleanIndex: (table) =>
      free(() => {
        const found = findTableById(writer, table.tableId)
        return found !== undefined && cleaner.step(writer, found)
      }),
    shrink: (keepPages) => lock.run(() => retryBusy(() => shrink(writer, keepPages))),
    space: async () => ({
      pages: pragma(reader, 'page_count'),
      freePages: pragma(reader, 'freelist_count'),
      pageBytes: pragma(reader, 'page_size'),
    }),
  }
}

/** Sets a rule. The sort of a large index goes to files: in memory it would take some 20 bytes a row. */
function setWithSpace(db: Db, table: TableRef, rule: RetentionRule | null): void {
  db.pragma('temp_store = FILE')
  try {
    transaction(db, () => setRule(db, requireTable(db, table), rule))
  } finally {
    db.pragma('temp_store = MEMORY')
  }
}

function setRule(db: Db, table: LoaderTable, rule: RetentionRule | null): void {
  if (rule === null) {
    statement(db, 'DELETE FROM loader_retention WHERE table_id = ?').run(table.tableId)
    dropAgeIndex(db, table)
    return
  }
  buildAgeIndex(db, table)
  const rows = oneValue<number>(db, `SELECT count(*) FROM ${tableSql(table)}`)
  statement(
    db,
    `INSERT INTO loader_retention (table_id, rule, rows) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET rule = excluded.rule, rows = excluded.rows, thin_from_us = NULL, thin_change = 0`,
  ).run(table.tableId, JSON.stringify(rule), rows)
}

function ruleOf(db: Db, { tableId }: Pick<TableRef, 'tableId'>): RetentionRule | undefined {
  const sql = 'SELECT rule FROM loader_retention WHERE table_id = ?'
  const text = statement<string>(db, sql).pluck().get(tableId)
  return text === undefined ? undefined : (JSON.parse(text) as RetentionRule) // `setRule` wrote it
}

function removeBy(
  db: Db,
  table: LoaderTable,
  { rule, thinning }: { rule: RetentionRule; thinning: Thinning },
  reason: RemovalReason,
  step: RemovalStep,
): StepResult {
  if (reason === 'thin') return thinning.step(db, table, rule, step)
  return rule.ageDays === null ? NOTHING : removeAged(db, table, rule.ageDays, step)
}

interface Thinning {
  step(db: Db, table: LoaderTable, rule: RetentionRule, step: RemovalStep): StepResult
}

/** Creates the thinning of all tables, which knows how far their passes are. */
function createThinning(): Thinning {
  const passes = new Map<number, { rule: string; pass: ThinPass; action: ThinAction }>()
  return {
    step(db, table, { thin: rule }, step) {
      if (rule === null) return NOTHING
      const text = JSON.stringify(rule)
      const known = passes.get(table.tableId)
      const begun =
        known?.rule === text && step.after !== null
          ? known
          : { rule: text, pass: beginThinning(db, table, rule, step), action: actionOf(table, rule) }
      // an error undoes the step, and what the pass remembers of it
      passes.delete(table.tableId)
      const done = stepPass(db, table, begun, step)
      removeRows(db, table, done.ids)
      const result = thinResult(begun.pass, done)
      if (result.next !== null) passes.set(table.tableId, begun)
      return result
    },
  }
}

function actionOf(table: LoaderTable, rule: NonNullable<RetentionRule['thin']>): ThinAction {
  const { to } = rule
  if ('into' in to) return createInto(table, rule, to.into)
  const { take, restart } = createKeep(rule, to.keep)
  return { columns: [], take: (_, rows) => take(rows), restart }
}

/** Gives pages back where the file was made so that it can. */
function shrink(db: Db, keepPages: number): number {
  const freePages = pragma(db, 'freelist_count')
  const wanted = Math.min(SHRINK_PAGES, freePages - keepPages)
  if (wanted <= 0 || pragma(db, 'auto_vacuum') !== INCREMENTAL) return 0
  db.pragma(`incremental_vacuum(${wanted})`)
  return freePages - pragma(db, 'freelist_count')
}

const INCREMENTAL = 2

function pragma(db: Db, name: string): number {
  return Number(db.pragma(name, { simple: true }))
}
