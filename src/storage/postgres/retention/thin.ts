import { NOTHING, type StepResult, splitSent } from '../../removal/sent.js'
import { createKeep } from '../../removal/thin-keep.js'
import {
  beginPass,
  beginStep,
  nextChanges,
  nextRows,
  type ThinNote,
  type ThinPass,
  type ThinStep,
  takeLate,
  takeRows,
  thinResult,
} from '../../removal/thin-pass.js'
import type { RemovalStep, ThinRule } from '../../retention.js'
import type { LoaderTable } from '../../tables.js'
import type { Rows } from '../connection/database.js'
import type { Catalog } from '../tables/catalog.js'
import { readLate, readThinned } from './read-rows.js'
import { type LockedTable, removeRows } from './remove-rows.js'
import type { ThinAction } from './thin-action.js'
import { createInto } from './thin-into.js'

/** A pass over a table, as far as it is. */
interface BegunPass {
  readonly rule: string
  readonly pass: ThinPass
  readonly action: ThinAction
}

/** Thinning of all tables, which knows how far their passes are. */
export interface Thinning {
  /**
   * Does a step in a transaction that holds the lock of the table.
   *
   * @param isRepeat an attempt before has failed: the pass begins again where its table says
   * @returns the result, and what is to be called once the transaction is committed
   */
  step(
    rows: Rows,
    locked: LockedTable,
    { rule, note, isRepeat }: { rule: ThinRule; note: ThinNote; isRepeat: boolean },
    step: RemovalStep,
  ): Promise<{ result: StepResult; keep(): void }>
}

export function createThinning(catalog: Catalog): Thinning {
  const passes = new Map<number, BegunPass>()
  return {
    async step(rows, locked, { rule, note, isRepeat }, step) {
      const { table, state } = locked
      const text = JSON.stringify(rule)
      const known = isRepeat || step.after === null ? undefined : passes.get(table.tableId)
      const begun: BegunPass =
        known?.rule === text
          ? known
          : {
              rule: text,
              pass: beginPass(rule, note, state.lastChange, step),
              action: actionOf(catalog, table, rule),
            }
      // an error undoes the step, and what the pass remembers of it
      passes.delete(table.tableId)
      const done = await stepPass(rows, table, begun, step)
      const { ids, dropped } = done
      await removeRows(rows, locked, ids, { removed: ids.length, thinned: ids.length, dropped })
      const result = thinResult(begun.pass, done)
      const keep = () => {
        if (result.next !== null) passes.set(table.tableId, begun)
      }
      return { result, keep }
    },
  }
}

/** Result of a step that has nothing to do. */
export const NOTHING_DONE = { result: NOTHING, keep: (): void => undefined }

function actionOf(catalog: Catalog, table: LoaderTable, rule: ThinRule): ThinAction {
  const { to } = rule
  if ('into' in to) return createInto(catalog, table, rule, to.into)
  const { take, restart } = createKeep(rule, to.keep)
  return { columns: [], take: async (_, thinned) => take(thinned), restart }
}

async function stepPass(
  rows: Rows,
  table: LoaderTable,
  { pass, action }: BegunPass,
  step: RemovalStep,
): Promise<ThinStep> {
  const done = beginStep()
  const changes = nextChanges(pass)
  if (changes !== undefined) {
    takeLate(pass, changes, await readLate(rows, table, changes))
    return done
  }
  const reading = { rule: pass.rule, columns: action.columns }
  for (
    let wanted = nextRows(pass, step.limit);
    wanted !== undefined;
    wanted = nextRows(pass, step.limit - done.looked)
  ) {
    const found = await readThinned(rows, table, reading, wanted)
    const { mayGo } = splitSent(found, step)
    const ids = mayGo.length === 0 ? [] : await action.take(rows, mayGo, step.nowUs)
    const { note, isEnd } = takeRows(pass, done, { found, mayGo, ids, step })
    if (note !== undefined) await keepThin(rows, table, note)
    if (isEnd) action.restart()
  }
  return done
}

async function keepThin(rows: Rows, { tableId }: LoaderTable, { from, change }: ThinNote): Promise<void> {
  const sql = 'UPDATE loader_retention SET thin_from_us = $2, thin_change = $3 WHERE table_id = $1'
  await rows.run(sql, tableId, from, change)
}
