import type { Command } from 'commander'
import { examine, NO_DATA } from '../../doctor/examine.js'
import { type Check, type CheckContext, type CheckState, error, ok, worst } from '../../doctor/finding.js'
import { checkSettings } from '../../doctor/settings.js'
import { type DataLayout, layoutOf } from '../../files/layout.js'
import { createMaintenance } from '../../storage/sqlite/maintenance/maintenance.js'
import { openState } from '../../storage/sqlite/state.js'
import { WRITTEN_AT_US } from '../../storage/work/clock.js'
import { type CliDeps, type CliIo, type GlobalOptions, oneLine, printJson } from '../io.js'
import { createProgress } from '../progress.js'
import { findSettings } from '../settings.js'
import { recheck } from './recheck.js'

interface DoctorFlags extends GlobalOptions {
  offline?: boolean
  resetClock?: boolean
  recheck?: boolean
}

/** Exit codes of `doctor`, for monitoring. */
const EXIT_CODE: Record<CheckState, number> = { ok: 0, warning: 1, error: 2 }

/** Adds `doctor`: checks the settings, the data directory and what they refer to. */
export function addDoctorCommand(program: Command, io: CliIo, deps: CliDeps): void {
  program
    .command('doctor')
    .description(
      'checks settings, data, disk, maps, upstreams and backups, and says what to do; exit code 0 ok, 1 warning, 2 error',
    )
    .option('--offline', 'makes no request to upstreams')
    .option(
      '--reset-clock',
      'replaces a wrong recorded time by the current time; takes effect at the next start',
    )
    .option(
      '--recheck',
      'reads both databases and all citations, and withdraws the note of a damaged page when nothing is damaged',
    )
    .action(async (_options, command: Command) => {
      const flags = command.optsWithGlobals<DoctorFlags>()
      if (flags.resetClock === true) await resetClock(flags, io, deps)
      if (flags.recheck === true) await recheck(flags, io, deps)
      const checks = await runDoctor(flags, io, deps)
      printChecks(io, checks, flags.json === true)
    })
}

/** Runs all checks, that of the settings first. When the settings have faults, the others cannot be run. */
export async function runDoctor(
  flags: Pick<DoctorFlags, 'offline' | 'config' | 'dataDir'>,
  io: Pick<CliIo, 'stderr'>,
  deps: CliDeps,
): Promise<Check[]> {
  const settings = findSettings(flags, deps)
  if ('faults' in settings) {
    const where = settings.file ?? 'the environment'
    const findings = settings.faults.map((fault) =>
      error(
        `${fault.path}: ${fault.message}`,
        `correct it in ${where}; \`fieldgate config check\` lists all faults`,
      ),
    )
    return [{ name: 'config', state: 'error', findings }]
  }
  const { config, file, dataDir } = settings
  const progress = createProgress(io.stderr)
  const context: CheckContext = {
    config,
    configFile: file,
    layout: layoutOf(dataDir, config.encryption.keyFile),
    maintenance: createMaintenance(),
    version: deps.version,
    nowUs: Date.now() * 1000,
    isOnline: flags.offline !== true,
    onProgress: (what) => progress.show(undefined, what),
  }
  try {
    const findings = [ok(file ?? 'no settings file; defaults are used'), ...checkSettings(context)]
    const config = { name: 'config', state: worst(findings.map(({ state }) => state)), findings }
    return [config, ...(await examine(context))]
  } finally {
    progress.clear()
  }
}

/** Prints checks, and sets the exit code by the worst. */
export function printChecks(io: CliIo, checks: Check[], isJson: boolean): void {
  const state = worst(checks.map((check) => check.state))
  io.setExitCode(EXIT_CODE[state])
  if (isJson) {
    printJson(io, { state, checks })
    return
  }
  // without data, one line says so; what is in order elsewhere is of no use then
  const hasData = !checks.some(({ findings }) => findings.some(({ message }) => message === NO_DATA))
  for (const { name, findings } of checks) {
    for (const { state: of, message, advice } of findings) {
      if (!hasData && of === 'ok') continue
      io.stdout.write(`${of.padEnd(7)}  ${name.padEnd(11)}  ${oneLine(message)}\n`)
      if (advice !== null) io.stdout.write(`${''.padEnd(22)}→ ${oneLine(advice)}\n`)
    }
  }
}

/**
 * Replaces the recorded time by the current one. A clock that once ran ahead leaves a recorded time in the
 * future, and until then nothing expires. A running gateway keeps the time it has in memory until its next
 * start.
 *
 * @throws Error when the clock shows a time before this program's release
 */
async function resetClock(flags: DoctorFlags, io: CliIo, deps: CliDeps): Promise<void> {
  const settings = findSettings(flags, deps)
  if ('faults' in settings) return // runDoctor reports them
  const layout: DataLayout = layoutOf(settings.dataDir, settings.config.encryption.keyFile)
  const nowUs = Date.now() * 1000
  if (nowUs < WRITTEN_AT_US)
    throw new Error(
      `the clock shows ${new Date(nowUs / 1000).toISOString()}, which is before this program was released: set the clock first`,
    )
  const state = await openState(layout.stateDb)
  try {
    const before = await state.meta.lastSeenUs()
    await state.meta.note('last_seen_us', String(nowUs))
    await state.audit.note({ act: 'reset-clock', beforeUs: before, nowUs })
  } finally {
    await state.close()
  }
  io.stderr.write(
    'fieldgate: the recorded time is now the current time; a running gateway uses it from its next start\n',
  )
}
