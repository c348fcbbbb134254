import path from 'node:path'
import type { Command } from 'commander'
import { IF_EXISTS } from '../../storage/tables.js'
import { ENCODINGS } from '../../tabular/encoding.js'
import { SEPARATORS } from '../../tabular/separator.js'
import type { CliDeps, CliIo } from '../io.js'
import { EXPORT_FORMATS, type ExportFlags, runDataExport } from './export.js'
import { type ImportFlags, runDataImport } from './import.js'

/** Adds the verbs of loader tables, which work beside a running gateway. */
export function addDataCommands(program: Command, io: CliIo, deps: CliDeps): void {
  const data = program.command('data').description('tables of the data loader')
  data
    .command('import')
    .description('stores the features of a file in a table')
    .argument(
      '<file>',
      'GeoJSON, newline-delimited GeoJSON, CSV, GeoPackage, or a .zip with one of them; lines and CSV also as .gz',
    )
    .requiredOption('--table <name>', 'the table; with --unique it is created when there is none')
    .option('--unique <columns>', 'columns of the unique key of a table to create, separated by commas')
    .option(
      '--if-exists <what>',
      `action for a record whose key exists: ${IF_EXISTS.join(', ')} (default: skip what the table has, and refuse keys that records of the file share)`,
    )
    .option('--dry-run', 'prints columns, types, time, place and key, and stores nothing')
    .option('--time <column>', 'column of the start of records (default: start_datetime, time or similar)')
    .option(
      '--separator <name>',
      `separator of a CSV file: ${Object.keys(SEPARATORS).join(', ')} (default: found)`,
    )
    .option(
      '--encoding <name>',
      `encoding of a CSV file: ${ENCODINGS.join(', ')} (default: utf-8, or as marked)`,
    )
    .option('--ignore-unknown', 'leaves out properties that the table has no column for')
    .option('--lng <column>', 'CSV column of the longitude (default: lng, lon, longitude or x)')
    .option('--lat <column>', 'CSV column of the latitude (default: lat, latitude or y)')
    .option(
      '--geometry <column>',
      'CSV column of WKT, hex WKB or GeoJSON (default: location, geometry, wkt or similar)',
    )
    .action(async (file: string, _options, command: Command) =>
      runDataImport(path.resolve(deps.cwd, file), command.optsWithGlobals<ImportFlags>(), io, deps),
    )
  data
    .command('export')
    .description('writes the records of a table to a file')
    .requiredOption('--table <name>', 'the table')
    .requiredOption('-o, --output <file>', 'output file; its extension gives the format')
    .option('--format <name>', `one of ${EXPORT_FORMATS.join(', ')} (default: by the extension)`)
    .option('--conds <json>', 'condition that the records satisfy, as in eventdata')
    .option('--bbox <west,south,east,north>', 'box that the locations intersect')
    .action(async (_options, command: Command) =>
      runDataExport(command.optsWithGlobals<ExportFlags>(), io, deps),
    )
}
