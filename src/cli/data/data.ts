import path from 'node:path'
import type { Command } from 'commander'
import { IfExistsOption } from '../../api/dataloader/schema.js'
import type { CliDeps, CliIo } from '../io.js'
import { EXPORT_FORMATS, type ExportFlags, runDataExport } from './export.js'
import { type ImportFlags, runDataImport } from './import.js'

/** The verbs of loader tables. They work beside a running gateway. */
export function addDataCommands(program: Command, io: CliIo, deps: CliDeps): void {
  const data = program.command('data').description('tables of the data loader')
  data
    .command('import')
    .description('puts the features of a file into a table')
    .argument('<file>', 'GeoJSON, newline-delimited GeoJSON, CSV (each also .gz) or GeoPackage')
    .requiredOption('--table <name>', 'the table; with --unique it is made when there is none')
    .option('--unique <columns>', 'columns of the unique key, with commas between, of a table that is made')
    .option(
      '--if-exists <what>',
      `a record whose key is there: ${IfExistsOption.unwrap().options.join(', ')}`,
      'skip',
    )
    .option('--ignore-unknown', 'leaves out properties that the table has no column for')
    .option('--lng <column>', 'of CSV: column of the longitude (default: lng, lon, longitude or x)')
    .option('--lat <column>', 'of CSV: column of the latitude (default: lat, latitude or y)')
    .option(
      '--geometry <column>',
      'of CSV: column of WKT, hex WKB or GeoJSON (default: location, geometry, wkt or the like)',
    )
    .action(async (file: string, _options, command: Command) =>
      runDataImport(path.resolve(deps.cwd, file), command.optsWithGlobals<ImportFlags>(), io, deps),
    )
  data
    .command('export')
    .description('writes the records of a table to a file')
    .requiredOption('--table <name>', 'the table')
    .requiredOption('-o, --output <file>', 'where they go; its end tells the format')
    .option('--format <name>', `one of ${EXPORT_FORMATS.join(', ')} (default: by the end of the file name)`)
    .option('--conds <json>', 'condition that the records satisfy, as event data takes it')
    .option('--bbox <west,south,east,north>', 'box that their locations touch')
    .action(async (_options, command: Command) =>
      runDataExport(command.optsWithGlobals<ExportFlags>(), io, deps),
    )
}
