import path from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import { type BackupResult, makeBackup } from '../../backup/make-backup.js'
import { LAST_BACKUP, recordOf } from '../../backup/schedule.js'
import { layoutOf } from '../../files/layout.js'
import { outsideFiles } from '../../gateway/backups.js'
import { createMaintenance } from '../../storage/sqlite/maintenance/maintenance.js'
import { openState } from '../../storage/sqlite/state.js'
import { type CliDeps, type CliIo, type GlobalOptions, oneLine, printJson, usageError } from '../io.js'
import { group } from '../maps/map-facts.js'
import { sizeText } from '../models/model-data.js'
import { readSettings } from '../settings.js'
import { withProgress } from '../with-progress.js'
import { readClock } from './clock.js'

interface BackupFlags extends GlobalOptions {
  keep?: number
}

/** Adds `backup`: makes a backup, whether a gateway is running or not. */
export function addBackupCommand(program: Command, io: CliIo, deps: CliDeps): void {
  program
    .command('backup')
    .description('backs up the data directory, also while the gateway is running')
    .argument('[dir]', 'directory of backups (default: backup.dir of the settings)')
    .option('--keep <count>', 'number of newest backups to keep; older ones are removed', readKeep)
    .action(async (dir: string | undefined, _options, command: Command) => {
      await backup(dir, command.optsWithGlobals<BackupFlags>(), io, deps)
    })
}

async function backup(
  given: string | undefined,
  flags: BackupFlags,
  io: CliIo,
  deps: CliDeps,
): Promise<void> {
  const { config, dataDir, file } = readSettings(flags, deps)
  const dir = given === undefined ? config.backup.dir : path.resolve(deps.cwd, given)
  if (dir === undefined) throw usageError('expected a directory for the backup, or the setting backup.dir')
  const layout = layoutOf(dataDir, config.encryption.keyFile)
  const maintenance = createMaintenance()
  deps.makeFilesPrivate()
  const clock = await readClock(layout, maintenance)
  const nowUs = clock.nowUs()
  const outside = outsideFiles(config)
  const result = await withProgress(io, deps, ({ progress, signal }) =>
    makeBackup({
      layout,
      dir,
      configFile: file,
      outside,
      version: deps.version,
      nowUs,
      isClockTrusted: clock.isTrusted(),
      keep: flags.keep ?? 0,
      reserveBytes: config.limits.diskReserveBytes,
      bytesPerSecond: 0,
      maintenance,
      signal,
      onProgress: (fraction, what) => progress.show(fraction, what),
    }),
  )
  if (!(await maintenance.databases.isReadOnlyDisk(layout.root)))
    await recordBackup(layout.stateDb, result, dir, nowUs, io)
  print(io, result, flags.json === true, outside)
}

/** Stores the record that `doctor` reads. A failure is a warning: the backup itself is complete. */
async function recordBackup(
  stateDb: string,
  result: BackupResult,
  dir: string,
  nowUs: number,
  io: CliIo,
): Promise<void> {
  try {
    const state = await openState(stateDb)
    try {
      await state.meta.note(LAST_BACKUP, JSON.stringify(recordOf(result, dir, nowUs)))
      await state.audit.note({ act: 'backup', dir, name: result.name })
    } finally {
      await state.close()
    }
  } catch (error) {
    io.stderr.write(
      `fieldgate: warning: the backup was made, but could not be recorded for doctor: ${oneLine(error)}\n`,
    )
  }
}

function print(io: CliIo, result: BackupResult, isJson: boolean, outside: string[]): void {
  if (isJson) {
    printJson(io, { ...result, outside })
    return
  }
  const { dir, blobs, blobsKnown, writtenBytes, totalBytes, removed, lost, retentionFault } = result
  io.stdout.write(
    `${dir}\n${sizeText(totalBytes)} in ${group(blobs)} files and the databases; ${sizeText(writtenBytes)} written, ${group(blobsKnown)} files were in earlier backups.\n`,
  )
  if (removed.length > 0) io.stdout.write(`Removed: ${removed.join(', ')}\n`)
  for (const file of outside)
    io.stdout.write(`Not included, because it is outside the data directory: ${file}\n`)
  for (const { sha256, kind, reason } of lost)
    io.stderr.write(
      `fieldgate: warning: the bytes of a ${kind} were lost before this backup: ${sha256} (${reason})\n`,
    )
  for (const longForm of result.damagedCitations)
    io.stderr.write(
      `fieldgate: warning: the rows of the citation ${longForm} were damaged before this backup: restore an earlier one\n`,
    )
  if (retentionFault !== null)
    io.stderr.write(
      `fieldgate: warning: bytes of removed backups were kept, because a backup cannot be read: ${oneLine(retentionFault)}\n`,
    )
}

function readKeep(text: string): number {
  const keep = Number(text)
  if (!/^\d{1,4}$/.test(text) || keep === 0) throw new InvalidArgumentError('Expected 1 to 9999.')
  return keep
}
