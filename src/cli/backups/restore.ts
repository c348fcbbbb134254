import { existsSync } from 'node:fs'
import path from 'node:path'
import type { Command } from 'commander'
import { chooseBackup } from '../../backup/manifest.js'
import { lockForReading, placeOf } from '../../backup/place.js'
import { type RestoreResult, restoreBackup } from '../../backup/restore.js'
import { formatDatetimeShort, parseOffset } from '../../datetime.js'
import { layoutOf } from '../../files/layout.js'
import { createMaintenance } from '../../storage/sqlite/maintenance/maintenance.js'
import { openState } from '../../storage/sqlite/state.js'
import { type CliDeps, type CliIo, type GlobalOptions, oneLine, printJson } from '../io.js'
import { group } from '../maps/map-facts.js'
import { sizeText } from '../models/model-data.js'
import { type RunSettings, readSettings } from '../settings.js'
import { withProgress } from '../with-progress.js'

interface RestoreFlags extends GlobalOptions {
  backup?: string
  dryRun?: boolean
}

/** Adds `restore`: creates a data directory from a backup. */
export function addRestoreCommand(program: Command, io: CliIo, deps: CliDeps): void {
  program
    .command('restore')
    .description(
      'creates a data directory from a backup, verifying digests and row counts; overwrites nothing',
    )
    .argument('<dir>', 'directory of backups')
    .option('--backup <name>', 'name of the backup (default: the newest)')
    .option('--dry-run', 'verifies the backup and writes nothing')
    .action(async (dir: string, _options, command: Command) => {
      await restore(dir, command.optsWithGlobals<RestoreFlags>(), io, deps)
    })
}

async function restore(dir: string, flags: RestoreFlags, io: CliIo, deps: CliDeps): Promise<void> {
  const settings = readSettings(flags, deps)
  const layout = layoutOf(settings.dataDir)
  const place = placeOf(path.resolve(deps.cwd, dir))
  const backup = chooseBackup(place, flags.backup)
  const maintenance = createMaintenance()
  deps.makeFilesPrivate()
  const lock = await lockForReading(place, maintenance.locks)
  try {
    const result = await withProgress(io, deps, ({ progress, signal }) =>
      restoreBackup(place, backup, {
        layout,
        isDryRun: flags.dryRun === true,
        maintenance,
        signal,
        onProgress: (fraction, what) => progress.show(fraction, what),
      }),
    )
    if (flags.dryRun !== true) await noteRestore(layout.stateDb, result)
    print(io, result, flags, settings)
  } finally {
    await lock.release()
  }
}

async function noteRestore(stateDb: string, { name, nodeId }: RestoreResult): Promise<void> {
  const state = await openState(stateDb)
  try {
    await state.audit.note({ act: 'restore', name, nodeId })
  } finally {
    await state.close()
  }
}

function print(
  io: CliIo,
  result: RestoreResult,
  flags: RestoreFlags,
  { dataDir, config }: RunSettings,
): void {
  const isIntact = result.faults.length === 0
  if (!isIntact) io.setExitCode(1)
  if (flags.json === true) {
    printJson(io, { ok: isIntact, dryRun: flags.dryRun === true, dataDir, ...result })
    return
  }
  for (const fault of result.faults) io.stderr.write(`fieldgate: ${oneLine(fault)}\n`)
  const at = formatDatetimeShort(result.madeAtUs, parseOffset(config.service.timeZone) ?? 0)
  const what = `${group(result.rows)} rows, ${group(result.blobs)} files, ${group(result.citations)} citation checksums`
  if (flags.dryRun === true) {
    if (isIntact) io.stdout.write(`The backup ${result.name} is intact (${what}).\n`)
    io.stdout.write(
      `A restore would write ${sizeText(result.totalBytes)} to ${dataDir}; nothing was written.\n`,
    )
    return
  }
  io.stdout.write(
    `Restored the node ${result.nodeId} to ${dataDir}, as of ${at} (${what}; all match the backup).\n` +
      'Do not run the original gateway as well: both would have the same node id.\n',
  )
  if (result.configFile !== null && existsSync(result.configFile))
    io.stdout.write(`Its settings file is ${result.configFile}; it is not used from there.\n`)
  for (const file of result.outside)
    io.stdout.write(`Its settings refer to a file that is not in the backup: ${file}\n`)
  for (const { sha256, kind, reason } of result.lost)
    io.stderr.write(
      `fieldgate: warning: the bytes of a ${kind} were lost before the backup: ${sha256} (${reason})\n`,
    )
}
