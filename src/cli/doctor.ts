import type { Command } from 'commander'
import { examine } from '../doctor/examine.js'
import { type Check, type CheckState, error, ok, type Patient, worst } from '../doctor/finding.js'
import { checkSettings } from '../doctor/settings.js'
import { type DataLayout, layoutOf } from '../files/layout.js'
import { WRITTEN_AT_US } from '../storage/clock.js'
import { openState } from '../storage/sqlite/state.js'
import { type CliDeps, type CliIo, type GlobalOptions, oneLine, printJson } from './io.js'
import { createProgress } from './progress.js'
import { findSettings } from './settings.js'

interface DoctorFlags extends GlobalOptions {
  offline?: boolean
  resetClock?: boolean
}

/** Exit codes of `doctor`, for monitoring. */
const EXIT_CODE: Record<CheckState, number> = { ok: 0, warning: 1, error: 2 }

/** `doctor`: what is wrong, and what to do about it. */
export function addDoctorCommand(program: Command, io: CliIo, deps: CliDeps): void {
  program
    .command('doctor')
    .description(
      'looks at everything the gateway stands on and says what to do; exit code 0 ok, 1 warning, 2 error',
    )
    .option('--offline', 'calls no upstream')
    .option(
      '--reset-clock',
      'forgets a recorded time that was wrong: the clock of now counts from the next start on',
    )
    .action(async (_options, command: Command) => {
      const flags = command.optsWithGlobals<DoctorFlags>()
      if (flags.resetClock === true) await resetClock(flags, io, deps)
      const checks = await runDoctor(flags, io, deps)
      tell(io, checks, flags.json === true)
    })
}

/** Every check, that of the settings first; with faults in those the rest cannot be made. */
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
        `mend it in ${where}; \`fieldgate config check\` tells all faults`,
      ),
    )
    return [{ name: 'config', state: 'error', findings }]
  }
  const { config, file, dataDir } = settings
  const progress = createProgress(io.stderr)
  const patient: Patient = {
    ...{ config, configFile: file, layout: layoutOf(dataDir), version: deps.version },
    nowUs: Date.now() * 1000,
    isOnline: flags.offline !== true,
    onProgress: (what) => progress.show(0, what),
  }
  try {
    const findings = [ok(file ?? 'no settings file, defaults'), ...checkSettings(patient)]
    const config = { name: 'config', state: worst(findings.map(({ state }) => state)), findings }
    return [config, ...(await examine(patient))]
  } finally {
    progress.clear()
  }
}

function tell(io: CliIo, checks: Check[], isJson: boolean): void {
  const state = worst(checks.map((check) => check.state))
  io.setExitCode(EXIT_CODE[state])
  if (isJson) {
    printJson(io, { state, checks })
    return
  }
  for (const { name, findings } of checks) {
    for (const { state: of, message, advice } of findings) {
      io.stdout.write(`${of.padEnd(7)}  ${name.padEnd(11)}  ${oneLine(message)}\n`)
      if (advice !== null) io.stdout.write(`${''.padEnd(22)}→ ${oneLine(advice)}\n`)
    }
  }
}

/**
 * A device whose clock ran ahead for a while has recorded a time that is still to come: until then nothing would expire.
 * A gateway that runs keeps its own idea until it is started again.
 */
async function resetClock(flags: DoctorFlags, io: CliIo, deps: CliDeps): Promise<void> {
  const settings = findSettings(flags, deps)
  if ('faults' in settings) return // the check of the settings tells
  const layout: DataLayout = layoutOf(settings.dataDir)
  const nowUs = Date.now() * 1000
  if (nowUs < WRITTEN_AT_US)
    throw new Error(`the clock says ${new Date(nowUs / 1000).toISOString()}, which cannot be: set it first`)
  const state = await openState(layout.stateDb)
  try {
    const before = await state.meta.lastSeenUs()
    await state.meta.note('last_seen_us', String(nowUs))
    await state.audit.note({ act: 'reset-clock', beforeUs: before, nowUs })
  } finally {
    await state.close()
  }
  io.stderr.write(
    'fieldgate: the recorded time is that of now; a running gateway takes it over at its next start\n',
  )
}
