import type { Command } from 'commander'
import { layoutOf } from '../../files/layout.js'
import { type CliDeps, type CliIo, type GlobalOptions, printJson } from '../io.js'
import { readSettings } from '../settings.js'
import { type Prepared, prepareDataDir } from './prepare.js'

/** Adds `init`: does what `serve` does at its first start, for installers that start the gateway later. */
export function addInitCommand(program: Command, io: CliIo, deps: CliDeps): void {
  program
    .command('init')
    .description(
      'creates the data directory, the node id and the first admin key, and prints its secret once',
    )
    .action(async (_options, command: Command) => {
      const globals = command.optsWithGlobals<GlobalOptions>()
      const { dataDir } = readSettings(globals, deps)
      deps.makeFilesPrivate() // before the first file is created
      const prepared = await prepareDataDir(layoutOf(dataDir))
      if (globals.json === true) printJson(io, prepared)
      else io.stdout.write(preparedText(prepared, dataDir))
      if (globals.json === true && prepared.secret === null)
        io.stderr.write(`fieldgate: ${existsText(dataDir)}\n`)
    })
}

function preparedText({ nodeId, apiKey, secret }: Prepared, dataDir: string): string {
  const facts = `data directory  ${dataDir}\nnode id         ${nodeId}\nAPIKey          ${apiKey ?? 'none'}\n`
  return secret === null
    ? `${facts}${existsText(dataDir)}\n`
    : `${facts}Secret          ${secret}\nThe secret is not stored and will not be shown again: copy it now.\n`
}

/** Text for a data directory that existed before. No second admin key is created: nobody would know of it. */
function existsText(dataDir: string): string {
  return `${dataDir} existed before; no admin key was created (\`fieldgate key create\` creates one)`
}
