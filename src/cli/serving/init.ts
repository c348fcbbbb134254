import type { Command } from 'commander'
import { layoutOf } from '../../files/layout.js'
import { type CliDeps, type CliIo, type GlobalOptions, printJson } from '../io.js'
import { readSettings } from '../settings.js'
import { type Prepared, prepareDataDir } from './prepare.js'

/** `init`: what `serve` does at its first start, for installers that start the gateway later or by other means. */
export function addInitCommand(program: Command, io: CliIo, deps: CliDeps): void {
  program
    .command('init')
    .description('makes the data directory, the node id and a first admin key, whose secret is printed once')
    .action(async (_options, command: Command) => {
      const globals = command.optsWithGlobals<GlobalOptions>()
      const { dataDir } = readSettings(globals, deps)
      deps.makeFilesPrivate() // before the first file is made
      const prepared = await prepareDataDir(layoutOf(dataDir))
      if (globals.json === true) printJson(io, prepared)
      else io.stdout.write(textOf(prepared, dataDir))
      if (globals.json === true && prepared.secret === null)
        io.stderr.write(`fieldgate: ${alreadyMade(dataDir)}\n`)
    })
}

function textOf({ nodeId, apiKey, secret }: Prepared, dataDir: string): string {
  const facts = `data directory  ${dataDir}\nnode id         ${nodeId}\nAPIKey          ${apiKey ?? 'none'}\n`
  return secret === null
    ? `${facts}${alreadyMade(dataDir)}\n`
    : `${facts}Secret          ${secret}\nThe secret is not stored and not shown again: keep it now.\n`
}

/** A second admin key by accident would be one that nobody knows of. */
function alreadyMade(dataDir: string): string {
  return `${dataDir} was made before; no further admin key was made (\`fieldgate key create\` makes one)`
}
