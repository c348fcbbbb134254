import { closeSync, openSync, readFileSync, rmSync } from 'node:fs'
import { messageOf } from '../../errors.js'
import { layoutOf } from '../../files/layout.js'
import { acceptStatement, requireNewer, targetHere } from '../../update/accept.js'
import { forgetRolledBack, noteRolledBack, readRolledBack } from '../../update/rolled-back.js'
import { openRegular, readRegular, stagedPaths } from '../../update/staged.js'
import { compareVersions, MAX_SIGNATURE_CHARS, type Statement } from '../../update/statement.js'
import { copyRelease, digestOfFile, switchBack, switchOver } from '../../update/switch.js'
import { examine, faultOf, serveAgain, type Update, versionOf } from './try-out.js'

/** Result of an update: the installed version, or why nothing was installed. */
export type Outcome = { version: string } | { version: null; reason: string }

/**
 * Installs a release that an operator names.
 *
 * @returns its version
 * @throws Error in one line; the version from before runs then
 */
export async function installFile(
  file: string,
  signatureFile: string,
  allowOlder: boolean,
  steps: Update,
): Promise<Outcome> {
  const statement = accepted(() => readFileSync(signatureFile, 'utf8'), signatureFile, steps)
  const before = await versionOf(steps.places.current, steps.run)
  if (!allowOlder) newer(statement, before)
  const release = openSync(file, 'r')
  try {
    return await install(release, file, statement, before, steps)
  } finally {
    closeSync(release)
  }
}

/**
 * Installs the release that the profile of the hub staged in the data directory. What waits for nothing is no fault:
 * a timer calls this.
 *
 * @param again also installs a release that was rolled back; where none is staged, lets the gateway stage one again
 * @throws Error in one line; the version from before runs then
 */
export async function installStaged(again: boolean, steps: Update): Promise<Outcome> {
  const files = stagedPaths(layoutOf(steps.settings.dataDir).fleetReleaseDir)
  const text = readRegular(files.signature, MAX_SIGNATURE_CHARS)
  if (text === undefined) {
    // one that was taken back is not staged: the gateway does that when the note is gone
    if (again) forgetRolledBack(steps.places.current)
    const reason = again ? 'no release is staged; any may be staged again' : 'no release is staged'
    return { version: null, reason }
  }
  const statement = accepted(() => text, files.signature, steps)
  const before = await versionOf(steps.places.current, steps.run)
  if (compareVersions(statement.version, before) <= 0)
    return { version: null, reason: `version ${statement.version} is staged, and ${before} runs` }
  const failed = readRolledBack(steps.places.current).find(({ sha256 }) => sha256 === statement.sha256)
  if (failed !== undefined && !again) {
    const reason = `version ${statement.version} was rolled back at ${failed.at} (${failed.reason}); --again installs it`
    return { version: null, reason }
  }
  const release = openRegular(files.release)
  if (release === undefined)
    throw new Error(`${files.release}: found no file, expected the release of ${files.signature}`)
  try {
    return await install(release, files.release, statement, before, steps)
  } finally {
    closeSync(release)
  }
}

function accepted(read: () => string, file: string, { settings }: Update): Statement {
  try {
    return acceptStatement(read(), settings.config.update.publicKey, targetHere())
  } catch (error) {
    throw new Error(`${file}: ${messageOf(error)}`, { cause: error })
  }
}

function newer(statement: Statement, before: string): void {
  try {
    requireNewer(statement, before)
  } catch (error) {
    throw new Error(`${messageOf(error)} (--allow-older)`, { cause: error })
  }
}

async function install(
  release: number,
  name: string,
  statement: Statement,
  before: string,
  steps: Update,
): Promise<Outcome> {
  const { places, run, report } = steps
  try {
    copyRelease(release, name, places, statement)
    report(`signature and digest are valid: fieldgate ${statement.version}`)
    const reported = await versionOf(places.fresh, run)
    if (reported !== statement.version)
      throw new Error(`the release reports version ${reported}, expected ${statement.version} as signed`)
    const baseline = await examine(places.current, steps)
    switchOver(places)
    await keepOrRestore(before, statement, baseline.code, steps)
  } finally {
    rmSync(places.fresh, { force: true })
  }
  return { version: statement.version }
}

/**
 * Keeps the new version if it works; otherwise restores the old one.
 *
 * @throws Error that says why it was restored
 */
async function keepOrRestore(
  before: string,
  { version, sha256 }: Statement,
  baselineCode: number,
  steps: Update,
): Promise<void> {
  const { places } = steps
  const fault = await faultOf(version, baselineCode, steps).catch(messageOf)
  if (fault === undefined) {
    forget(sha256, steps)
    return
  }
  // noted first: after a power cut a timer must not install it again
  const noted = noteFailure({ sha256, version, reason: fault }, steps)
  switchBack(places)
  const back = { ...steps, run: { ...steps.run, signal: new AbortController().signal } }
  const again = await serveAgain(before, back)
  const state = again === undefined ? `${before} was restored` : `${before} was restored, but ${again}`
  throw new Error(`${version} does not work here (${fault}): ${state}${noted}`)
}

/** Removes the note of a release that works now. An unreadable record is no fault of the release. */
function forget(sha256: string, { places, report }: Update): void {
  try {
    forgetRolledBack(places.current, sha256)
  } catch (error) {
    report(messageOf(error))
  }
}

/** Notes a release that is rolled back. A full disk is no reason to keep it. @returns the fault, for the message */
function noteFailure(
  failed: { sha256: string; version: string; reason: string },
  { places }: Update,
): string {
  try {
    noteRolledBack(places.current, { ...failed, at: new Date().toISOString() })
    return ''
  } catch (error) {
    return `; this could not be noted: ${messageOf(error)}`
  }
}

/** Restores the version that the last update replaced, and notes the one that is taken back. @returns that version */
export async function restorePrevious(steps: Update): Promise<Outcome> {
  const { places, run } = steps
  const taken = { sha256: digestOfFile(places.current), version: await versionOf(places.current, run) }
  switchBack(places)
  const version = await versionOf(places.current, run)
  const noted = noteFailure({ ...taken, reason: 'an operator took it back' }, steps)
  const fault = await serveAgain(version, steps)
  if (fault !== undefined) throw new Error(`${version} was restored, but ${fault}${noted}`)
  if (noted !== '') steps.report(`${version} was restored${noted}`)
  return { version }
}
