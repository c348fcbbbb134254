import path from 'node:path'
import type { Command } from 'commander'
import { layoutOf } from '../../files/layout.js'
import { type CliDeps, type CliIo, type GlobalOptions, printJson } from '../io.js'
import { readSettings } from '../settings.js'
import { withProgress } from '../with-progress.js'

interface MigrateFlags extends GlobalOptions {
  from: string
  fromKeyFile?: string
  leaveBehind?: boolean
  verify?: boolean
}

/** Adds `hub migrate`: a data directory becomes the hub of the settings. */
export function addHubMigrate(hub: Command, io: CliIo, deps: CliDeps): void {
  hub
    .command('migrate')
    .description(
      'moves a data directory to the empty database and bucket of the settings, and compares both; it may be cut off and run again. The directory is only read',
    )
    .requiredOption('--from <directory>', 'data directory of a stopped gateway')
    .option('--from-key-file <file>', 'its key file (default: secret.key in it)')
    .option('--leave-behind', 'moves the rest where a hub has no place for something')
    .option('--verify', 'compares what was moved, and moves nothing')
    .action(async (_options, command: Command) => migrate(command.optsWithGlobals<MigrateFlags>(), io, deps))
}

async function migrate(flags: MigrateFlags, io: CliIo, deps: CliDeps): Promise<void> {
  const { config, dataDir } = readSettings(flags, deps)
  const { moveToHub } = await import('../../gateway/hub/migrate/migrate.js')
  deps.makeFilesPrivate() // before the key file is copied
  const startMs = performance.now()
  const moved = await withProgress(io, deps, ({ progress, signal }) =>
    moveToHub({
      ...{ config, signal },
      layout: layoutOf(dataDir, config.encryption.keyFile),
      from: path.resolve(deps.cwd, flags.from),
      fromKeyFile: flags.fromKeyFile === undefined ? undefined : path.resolve(deps.cwd, flags.fromKeyFile),
      leavesBehind: flags.leaveBehind === true,
      verifiesOnly: flags.verify === true,
      onProgress: (fraction, what, count) => progress.show(fraction, what, count),
    }),
  )
  const seconds = Math.round((performance.now() - startMs) / 1000)
  if (flags.json === true) return printJson(io, { ...moved, seconds })
  const { nodeId, rows, objects, citations, behind, hasMoved } = moved
  const lines = [
    `${hasMoved ? 'moved' : 'compared'} ${rows} rows, ${objects} objects and ${citations} citations in ${seconds} s: counts and digests are equal`,
    `node id    ${nodeId}`,
    ...behind.map((line) => `behind     ${line}`),
  ]
  io.stdout.write(`${lines.join('\n')}\n`)
}
