import type { Command } from 'commander'
import { type ConfigFault, configJsonSchema } from '../config/config.js'
import { messageOf } from '../errors.js'
import { readTls } from '../http/server/tls-pair.js'
import { type CliDeps, type CliIo, type GlobalOptions, oneLine, printJson, usageError } from './io.js'
import { findSettings, type RunSettings, readSettings } from './settings.js'

/** Adds the verbs of settings. None of them opens the data directory. */
export function addConfigCommands(program: Command, io: CliIo, deps: CliDeps): void {
  const config = program.command('config').description('checks and prints settings')
  config
    .command('check')
    .argument('[file]', 'settings file, as with --config')
    .description('lists all faults of the settings')
    .action((file: string | undefined, _options, command: Command) =>
      checkConfig(withFile(command.optsWithGlobals(), file), io, deps),
    )
  config
    .command('print')
    .description('prints each setting with its value and its origin')
    .action((_options, command: Command) => printConfig(command.optsWithGlobals(), io, deps))
  config
    .command('schema')
    .description('prints the JSON Schema of edge.config.json')
    .action(() => {
      io.stdout.write(`${JSON.stringify(configJsonSchema(), null, 2)}\n`)
    })
}

/** Options with the settings file that an argument names. @throws CommanderError for two files */
function withFile(globals: GlobalOptions, file: string | undefined): GlobalOptions {
  if (file === undefined) return globals
  if (globals.config !== undefined)
    throw usageError('name one settings file: as the argument, or with --config')
  return { ...globals, config: file }
}

/**
 * Runs `config check`. Each fault is a line, so that editors can list them; other verbs join all faults in
 * one line.
 */
function checkConfig(globals: GlobalOptions, io: CliIo, deps: CliDeps): void {
  const settings = findSettings(globals, deps)
  const faults = 'faults' in settings ? settings.faults : faultsOfFiles(settings)
  if (globals.json === true) printJson(io, { ok: faults.length === 0, file: settings.file, faults })
  else if (faults.length === 0)
    io.stdout.write(`ok: ${settings.file ?? 'no settings file; defaults are used'}\n`)
  for (const fault of faults) io.stderr.write(`fieldgate: ${oneLine(`${fault.path}: ${fault.message}`)}\n`)
  if (faults.length > 0) io.setExitCode(1)
}

/** Faults of files that settings refer to, which are read as `serve` would read them. */
function faultsOfFiles({ config }: RunSettings): ConfigFault[] {
  try {
    readTls(config.server)
    return []
  } catch (error) {
    const [path = 'server', ...words] = messageOf(error).split(': ')
    return [{ path, message: words.join(': ') }]
  }
}

/** Runs `config print`: the effective settings, with absolute paths. */
function printConfig(globals: GlobalOptions, io: CliIo, deps: CliDeps): void {
  const settings = readSettings(globals, deps)
  const rows = rowsOf(settings)
  if (globals.json === true) printJson(io, { file: settings.file, dataDir: settings.dataDir, settings: rows })
  else {
    for (const [path, { value, origin }] of Object.entries(rows)) {
      io.stdout.write(`${path} = ${JSON.stringify(value)}  (${origin})\n`)
    }
  }
}

/** Settings by dotted path, in the order of the schema. */
function rowsOf({ config, origins }: RunSettings): Record<string, { value: unknown; origin: string }> {
  return Object.fromEntries(
    Object.entries(origins).map(([path, origin]) => [path, { value: valueAt(config, path), origin }]),
  )
}

/**
 * Value at a dotted path. Names can contain dots themselves (themes of `riskmap.themes`), so every key that
 * the path begins with is tried.
 */
function valueAt(value: unknown, path: string): unknown {
  if (path === '') return value
  if (typeof value !== 'object' || value === null) return undefined
  for (const [key, child] of Object.entries(value)) {
    if (path === key) return child
    if (path.startsWith(`${key}.`)) {
      const found = valueAt(child, path.slice(key.length + 1))
      if (found !== undefined) return found
    }
  }
  return undefined
}
