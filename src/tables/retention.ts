import { invalidParams } from '../errors.js'
import type { RetainedTable, RetentionRule, RetentionStore } from '../storage/retention.js'
import { summaryDefinition } from '../storage/summary-table.js'
import type { LoaderTable, TableRef, TableStore } from '../storage/tables.js'
import type { WorkerClient } from '../worker/client.js'
import type { Loader } from './loader.js'
import { isNoRule, NO_RULE, ruleFaults, summaryMisfit } from './retention-rule.js'

/** Rules of tables, as methods and command lines change them. */
export interface Retention {
  /**
   * Changes the rule of a table; members that are absent stay. The table of a summary is made when no table has its name.
   *
   * @throws AppError UNKNOWN_TABLE, INVALID_PARAMS for a rule that does not fit, DISK_FULL, BUSY
   */
  change(
    name: string,
    change: Partial<RetentionRule>,
  ): Promise<{ table: LoaderTable; retained: RetainedTable | undefined }>
  list(): Promise<RetainedTable[]>
}

interface RetentionDeps {
  readonly loader: Pick<Loader, 'find' | 'list' | 'register'>
  readonly store: Pick<RetentionStore, 'find' | 'list' | 'rules'>
  /** Sets a rule, which may take seconds. */
  setRule(table: TableRef, rule: RetentionRule | null): Promise<void>
}

/** Creates the rules of tables. */
export function createRetention({ loader, store, setRule }: RetentionDeps): Retention {
  return {
    async change(name, change) {
      const table = await loader.find(name)
      const rule = { ...((await store.find(table))?.rule ?? NO_RULE), ...change }
      const faults = ruleFaults(table, rule)
      if (faults.length > 0) throw invalidParams(faults)
      await requireSummary({ loader, store }, table, rule)
      await setRule(refOf(table), isNoRule(rule) ? null : rule)
      return { table, retained: await store.find(table) }
    },
    list: () => store.list(),
  }
}

/** Sets rules by the job thread: the index of ages of a large table takes seconds. */
export function setRuleByJob(
  tables: Pick<TableStore, 'inTurn'>,
  jobs: Pick<WorkerClient, 'call'>,
): RetentionDeps['setRule'] {
  return async (table, rule) => {
    await tables.inTurn(() => jobs.call('loader.retention', { table, rule }))
  }
}

/** Finds the table into which a rule summarises, or makes it. @throws AppError INVALID_PARAMS for one that does not fit */
async function requireSummary(
  { loader, store }: Pick<RetentionDeps, 'loader' | 'store'>,
  table: LoaderTable,
  { thin }: RetentionRule,
): Promise<void> {
  if (thin === null || !('into' in thin.to)) return
  const { into } = thin.to
  const known = (await loader.list()).find(({ dataName }) => dataName === into)
  if (known === undefined) {
    await loader.register(summaryDefinition(table, into, thin.by))
    return
  }
  const message = summaryMisfit(table, known, thin.by) ?? (await loopFault(store, table, into))
  if (message !== undefined) throw invalidParams([{ path: '$.thin.into', message }])
}

/** Returns the fault of a summary whose own rows come back to the table in the end. */
async function loopFault(
  store: Pick<RetentionStore, 'rules'>,
  { dataName }: LoaderTable,
  into: string,
): Promise<string | undefined> {
  const targets = new Map(
    (await store.rules()).map(({ table, rule: { thin } }) => [
      table.dataName,
      thin !== null && 'into' in thin.to ? thin.to.into : undefined,
    ]),
  )
  const seen = new Set<string>()
  for (let at: string | undefined = into; at !== undefined && !seen.has(at); at = targets.get(at)) {
    if (at === dataName)
      return `found ${into}, whose rows are summarised into ${dataName}, expected no circle`
    seen.add(at)
  }
  return undefined
}

function refOf({ tableId, dataName }: LoaderTable): TableRef {
  return { tableId, dataName }
}
