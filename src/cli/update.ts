import { existsSync, readFileSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import type { Command } from 'commander'
import { isSingleExecutable } from '../assets.js'
import type { Check } from '../doctor/finding.js'
import { messageOf } from '../errors.js'
import { layoutOf } from '../files/layout.js'
import { lockDirectory } from '../storage/sqlite/connection/lock.js'
import { type RunOptions, runToEnd, tryServing, waitReady } from '../update/run.js'
import { compareVersions, readStatement, type Statement } from '../update/statement.js'
import { copyRelease, type Places, placesOf, switchBack, switchOver } from '../update/switch.js'
import { type CliDeps, type CliIo, type GlobalOptions, printJson, usageError } from './io.js'
import { type RunSettings, readSettings } from './settings.js'

interface UpdateOptions extends GlobalOptions {
  signature?: string
  executable?: string
  allowOlder?: boolean
  back?: boolean
}

/** Values that the steps of an update share. */
interface Update {
  settings: RunSettings
  places: Places
  run: RunOptions
  /** arguments for another executable, so that it uses the same settings and data */
  argv: string[]
  /** writes a line of progress to stderr */
  report(line: string): void
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
  if ((file === undefined) !== (options.back === true)) throw usageError('expected either a file or --back')
  const stopped = new AbortController()
  const stops = (['SIGINT', 'SIGTERM'] as const).map((name) => deps.onSignal(name, () => stopped.abort()))
  try {
    const steps = prepare(options, io, deps, stopped.signal)
    requireNotServing(steps)
    const version =
      file === undefined
        ? await restorePrevious(steps)
        : await install(path.resolve(deps.cwd, file), options, steps, deps)
    if (options.json === true) printJson(io, { version, executable: steps.places.current })
    else
      io.stdout.write(`fieldgate ${version} is installed; the previous version is ${steps.places.previous}\n`)
  } finally {
    for (const stop of stops) stop()
  }
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
function requireNotServing({ settings }: Update): void {
  const { lockDb } = layoutOf(settings.dataDir)
  // without the file no gateway has served there; root must not create it for another user
  if (settings.config.update.restartCommand.length > 0 || !existsSync(lockDb)) return
  try {
    lockDirectory(lockDb).release()
  } catch (error) {
    const advice = 'set update.restartCommand to the command that restarts it, or stop it for the update'
    throw new Error(`${messageOf(error)}; ${advice}`, { cause: error })
  }
}

/** Installs a release. @returns its version */
async function install(file: string, options: UpdateOptions, steps: Update, deps: CliDeps): Promise<string> {
  const { places, run, report } = steps
  const statement = readSignature(path.resolve(deps.cwd, options.signature ?? `${file}.sig`), steps)
  const before = await versionOf(places.current, run)
  if (options.allowOlder !== true && compareVersions(statement.version, before) <= 0)
    throw new Error(`found version ${statement.version}, expected one newer than ${before} (--allow-older)`)
  try {
    await copyRelease(file, places, statement)
    report(`signature and digest are valid: fieldgate ${statement.version}`)
    const reported = await versionOf(places.fresh, run)
    if (reported !== statement.version)
      throw new Error(`the release reports version ${reported}, expected ${statement.version} as signed`)
    const baseline = await examine(places.current, steps)
    switchOver(places)
    await keepOrRestore(before, statement.version, baseline.code, steps)
  } finally {
    rmSync(places.fresh, { force: true })
  }
  return statement.version
}

function readSignature(file: string, { settings }: Update): Statement {
  const { publicKey } = settings.config.update
  if (publicKey === undefined)
    throw new Error('update.publicKey is not set: the signature of the release cannot be verified')
  try {
    const statement = readStatement(readFileSync(file, 'utf8'), publicKey)
    const here = `${process.platform}-${process.arch}`
    if (statement.target !== here)
      throw new Error(`found a release for ${statement.target}, expected one for ${here}`)
    return statement
  } catch (error) {
    throw new Error(`${file}: ${messageOf(error)}`, { cause: error })
  }
}

async function versionOf(executable: string, run: RunOptions): Promise<string> {
  const { code, stdout, reason } = await runToEnd(executable, ['version', '--json'], run)
  const found = /"version":"([^"]+)"/.exec(stdout)?.[1]
  if (code !== 0 || found === undefined)
    throw new Error(`${executable} does not print its version (ended with ${code ?? 'a signal'}: ${reason})`)
  return found
}

