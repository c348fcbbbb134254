import { existsSync, statSync } from 'node:fs'
import path from 'node:path'
import type { Command } from 'commander'
import { isSingleExecutable } from '../../assets.js'
import { messageOf } from '../../errors.js'
import { layoutOf } from '../../files/layout.js'
import { lockDirectory } from '../../storage/sqlite/connection/lock.js'
import type { RunOptions } from '../../update/run.js'
import { placesOf } from '../../update/switch.js'
import { type CliDeps, type CliIo, type GlobalOptions, printJson, usageError } from '../io.js'
import { readSettings } from '../settings.js'
import { installFile, installStaged, type Outcome, restorePrevious } from './install.js'
import type { Update } from './try-out.js'

interface UpdateOptions extends GlobalOptions {
  signature?: string
  executable?: string
  allowOlder?: boolean
  back?: boolean
  staged?: boolean
  again?: boolean
}

/** Adds `update`: replaces the single executable by a signed release. */
export function addUpdateCommand(program: Command, io: CliIo, deps: CliDeps): void {
  program
    .command('update')
    .description('replaces the executable by a signed release; restores the old one if the new one fails')
    .argument('[file]', 'the release')
    .option('--signature <file>', 'signature of the release (default: the file name with .sig)')
    .option('--executable <file>', 'executable to replace (default: this one)')
    .option('--allow-older', 'accepts a release that is not newer than the installed version')
    .option('--staged', 'installs the release that the profile of the hub staged; takes no file')
    .option('--again', 'with --staged: also a release that was rolled back; lets the gateway stage it again')
    .option('--back', 'restores the version that the last update replaced; takes no file')
    .action(async (file: string | undefined, _options, command: Command) => {
      await update(file, command.optsWithGlobals<UpdateOptions>(), io, deps)
    })
}

async function update(
  file: string | undefined,
  options: UpdateOptions,
  io: CliIo,
  deps: CliDeps,
): Promise<void> {
  const ways = [file !== undefined, options.staged === true, options.back === true]
  if (ways.filter(Boolean).length !== 1) throw usageError('expected one of a file, --staged and --back')
  if (options.again === true && options.staged !== true)
    throw usageError('--again: expected --staged with it')
  const stopped = new AbortController()
  const stops = (['SIGINT', 'SIGTERM'] as const).map((name) => deps.onSignal(name, () => stopped.abort()))
  try {
    const steps = prepare(options, io, deps, stopped.signal)
    requireNotServing(steps, options.staged === true)
    print(io, await carryOut(file, options, steps, deps), steps, options.json === true)
  } finally {
    for (const stop of stops) stop()
  }
}

async function carryOut(
  file: string | undefined,
  options: UpdateOptions,
  steps: Update,
  { cwd }: CliDeps,
): Promise<Outcome> {
  if (options.staged === true) return await installStaged(options.again === true, steps)
  if (file === undefined) return await restorePrevious(steps)
  const release = path.resolve(cwd, file)
  const signature = path.resolve(cwd, options.signature ?? `${release}.sig`)
  return await installFile(release, signature, options.allowOlder === true, steps)
}

function print(io: CliIo, outcome: Outcome, { places }: Update, isJson: boolean): void {
  const { current, previous } = places
  if (isJson) printJson(io, { ...outcome, executable: current })
  else if (outcome.version === null) io.stdout.write(`Nothing is installed: ${outcome.reason}\n`)
  else io.stdout.write(`fieldgate ${outcome.version} is installed; the previous version is ${previous}\n`)
}

function prepare(options: UpdateOptions, io: CliIo, deps: CliDeps, signal: AbortSignal): Update {
  const settings = readSettings(options, deps)
  if (options.executable === undefined && !isSingleExecutable())
    throw new Error(
      'this is not the single executable: update it the way it was installed, or name one with --executable',
    )
  const executable = path.resolve(deps.cwd, options.executable ?? process.execPath)
  return {
    settings,
    places: placesOf(executable, process.pid),
    run: { env: deps.env, owner: ownerOf(settings.dataDir), signal },
    argv: ['--data-dir', settings.dataDir, ...(settings.file === null ? [] : ['--config', settings.file])],
    report: (line) => void io.stderr.write(`${line}\n`),
  }
}

/** Owner of the data directory, when root updates a gateway that runs as another user. */
function ownerOf(dataDir: string): RunOptions['owner'] {
  const found = statSync(dataDir, { throwIfNoEntry: false })
  if (found === undefined || process.getuid?.() !== 0) return undefined
  return { uid: found.uid, gid: found.gid }
}

/**
 * Without a service to restart, the new version is started briefly, and needs the data directory for itself.
 *
 * @throws Error when a gateway serves the directory
 */
function requireNotServing({ settings, run }: Update, isStaged: boolean): void {
  if (settings.config.update.restartCommand.length > 0) return
  const advice = 'set update.restartCommand to the command that restarts it'
  // the lock is a file of the data directory: root writes nothing there by a timer
  if (isStaged && run.owner !== undefined && run.owner.uid !== 0)
    throw new Error(`the gateway of another user cannot be restarted: ${advice}`)
  const { lockDb } = layoutOf(settings.dataDir)
  // without the file no gateway has served there; root must not create it for another user
  if (!existsSync(lockDb)) return
  try {
    lockDirectory(lockDb).release()
  } catch (error) {
    throw new Error(`${messageOf(error)}; ${advice}, or stop it for the update`, { cause: error })
  }
}
