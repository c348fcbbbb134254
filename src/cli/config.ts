import type { Command } from 'commander'
import { type ConfigFault, configJsonSchema } from '../config.js'
import { messageOf } from '../errors.js'
import { readTls } from '../http/server/tls-pair.js'
import { type CliDeps, type CliIo, type GlobalOptions, oneLine, printJson } from './io.js'
import { findSettings, type RunSettings, readSettings } from './settings.js'

/** The verbs of settings. None of them touches the data directory. */
export function addConfigCommands(program: Command, io: CliIo, deps: CliDeps): void {
  const config = program.command('config').description('settings')
  config
    .command('check')
    .description('tells every fault of the settings, or that there is none')
    .action((_options, command: Command) => checkConfig(command.optsWithGlobals(), io, deps))
  config
    .command('print')
    .description('prints each setting with its value and where that came from')
    .action((_options, command: Command) => printConfig(command.optsWithGlobals(), io, deps))
  config
    .command('schema')
    .description('prints the JSON Schema of edge.config.json')
    .action(() => {
      io.stdout.write(`${JSON.stringify(configJsonSchema(), null, 2)}\n`)
    })
}

/** `config check`: a line a fault, so that an editor can list them; everywhere else faults share one line. */
function checkConfig(globals: GlobalOptions, io: CliIo, deps: CliDeps): void {
  const settings = findSettings(globals, deps)
  const faults = 'faults' in settings ? settings.faults : faultsOfFiles(settings)
  if (globals.json === true) printJson(io, { ok: faults.length === 0, file: settings.file, faults })
  else if (faults.length === 0) io.stdout.write(`ok: ${settings.file ?? 'no settings file, defaults'}\n`)
  for (const fault of faults) io.stderr.write(`fieldgate: ${oneLine(`${fault.path}: ${fault.message}`)}\n`)
  if (faults.length > 0) io.setExitCode(1)
}

/** Files that settings name, as `serve` would read them. */
function faultsOfFiles({ config }: RunSettings): ConfigFault[] {
  try {
    readTls(config.server)
    return []
  } catch (error) {
    const [path = 'server', ...words] = messageOf(error).split(': ')
    return [{ path, message: words.join(': ') }]
  }
}

/** `config print`: the effective settings, paths made absolute as `serve` would use them. */
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

/** Settings by their dotted path, in the order of the schema. */
function rowsOf({ config, origins }: RunSettings): Record<string, { value: unknown; origin: string }> {
  return Object.fromEntries(
    Object.entries(origins).map(([path, origin]) => [path, { value: valueAt(config, path), origin }]),
  )
}

/** A setting's own name may hold a dot (a theme of `riskmap.themes`): the longest key that fits is taken. */
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