/** Runs `doctor` of an executable: 0 ok, 1 warnings, 2 errors. A version without that verb counts as 0. */
async function examine(executable: string, { argv, run }: Update): Promise<{ code: number; reason: string }> {
  // offline: whether an upstream can be reached does not depend on the version
  const { code, stdout, reason } = await runToEnd(executable, ['doctor', ...argv, '--offline', '--json'], run)
  if (/unknown command 'doctor'/.test(reason)) return { code: 0, reason: '' }
  return { code: code ?? 2, reason: firstError(stdout) ?? reason }
}

/** Message of the first error in the output of `doctor --json`; undefined when there is none. */
function firstError(stdout: string): string | undefined {
  try {
    const { checks }: { checks: Check[] } = JSON.parse(stdout)
    const findings = checks.flatMap((check) => check.findings)
    return findings.find(({ state }) => state === 'error')?.message
  } catch {
    return undefined // the output of another version may have another form
  }
}

/**
 * Keeps the new version if it works; otherwise restores the old one.
 *
 * @throws Error that says why it was restored
 */
async function keepOrRestore(
  before: string,
  version: string,
  baselineCode: number,
  steps: Update,
): Promise<void> {
  const fault = await faultOf(version, baselineCode, steps).catch(messageOf)
  if (fault === undefined) return
  switchBack(steps.places)
  const back = { ...steps, run: { ...steps.run, signal: new AbortController().signal } }
  const again = await serveAgain(before, back)
  const state = again === undefined ? `${before} was restored` : `${before} was restored, but ${again}`
  throw new Error(`${version} does not work here (${fault}): ${state}`)
}

/** Why the installed version does not work; undefined when it works. */
async function faultOf(version: string, baselineCode: number, steps: Update): Promise<string | undefined> {
  const doctor = await examine(steps.places.current, steps)
  // errors that existed before the update do not count
  if (doctor.code >= 2 && doctor.code > baselineCode) return `doctor: ${doctor.reason}`
  return await serveAgain(version, steps)
}

/** Restarts the service, or starts the gateway briefly. @returns why it is not ready; undefined when it is */
async function serveAgain(
  version: string,
  { settings, places, argv, run, report }: Update,
): Promise<string | undefined> {
  const { restartCommand, readyS } = settings.config.update
  const [program, ...args] = restartCommand
  const limit = AbortSignal.any([run.signal, AbortSignal.timeout(readyS * 1000)])
  report(`waiting until ${version} is ready`)
  if (program === undefined) return await tryServing(places.current, argv, readyS * 1000, run)
  const { code, reason } = await runToEnd(program, args, { ...run, owner: undefined })
  if (code !== 0) return `${restartCommand.join(' ')} ended with ${code ?? 'a signal'}: ${reason}`
  return await waitReady(localUrl(settings), version, limit)
}

function localUrl({ config }: RunSettings): string {
  const { host, port, tlsCertFile } = config.server
  const named = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  const literal = named.includes(':') ? `[${named}]` : named
  return `${tlsCertFile === undefined ? 'http' : 'https'}://${literal}:${port}`
}

/** Restores the version that the last update replaced. @returns that version */
async function restorePrevious(steps: Update): Promise<string> {
  switchBack(steps.places)
  const version = await versionOf(steps.places.current, steps.run)
  const fault = await serveAgain(version, steps)
  if (fault !== undefined) throw new Error(`${version} was restored, but ${fault}`)
  return version
}
