import type { RetentionRule, ThinRule } from '../storage/retention.js'
import { ROW_COUNT, summaryColumns, summaryDefinition } from '../storage/summary-table.js'
import type { LoaderTable, TableDefinition } from '../storage/tables.js'
import { NAME, NAME_RULE } from './column-def.js'

/** Fault of a rule. */
export interface RuleFault {
  /** JSON path */
  readonly path: string
  readonly message: string
}

/** Rule of a table that has none. */
export const NO_RULE: RetentionRule = {
  ...{ ageDays: null, maxRows: null, maxBytes: null, thin: null },
  dropsUnsent: false,
}

/** True for a rule that removes nothing. */
export function isNoRule({ ageDays, maxRows, maxBytes, thin }: RetentionRule): boolean {
  return ageDays === null && maxRows === null && maxBytes === null && thin === null
}

/** Checks whether a rule fits its table. */
export function ruleFaults(table: LoaderTable, { ageDays, thin }: RetentionRule): RuleFault[] {
  if (thin === null) return []
  const faults = [...seriesFaults(table, thin)]
  if (ageDays !== null && thin.afterDays >= ageDays)
    faults.push({
      path: '$.thin.after_days',
      message: `found ${thin.afterDays}, expected less than age_days (${ageDays}): rows are gone by then`,
    })
  if ('into' in thin.to) faults.push(...summaryFaults(table, thin.by, thin.to.into))
  return faults
}

function seriesFaults({ columnByName, columns }: LoaderTable, { by }: ThinRule): RuleFault[] {
  return by.flatMap((name, at) => {
    const column = columnByName.get(name)
    const path = `$.thin.by[${at}]`
    if (column === undefined) {
      const known = columns.map((one) => one.name).join(', ')
      return [{ path, message: `found ${JSON.stringify(name)}, expected a column of the table: ${known}` }]
    }
    if (by.indexOf(name) !== at) return [{ path, message: `found ${name} twice, expected it once` }]
    if (column.isEncrypted || column.file !== null || NO_SERIES.has(column.udtName))
      return [{ path, message: `found ${name} of type ${column.udtName}, expected a plain value` }]
    if (TIMES.has(name))
      return [
        {
          path,
          message: `found ${name}, expected a column that names a series: time is that of the interval`,
        },
      ]
    return []
  })
}

const NO_SERIES: ReadonlySet<string> = new Set(['geometry', 'raster', 'bytea', 'file'])
const TIMES: ReadonlySet<string> = new Set(['start_datetime', 'end_datetime'])

function summaryFaults(table: LoaderTable, by: readonly string[], into: string): RuleFault[] {
  const faults: RuleFault[] = []
  const path = '$.thin.into'
  if (into === table.dataName) faults.push({ path, message: 'found the table itself, expected another one' })
  const columns = summaryColumns(table, by)
  const taken = new Set([...by, ROW_COUNT])
  for (const name of columns.flatMap(({ count, min, mean, max }) => [count, min, mean, max])) {
    if (!NAME.test(name))
      faults.push({ path, message: `found ${name} as a column of the summary, expected ${NAME_RULE}` })
    if (taken.has(name)) {
      const message = `found the columns ${name} and ${name} in the summary, expected different names`
      faults.push({ path, message })
    }
    taken.add(name)
  }
  return faults
}

/** Compares a table with the summary that a rule needs. Returns what is missing; undefined for a table that fits. */
export function summaryMisfit(
  table: LoaderTable,
  summary: LoaderTable,
  by: readonly string[],
): string | undefined {
  const wanted = summaryDefinition(table, summary.dataName, by)
  const missing = wanted.columns.filter(
    ({ name, udtName }) => summary.columnByName.get(name)?.udtName !== udtName,
  )
  if (missing.length > 0)
    return `found the table ${summary.dataName} without ${listOf(missing)}, expected all columns of a summary`
  const required = summary.columns.find(
    ({ name, isNullable }) => !isNullable && !wanted.columns.some((column) => column.name === name),
  )
  if (required !== undefined)
    return `found the table ${summary.dataName} with ${required.name}, which may not be null, expected a summary alone`
  const keys = [...summary.uniqueColumns].sort().join(', ')
  const expected = [...wanted.uniqueColumns].sort().join(', ')
  if (keys !== expected)
    return `found the table ${summary.dataName} with the key ${keys}, expected ${expected}`
  return undefined
}

function listOf(columns: TableDefinition['columns']): string {
  return columns.map(({ name, udtName }) => `${name} (${udtName})`).join(', ')
}
