import { IF_EXISTS, type LoaderTable } from '../../storage/tables.js'
import { ENCODINGS } from '../../tabular/encoding.js'
import { SEPARATORS } from '../../tabular/separator.js'
import { fileFault } from '../file-fault.js'
import { type CliDeps, type CliIo, type GlobalOptions, usageError } from '../io.js'
import { type LongWork, withProgress } from '../with-progress.js'
import type { FeatureSource, SourceRow } from './feature-source.js'
import { exampleText, type PlanFlags, planImport, proposalText } from './import-plan.js'
import { reportImport, reportPlan, reportRenamed } from './import-report.js'
import { type StoreFlags, storeFile } from './import-store.js'
import { openFeatures } from './source.js'
import { type TableData, withTableData } from './table-data.js'

export interface ImportFlags extends GlobalOptions, PlanFlags, StoreFlags {
  table: string
}

/**
 * Runs `data import`. The file is read to its end before anything is stored. Batches of some thousand records
 * are stored in a transaction each, so that a gateway that runs beside it can write in between.
 */
export async function runDataImport(
  file: string,
  flags: ImportFlags,
  io: CliIo,
  deps: CliDeps,
): Promise<void> {
  checkChoices(flags)
  const source = await open(file, flags)
  const startedAt = performance.now()
  const work = (parts: LongWork) =>
    withTableData(flags, deps, (tables) => importFile(tables, source, flags, parts))
  const { planned, stored } = await withProgress(io, deps, work).finally(() => source.close())
  const { plan } = planned
  if (stored === undefined) {
    if (plan !== undefined) reportPlan(io, flags, { ...planned, plan }, source)
    return
  }
  if (plan !== undefined && stored.isNew) reportRenamed(io, plan)
  const seconds = (performance.now() - startedAt) / 1000
  reportImport(io, flags, stored, { places: source.places, seconds })
}

async function importFile(tables: TableData, source: FeatureSource, flags: ImportFlags, work: LongWork) {
  const table = await tables.store.find(flags.table)
  if (table !== undefined) requireKey(table, flags)
  const planned = await planImport(source, table, flags, work)
  if (flags.dryRun === true) return { planned, stored: undefined }
  const { uniqueColumns, counts = [] } = planned
  if (uniqueColumns === undefined)
    throw new Error(
      `there is no table ${flags.table}: register it, or name its key with --unique to create it from the file; ${proposalText(planned, source.places)}`,
    )
  const [count] = counts
  if (count !== undefined && count.shared > 0 && flags.ifExists === undefined)
    throw new Error(
      `records of the file share the key (${uniqueColumns.join(', ')}): ${exampleText(count, source.places)}; correct the file, choose another key, or decide with --if-exists skip or override; nothing was stored`,
    )
  return {
    planned,
    stored: await storeFile(tables, source, { ...planned, uniqueColumns, table, flags }, work),
  }
}

/** Checks what can be known before the file is opened. */
function checkChoices({ ifExists, encoding, separator }: ImportFlags): void {
  const choices: [string, string | undefined, readonly string[]][] = [
    ['--if-exists', ifExists, IF_EXISTS],
    ['--encoding', encoding, ENCODINGS],
    ['--separator', separator, Object.keys(SEPARATORS)],
  ]
  for (const [flag, found, expected] of choices)
    if (found !== undefined && !expected.includes(found))
      throw usageError(`${flag}: found ${found}, expected ${expected.join(', ')}`)
}

/** Opens a file; errors of reading it name it. */
async function open(file: string, { encoding, separator }: ImportFlags): Promise<FeatureSource> {
  const choices = {
    ...(encoding === undefined ? {} : { encoding }),
    ...(separator === undefined ? {} : { separator }),
  }
  let source: FeatureSource
  try {
    source = await openFeatures(file, choices)
  } catch (error) {
    throw fileFault(error, file)
  }
  async function* batches(onRead?: (share: number) => void): AsyncGenerator<SourceRow[]> {
    try {
      yield* source.batches(onRead)
    } catch (error) {
      throw fileFault(error, file)
    }
  }
  return { ...source, batches }
}

/** Refuses a key that the table does not have: it would be ignored. */
function requireKey({ uniqueColumns }: LoaderTable, { table: name, unique }: ImportFlags): void {
  if (unique === undefined) return
  const named = unique.split(',').map((column) => column.trim())
  const [found, expected] = [named, uniqueColumns].map((names) => [...names].sort().join(', '))
  if (found !== expected)
    throw usageError(
      `--unique: found ${found}, expected ${expected}, which is the key of the table ${name}; to choose another key, name another table`,
    )
}
