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
import { type Places, placesOf, switchBack, switchOver, takeIn } from '../update/switch.js'
import { type CliDeps, type CliIo, type GlobalOptions, printJson, usageError } from './io.js'
import { type RunSettings, readSettings } from './settings.js'

interface UpdateOptions extends GlobalOptions {
  signature?: string
  executable?: string
  allowOlder?: boolean
  back?: boolean
}

/** What the steps of an update share. */
interface Update {
  settings: RunSettings
  places: Places
  run: RunOptions
  /** arguments that make another executable find the same settings and data */
  argv: string[]
  /** writes a line of progress to stderr */
  tell(line: string): void
}

export function addUpdateCommand(program: Command, io: CliIo, deps: CliDeps): void {
  program
    .command('update')
    .description(
      'replaces the executable by a signed release, and puts the old one back when the new one fails',
    )
    .argument('[file]', 'the release')
    .option('--signature <file>', 'its signature (default: the file with .sig)')
    .option('--executable <file>', 'executable to replace (default: this one)')
    .option('--allow-older', 'also a release that is not newer than the running version')
    .option('--back', 'no file: puts the version back that the last update replaced')
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
    requireNobodyServes(steps)
    const version =
      file === undefined
        ? await goBack(steps)
        : await goOn(path.resolve(deps.cwd, file), options, steps, deps)
    if (options.json === true) printJson(io, { version, executable: steps.places.current })
    else io.stdout.write(`fieldgate ${version} is in place; the one before is ${steps.places.previous}\n`)
  } finally {
    for (const stop of stops) stop()
  }
}

function prepare(options: UpdateOptions, io: CliIo, deps: CliDeps, signal: AbortSignal): Update {
  const settings = readSettings(options, deps)
  if (options.executable === undefined && !isSingleExecutable())
    throw new Error(
      'this is not the single executable: update it as it was installed, or name one by --executable',
    )
  const executable = path.resolve(deps.cwd, options.executable ?? process.execPath)
  return {
    settings,
    places: placesOf(executable, process.pid),
    run: { env: deps.env, owner: ownerOf(settings.dataDir), signal },
    argv: ['--data-dir', settings.dataDir, ...(settings.file === null ? [] : ['--config', settings.file])],
    tell: (line) => void io.stderr.write(`${line}\n`),
  }
}

/** Root updates a gateway that serves as somebody else. */
function ownerOf(dataDir: string): RunOptions['owner'] {
  const found = statSync(dataDir, { throwIfNoEntry: false })
  if (found === undefined || process.getuid?.() !== 0) return undefined
  return { uid: found.uid, gid: found.gid }
}

/** Without a service to restart, the new version serves for a moment by itself: it needs the data directory. */
function requireNobodyServes({ settings }: Update): void {
  const { lockDb } = layoutOf(settings.dataDir)
  // nobody has served there yet; and root must not make the file for another user
  if (settings.config.update.restartCommand.length > 0 || !existsSync(lockDb)) return
  try {
    lockDirectory(lockDb).release()
  } catch (error) {
    const advice = 'set update.restartCommand to what restarts it, or stop it for the update'
    throw new Error(`${messageOf(error)}; ${advice}`, { cause: error })
  }
}

/** @returns the version that is in place now */
async function goOn(file: string, options: UpdateOptions, steps: Update, deps: CliDeps): Promise<string> {
  const { places, run, tell } = steps
  const statement = readSignature(path.resolve(deps.cwd, options.signature ?? `${file}.sig`), steps)
  const before = await versionOf(places.current, run)
  if (options.allowOlder !== true && compareVersions(statement.version, before) <= 0)
    throw new Error(`found version ${statement.version}, expected one newer than ${before} (--allow-older)`)
  try {
    await takeIn(file, places, statement)
    tell(`signature and bytes are right: fieldgate ${statement.version}`)
    const said = await versionOf(places.fresh, run)
    if (said !== statement.version)
      throw new Error(`the release says it is version ${said}, expected ${statement.version} as signed`)
    const baseline = await examine(places.current, steps)
    switchOver(places)
    await keepOrGoBack(before, statement.version, baseline.code, steps)
  } finally {
    rmSync(places.fresh, { force: true })
  }
  return statement.version
}

function readSignature(file: string, { settings }: Update): Statement {
  const { publicKey } = settings.config.update
  if (publicKey === undefined)
    throw new Error('update.publicKey is not set: nobody could have signed the release')
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
    throw new Error(`${executable} does not tell its version (ended with ${code ?? 'a signal'}: ${reason})`)
  return found
}

/** `doctor` by an executable: 0 all well, 1 warnings, 2 errors. A version without that verb counts as well. */
async function examine(executable: string, { argv, run }: Update): Promise<{ code: number; reason: string }> {
  // whether an upstream can be reached now says nothing of the version
  const { code, stdout, reason } = await runToEnd(executable, ['doctor', ...argv, '--offline', '--json'], run)
  if (/unknown command 'doctor'/.test(reason)) return { code: 0, reason: '' }
  return { code: code ?? 2, reason: firstError(stdout) ?? reason }
}

/** What the first error of `doctor --json` says. */
function firstError(stdout: string): string | undefined {
  try {
    const { checks } = JSON.parse(stdout) as { checks: Check[] }
    const findings = checks.flatMap((check) => check.findings)
    return findings.find(({ state }) => state === 'error')?.message
  } catch {
    return undefined // another version's answer may have another form
  }
}

/** @throws Error that says why the old version is back */
async function keepOrGoBack(
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
  const state = again === undefined ? `${before} is back` : `${before} is back, but ${again}`
  throw new Error(`${version} does not work here (${fault}): ${state}`)
}

/** What is wrong with the version that is in place, undefined when nothing is. */
async function faultOf(version: string, baselineCode: number, steps: Update): Promise<string | undefined> {
  const doctor = await examine(steps.places.current, steps)
  // what was wrong before the update is no fault of it
  if (doctor.code >= 2 && doctor.code > baselineCode) return `doctor: ${doctor.reason}`
  return await serveAgain(version, steps)
}

/** Restarts the service, or serves for a moment. @returns why the gateway is not ready */
async function serveAgain(
  version: string,
  { settings, places, argv, run, tell }: Update,
): Promise<string | undefined> {
  const { restartCommand, readyS } = settings.config.update
  const [program, ...args] = restartCommand
  const limit = AbortSignal.any([run.signal, AbortSignal.timeout(readyS * 1000)])
  tell(`waiting until ${version} is ready`)
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

/** @returns the version that is in place now */
async function goBack(steps: Update): Promise<string> {
  switchBack(steps.places)
  const version = await versionOf(steps.places.current, steps.run)
  const fault = await serveAgain(version, steps)
  if (fault !== undefined) throw new Error(`${version} is back, but ${fault}`)
  return version
}
