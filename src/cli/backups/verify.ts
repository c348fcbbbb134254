import path from 'node:path'
import type { Command } from 'commander'
import { type BadBackup, chooseBackup, listBackups } from '../../backup/manifest.js'
import { lockForReading, placeOf } from '../../backup/place.js'
import { type Verified, verifyBackup } from '../../backup/verify.js'
import { createMaintenance } from '../../storage/sqlite/maintenance/maintenance.js'
import { type CliDeps, type CliIo, type GlobalOptions, oneLine, printJson } from '../io.js'
import { group } from '../maps/map-facts.js'
import { sizeText } from '../models/model-data.js'
import { type LongWork, withProgress } from '../with-progress.js'

interface VerifyFlags extends GlobalOptions {
  backup?: string
  all?: boolean
}

/** Adds `verify`: reads whole backups and compares them with their manifests. */
export function addVerifyCommand(program: Command, io: CliIo, deps: CliDeps): void {
  program
    .command('verify')
    .description(
      'verifies digests, row counts and citation checksums of a backup; exit code 1 when it is damaged',
    )
    .argument('<dir>', 'directory of backups')
    .option('--backup <name>', 'name of the backup (default: the newest)')
    .option('--all', 'verifies every backup of the directory')
    .action(async (dir: string, _options, command: Command) => {
      await verify(path.resolve(deps.cwd, dir), command.optsWithGlobals<VerifyFlags>(), io, deps)
    })
}

async function verify(dir: string, flags: VerifyFlags, io: CliIo, deps: CliDeps): Promise<void> {
  const place = placeOf(dir)
  const newest = chooseBackup(place, flags.backup)
  const { backups, bad } = listBackups(place)
  const maintenance = createMaintenance()
  const lock = await lockForReading(place, maintenance.locks)
  const found: Verified[] = []
  const verifyAll = async ({ progress, signal }: LongWork) => {
    for (const one of flags.all === true ? backups : [newest]) {
      const onProgress = (fraction: number) => progress.show(fraction, one.name)
      found.push(await verifyBackup(place, one, { maintenance, signal, onProgress }))
    }
  }
  await withProgress(io, deps, verifyAll, 'stopped').finally(() => lock.release())
  print(io, found, flags.all === true ? bad : [], flags.json === true)
}

function print(io: CliIo, found: Verified[], bad: BadBackup[], isJson: boolean): void {
  const isIntact = bad.length === 0 && found.every(({ faults }) => faults.length === 0)
  if (!isIntact) io.setExitCode(1)
  if (isJson) {
    printJson(io, { ok: isIntact, backups: found, unreadable: bad })
    return
  }
  for (const { name, faults, rows, blobs, bytes, citations } of found) {
    const what = `${group(rows)} rows, ${group(blobs)} files of ${sizeText(bytes)}, ${group(citations)} citation checksums`
    io.stdout.write(`${faults.length === 0 ? 'ok' : 'damaged'}  ${name}  ${what}\n`)
    for (const fault of faults) io.stderr.write(`fieldgate: ${oneLine(fault)}\n`)
  }
  for (const { name, fault } of bad) io.stderr.write(`fieldgate: ${name}: ${oneLine(fault)}\n`)
}
