import type { Command } from 'commander'
import { layoutOf } from '../../files/layout.js'
import { type CliDeps, type CliIo, type GlobalOptions, printJson } from '../io.js'
import { createFirstKey, type Prepared } from '../serving/prepare.js'
import { type RunSettings, readSettings } from '../settings.js'
import { addHubDoctor } from './doctor.js'
import { addHubMigrate } from './migrate.js'

/** Adds the verbs of a hub on PostgreSQL and an object store. Its code is loaded by them alone. */
export function addHubCommands(program: Command, io: CliIo, deps: CliDeps): void {
  const hub = program.command('hub').description('a hub on PostgreSQL and an S3-compatible store')
  hub
    .command('init')
    .description(
      'prepares database, bucket and key file, also after an update of the program; the first time it prints an admin key, once',
    )
    .action(async (_options, command: Command) => {
      const globals = command.optsWithGlobals<GlobalOptions>()
      await init(readSettings(globals, deps), globals.json === true, io, deps)
    })
  addHubMigrate(hub, io, deps)
  addHubDoctor(hub, io, deps)
}

/** Prepares a hub. A second call changes nothing and prints no secret. */
async function init(
  { config, dataDir }: RunSettings,
  isJson: boolean,
  io: CliIo,
  deps: CliDeps,
): Promise<void> {
  const { openHubDatabase, openHubObjects } = await import('../../gateway/hub/engines/connect.js')
  const { prepareHub } = await import('../../gateway/hub/engines/init.js')
  deps.makeFilesPrivate() // before the key file is created
  const layout = layoutOf(dataDir, config.encryption.keyFile)
  const objects = openHubObjects(config, layout)
  const db = openHubDatabase(config)
  try {
    const { nodeId, migrations, state } = await prepareHub(db, objects, layout)
    const key = await createFirstKey(state, null)
    await state.close()
    if (isJson) printJson(io, { nodeId, ...key, migrations })
    else io.stdout.write(initText({ nodeId, ...key }, migrations, layout.keyFile))
  } finally {
    objects.close()
    await db.close()
  }
}

function initText(
  { nodeId, apiKey, secret }: Prepared,
  migrations: readonly string[],
  keyFile: string,
): string {
  const lines = [
    `node id    ${nodeId}`,
    `key file   ${keyFile}: copy it to every process of this hub`,
    `schema     ${migrations.length === 0 ? 'was up to date' : `${migrations.length} migrations applied`}`,
    `APIKey     ${apiKey ?? 'none'}`,
    secret === null
      ? 'The hub had keys before; no admin key was created (`fieldgate key create` creates one).'
      : `Secret     ${secret}\nThe secret is not stored and will not be shown again: copy it now.`,
  ]
  return `${lines.join('\n')}\n`
}
