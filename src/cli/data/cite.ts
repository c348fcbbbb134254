import path from 'node:path'
import type { Command } from 'commander'
import type { CitedState } from '../../storage/datasets/citations.js'
import { ON_CONFLICT, type OnConflict } from '../../storage/datasets/datasets.js'
import { computeSums } from '../../storage/formats/checksum.js'
import { EXPORT_FORMATS, type ExportFormat, exportState } from '../../storage/formats/export.js'
import type { ImportFile } from '../../storage/formats/import-file.js'
import { openImport } from '../../storage/formats/open-import.js'
import { type CliDeps, type CliIo, type GlobalOptions, printJson, usageError } from '../io.js'
import { group } from '../maps/map-facts.js'
import { createProgress } from '../progress.js'
import { type LongWork, withProgress } from '../with-progress.js'
import { type CiteData, withCiteData } from './cite-data.js'

interface ExportFlags extends GlobalOptions {
  output: string
  format?: string
}

interface ImportFlags extends GlobalOptions {
  dataset: string
  onConflict: string
}

/** Records of one transaction of an import. */
const IMPORT_ROWS = 5000
const FORMAT_OF_EXTENSION: Record<string, ExportFormat> = {
  '.gpkg': 'gpkg',
  '.geojson': 'geojson',
  '.json': 'geojson',
  '.csv': 'csv',
}

/** Adds the verbs of citations. They work while a gateway runs. */
export function addCiteCommands(program: Command, io: CliIo, deps: CliDeps): void {
  const cite = program.command('cite').description('citations of datasets')
  cite
    .command('verify')
    .description('reads citations and compares their checksums; exit code 1 if one differs')
    .argument('[label]', 'long form, or short form for the newest (default: all citations)')
    .action(async (label: string | undefined, _options, command: Command) =>
      withCiteData(command, deps, (data, { json }) => verify(io, data, label, json === true)),
    )
  cite
    .command('export')
    .description('writes the cited state as GeoPackage, GeoJSON, CSV, or the text of its checksum')
    .argument('<label>', 'long form, or short form for the newest')
    .requiredOption('-o, --output <file>', 'output file; its extension selects the format')
    .option('--format <name>', `one of ${EXPORT_FORMATS.join(', ')} (default: by the extension)`)
    .action(async (label: string, _options, command: Command) =>
      withCiteData<ExportFlags>(command, deps, (data, flags) => exportFile(io, deps, data, label, flags)),
    )
  cite
    .command('import')
    .description('writes the records of a file to a dataset, which is created if it does not exist')
    .argument('<file>', 'file with the extension .gpkg, .geojson or .csv')
    .requiredOption('--dataset <name>', 'the dataset')
    .option(
      '--on-conflict <what>',
      `action for a record whose key exists: ${ON_CONFLICT.join(', ')}`,
      'error',
    )
    .action(async (file: string, _options, command: Command) =>
      withCiteData<ImportFlags>(command, deps, (data, flags) =>
        importFile(io, data, path.resolve(deps.cwd, file), flags),
      ),
    )
}

async function verify(
  io: CliIo,
  { stores }: CiteData,
  label: string | undefined,
  isJson: boolean,
): Promise<void> {
  const citations =
    label === undefined ? await stores.citations.all() : [await requireCitation(stores, label)]
  const progress = createProgress(io.stderr)
  const facts = []
  for (const [index, citation] of citations.entries()) {
    const { longForm, checksum } = citation.info
    progress.show(index / citations.length, longForm)
    const sums = await computeSums(citation)
    const state = checksum === null ? 'pending' : checksum === sums.checksum ? 'ok' : 'different'
    if (state === 'different') io.setExitCode(1)
    facts.push({ long_form: longForm, state, rows: sums.rowCount, checksum, found: sums.checksum })
  }
  progress.clear()
  if (isJson) return printJson(io, facts)
  for (const { long_form, state, rows, checksum, found } of facts) {
    const recorded = state === 'different' ? `, recorded was ${checksum}` : ''
    io.stdout.write(`${state.padEnd(9)}  ${long_form}  ${group(rows)} rows  sha256 ${found}${recorded}\n`)
  }
  if (facts.length === 0) io.stdout.write('There are no citations.\n')
}

