import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { type DataLayout, layoutOf } from '../../files/layout.js'
import { openDataDb } from '../../storage/sqlite/connection/data-db.js'
import { refuseLoss } from '../../storage/sqlite/connection/refuse-loss.js'
import { createMaintenance } from '../../storage/sqlite/maintenance/maintenance.js'
import { openState } from '../../storage/sqlite/state.js'
import { type CliDeps, type CliIo, type GlobalOptions, printJson } from '../io.js'
import { readSettings } from '../settings.js'
import { type Prepared, prepareDataDir } from './prepare.js'

interface InitFlags extends GlobalOptions {
  acceptLoss?: boolean
}

/** Adds `init`: does what `serve` does at its first start, for installers that start the gateway later. */
export function addInitCommand(program: Command, io: CliIo, deps: CliDeps): void {
  program
    .command('init')
    .description(
      'creates the data directory, the node id and the first admin key, and prints its secret once',
    )
    .option('--accept-loss', 'creates lost databases as empty ones: what they held is given up')
    .action(async (_options, command: Command) => {
      const globals = command.optsWithGlobals<InitFlags>()
      const { dataDir } = readSettings(globals, deps)
      deps.makeFilesPrivate() // before the first file is created
      const layout = layoutOf(dataDir)
      const prepared = globals.acceptLoss === true ? await replaceLost(layout, io) : await prepare(layout)
      if (globals.json === true) printJson(io, prepared)
      else io.stdout.write(preparedText(prepared, dataDir))
      if (globals.json === true && prepared.secret === null)
        io.stderr.write(`fieldgate: ${existsText(dataDir)}\n`)
    })
}

async function prepare(layout: DataLayout): Promise<Prepared> {
  refuseLoss(layout.stateDb, 'state.db', true)
  refuseLoss(layout.dataDb, 'data.db')
  return await prepareDataDir(layout)
}

/** Creates lost databases as empty ones, and records that the operator decided so. */
async function replaceLost(layout: DataLayout, io: CliIo): Promise<Prepared> {
  const lost = await createMaintenance().databases.lost(layout.root)
  const prepared = await prepareDataDir(layout, { acceptsLoss: true })
  if (lost.length === 0) return prepared
  if (!existsSync(layout.dataDb)) openDataDb(layout.dataDb, { acceptsLoss: true }).close()
  const state = await openState(layout.stateDb)
  try {
    await state.audit.note({ act: 'accept-loss', nodeId: prepared.nodeId, lost: lost.length })
  } finally {
    await state.close()
  }
  for (const line of lost) io.stderr.write(`fieldgate: given up: ${line.split(':')[0]}\n`)
  return prepared
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
