import type { Check } from '../../doctor/finding.js'
import { type RunOptions, runToEnd, tryServing, waitReady } from '../../update/run.js'
import type { Places } from '../../update/switch.js'
import type { RunSettings } from '../settings.js'

/** Values that the steps of an update share. */
export interface Update {
  settings: RunSettings
  places: Places
  run: RunOptions
  /** arguments for another executable, so that it uses the same settings and data */
  argv: string[]
  /** writes a line of progress to stderr */
  report(line: string): void
}

/**
 * Asks an executable for its version.
 *
 * @throws Error in one line when it does not print one
 */
export async function versionOf(executable: string, run: RunOptions): Promise<string> {
  const { code, stdout, reason } = await runToEnd(executable, ['version', '--json'], run)
  const found = /"version":"([^"]+)"/.exec(stdout)?.[1]
  if (code !== 0 || found === undefined)
    throw new Error(`${executable} does not print its version (ended with ${code ?? 'a signal'}: ${reason})`)
  return found
}

/** Runs `doctor` of an executable: 0 ok, 1 warnings, 2 errors. A version without that verb counts as 0. */
export async function examine(
  executable: string,
  { argv, run }: Update,
): Promise<{ code: number; reason: string }> {
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

/** Returns why the installed version does not work; undefined when it works. */
export async function faultOf(
  version: string,
  baselineCode: number,
  steps: Update,
): Promise<string | undefined> {
  const doctor = await examine(steps.places.current, steps)
  // errors that existed before the update do not count
  if (doctor.code >= 2 && doctor.code > baselineCode) return `doctor: ${doctor.reason}`
  return await serveAgain(version, steps)
}

/** Restarts the service, or starts the gateway briefly. @returns why it is not ready; undefined when it is */
export async function serveAgain(
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