async function exportFile(
  io: CliIo,
  deps: CliDeps,
  { stores, keyring, timeZoneMin, readFile }: CiteData,
  label: string,
  flags: ExportFlags,
): Promise<void> {
  const output = path.resolve(deps.cwd, flags.output)
  const format = formatOf(flags)
  const citation = await requireCitation(stores, label)
  const exported = ({ progress, signal }: LongWork) =>
    exportState(citation, format, output, {
      keyring,
      readFile,
      signal,
      env: { timeZoneMin, nowUs: 0n },
      onRows: (count) =>
        progress.show(count / (citation.rowCount ?? Infinity), `${group(count)} rows`, count),
    })
  const rows = await withProgress(io, deps, exported, 'stopped; no file was written')
  const { longForm, checksum } = citation.info
  if (flags.json === true) printJson(io, { long_form: longForm, format, output, rows, checksum })
  else io.stdout.write(`${group(rows)} rows of ${longForm} are in ${output}\n`)
}

function formatOf({ format, output }: ExportFlags): ExportFormat {
  if (format === undefined) {
    const found = FORMAT_OF_EXTENSION[path.extname(output).toLowerCase()]
    if (found !== undefined) return found
    throw usageError(`--output: found ${output}, expected the extension .gpkg, .geojson or .csv, or --format`)
  }
  const known = EXPORT_FORMATS.find((name) => name === format)
  if (known === undefined)
    throw usageError(`--format: found ${format}, expected one of ${EXPORT_FORMATS.join(', ')}`)
  return known
}

async function importFile(io: CliIo, cite: CiteData, file: string, flags: ImportFlags): Promise<void> {
  const onConflict = ON_CONFLICT.find((name) => name === flags.onConflict)
  if (onConflict === undefined)
    throw usageError(`--on-conflict: found ${flags.onConflict}, expected one of ${ON_CONFLICT.join(', ')}`)
  const opened = await openImport(file)
  try {
    const isNew = await makeDataset(cite, opened, flags.dataset)
    const written = await putAll(io, cite, opened, flags.dataset, onConflict)
    if (flags.json === true) printJson(io, { dataset: flags.dataset, made: isNew, written })
    else
      io.stdout.write(
        `${group(written)} records are written to the dataset ${flags.dataset}${isNew ? ', which was created' : ''}\n`,
      )
  } finally {
    opened.close()
  }
}

/** Creates the dataset if it does not exist. @returns true when it was created */
async function makeDataset(cite: CiteData, opened: ImportFile, name: string): Promise<boolean> {
  const store = cite.datasets()
  const [known] = await store.list({ conds: { '=': ['short_form', name] } })
  if (known !== undefined) return false
  if (opened.columns === undefined)
    throw new Error(
      `the dataset ${name} does not exist and the file does not describe its columns; create it with dataset.create first`,
    )
  const { columns, keyColumns } = opened
  await store.create({ name, columns, keyColumns, usename: 'cite import' })
  return true
}

async function putAll(
  io: CliIo,
  cite: CiteData,
  opened: ImportFile,
  name: string,
  onConflict: OnConflict,
): Promise<number> {
  const store = cite.datasets()
  const columns = await store.columns(name)
  const progress = createProgress(io.stderr)
  let written = 0
  let records: unknown[][] = []
  const flush = async () => {
    written += await store.put(name, records, onConflict)
    records = []
    progress.show(undefined, `${group(written)} records`)
  }
  try {
    for await (const record of opened.records(columns)) {
      records.push(record)
      if (records.length === IMPORT_ROWS) await flush()
    }
    await flush()
    return written
  } finally {
    progress.clear()
  }
}

async function requireCitation({ citations }: CiteData['stores'], label: string): Promise<CitedState> {
  const citation = await citations.find(label)
  if (citation === undefined)
    throw new Error(`no citation is named ${label}: \`fieldgate cite verify\` lists them`)
  return citation
}
