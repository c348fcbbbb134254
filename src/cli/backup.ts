import path from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import { type BackupResult, makeBackup } from '../backup/make-backup.js'
import { recordOf } from '../backup/schedule.js'
import { layoutOf } from '../files/layout.js'
import { LAST_BACKUP, outsideFiles } from '../gateway/backups.js'
import { isReadOnlyDisk } from '../storage/sqlite/connection/snapshot.js'
import { openState } from '../storage/sqlite/state.js'
import { readClock } from './clock.js'
import { type CliDeps, type CliIo, type GlobalOptions, oneLine, printJson, usageError } from './io.js'
import { group } from './maps/map-facts.js'
import { sizeText } from './models/model-data.js'
import { createProgress } from './progress.js'
import { readSettings } from './settings.js'

interface BackupFlags extends GlobalOptions {
  keep?: number
}

/** `backup`: beside a running gateway, or without one. */
export function addBackupCommand(program: Command, io: CliIo, deps: CliDeps): void {
  program
    .command('backup')
    .description('makes a backup of everything the gateway keeps, also while it runs')
    .argument('[dir]', 'where backups are kept (default: backup.dir of the settings)')
    .option('--keep <count>', 'removes all but so many of the newest backups there', readKeep)
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
  const layout = layoutOf(dataDir)
  deps.makeFilesPrivate()
  const stop = new AbortController()
  const stopListening = deps.onSignal('SIGINT', () => stop.abort())
  const progress = createProgress(io.stderr)
  try {
    const clock = readClock(layout)
    const nowUs = clock.nowUs()
    const result = await makeBackup({
      ...{ layout, dir, configFile: file, version: deps.version, nowUs, isClockTrusted: clock.isTrusted() },
      outside: outsideFiles(config),
      keep: flags.keep ?? 0,
      reserveBytes: config.limits.diskReserveBytes,
      bytesPerSecond: 0,
      signal: stop.signal,
      onProgress: (fraction, what) => progress.show(fraction, what),
    })
    progress.clear()
    if (!isReadOnlyDisk(layout.stateDb)) await writeDown(layout.stateDb, result, dir, nowUs, io)
    tell(io, result, flags.json === true, outsideFiles(config))
  } finally {
    progress.clear()
    stopListening()
  }
}

/** For `doctor`. A backup that was made is one, also where this cannot be written. */
async function writeDown(
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
    io.stderr.write(`fieldgate: the backup was made, but doctor will not know of it: ${oneLine(error)}\n`)
  }
}

function tell(io: CliIo, result: BackupResult, isJson: boolean, outside: string[]): void {
  if (isJson) {
    printJson(io, { ...result, outside })
    return
  }
  const { dir, blobs, blobsKnown, writtenBytes, totalBytes, removed, lost, retentionFault } = result
  io.stdout.write(
    `${dir}\n${sizeText(totalBytes)} in ${group(blobs)} files and the databases; ${sizeText(writtenBytes)} written, ${group(blobsKnown)} files were there already.\n`,
  )
  if (removed.length > 0) io.stdout.write(`Removed: ${removed.join(', ')}\n`)
  for (const file of outside) io.stdout.write(`Not in it, for it lies outside the data directory: ${file}\n`)
  for (const { sha256, kind, reason } of lost)
    io.stderr.write(`fieldgate: warning: the bytes of a ${kind} were lost before: ${sha256} (${reason})\n`)
  if (retentionFault !== null)
    io.stderr.write(
      `fieldgate: warning: bytes of removed backups stay, for one cannot be read: ${oneLine(retentionFault)}\n`,
    )
}

function readKeep(text: string): number {
  const keep = Number(text)
  if (!/^\d{1,4}$/.test(text) || keep === 0) throw new InvalidArgumentError('Expected 1 to 9999.')
  return keep
}
