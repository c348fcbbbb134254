import { Command, CommanderError } from 'commander'
import { addBackupCommand } from './backups/backup.js'
import { addRestoreCommand } from './backups/restore.js'
import { addVerifyCommand } from './backups/verify.js'
import { addBenchCommand } from './bench/bench.js'
import { addBundleCommands } from './bundles/bundle.js'
import { addConfigCommands } from './config.js'
import { addCiteCommands } from './data/cite.js'
import { addDataCommands } from './data/data.js'
import { addIngestCommands } from './data/ingest.js'
import { addRetentionCommands } from './data/retention.js'
import { addFleetCommands } from './fleet/hub.js'
import { addMemberCommands } from './fleet/member.js'
import { addHelpVerbs, HELP } from './help.js'
import { addHubCommands } from './hub/hub.js'
import { refuseOnHub } from './hub/refuse.js'
import { type CliDeps, type CliIo, oneLine } from './io.js'
import { addKeyCommands } from './keys/key.js'
import { addSessionCommands } from './keys/session.js'
import { addMapCommands } from './maps/map.js'
import { addModelCommands } from './models/model.js'
import { addDemoCommand } from './serving/demo-route.js'
import { addInitCommand } from './serving/init.js'
import { addServeCommand } from './serving/serve.js'
import { addDoctorCommand } from './support/doctor.js'
import { addSupportCommand } from './support/support.js'
import { addSyncCommands } from './sync.js'
import { addUpdateCommand } from './updates/update.js'
import { addVacuumCommand } from './vacuum.js'
import { addVersionCommand } from './version.js'

/** Exit codes, which scripts may rely on. */
const OK = 0
const FAILED = 1
const WRONG_USAGE = 2

/**
 * Runs one verb. An error is written to stderr as one line that says what to do; nothing is thrown.
 *
 * @param argv arguments after the program's name
 * @returns exit code: 0 ok, 1 failed, 2 wrong usage
 */
export async function runCli(argv: readonly string[], io: CliIo, deps: CliDeps): Promise<number> {
  let exitCode = OK
  const verbIo: CliIo = {
    ...io,
    setExitCode(code) {
      exitCode = code
    },
  }
  const program = createProgram(verbIo, deps)
  try {
    await program.parseAsync(argv, { from: 'user' })
  } catch (error) {
    exitCode = exitCodeOf(error)
    if (exitCode !== OK) io.stderr.write(`fieldgate: ${lineOf(error, helpOf(program, argv))}\n`)
  }
  io.setExitCode(exitCode)
  return exitCode
}

/** A verb as the documentation lists it. */
interface VerbFacts {
  usage: string
  description: string
  options: { flags: string; description: string }[]
}

/** Lists all verbs with their usage, for docs/verbs.md and the man page. */
export function listVerbs(io: CliIo, deps: CliDeps): VerbFacts[] {
  const optionsOf = (command: Command) =>
    command.options.map(({ flags, description }) => ({ flags, description }))
  const leaves = (command: Command, prefix: string): VerbFacts[] =>
    command.commands.flatMap((child) => {
      if (child.name() === HELP) return []
      const name = `${prefix}${child.name()}`
      if (child.commands.length > 0) return leaves(child, `${name} `)
      const usage = `${name} ${child.usage()}`
      return [{ usage, description: child.description(), options: optionsOf(child) }]
    })
  return leaves(createProgram(io, deps), '')
}

function createProgram(io: CliIo, deps: CliDeps): Command {
  const program = new Command('fieldgate')
    .description('Data gateway for small devices in the field')
    .option(
      '--config <file>',
      'settings file (default: FIELDGATE_CONFIG, or ./edge.config.json if it exists)',
    )
    .option('--data-dir <dir>', 'data directory of the gateway')
    .option('--json', 'print results as JSON')
    .version(deps.version, '-V, --version', 'print the version')
    .configureHelp({ showGlobalOptions: true })
    .exitOverride()
    // runCli writes errors, as one line
    .configureOutput({ writeOut: (text) => io.stdout.write(text), writeErr: ignore, outputError: ignore })
  addServeCommand(program, io, deps)
  addInitCommand(program, io, deps)
  addKeyCommands(program, io, deps)
  addSessionCommands(program, io, deps)
  addMapCommands(program, io, deps)
  addDataCommands(program, io, deps)
  addRetentionCommands(program, io, deps)
  addIngestCommands(program, io, deps)
  addModelCommands(program, io, deps)
  addSyncCommands(program, io, deps)
  addBundleCommands(program, io, deps)
  addMemberCommands(program, io, deps)
  addFleetCommands(program, io, deps)
  addHubCommands(program, io, deps)
  addCiteCommands(program, io, deps)
  addBackupCommand(program, io, deps)
  addRestoreCommand(program, io, deps)
  addVerifyCommand(program, io, deps)
  addDoctorCommand(program, io, deps)
  addSupportCommand(program, io, deps)
  addBenchCommand(program, io, deps)
  addVacuumCommand(program, io, deps)
  addUpdateCommand(program, io, deps)
  addDemoCommand(program, io, deps)
  addConfigCommands(program, io, deps)
  addVersionCommand(program, io, deps)
  addHelpVerbs(program)
  program.hook('preAction', (_program, command) => refuseOnHub(command, deps))
  return program
}

function exitCodeOf(error: unknown): number {
  if (!(error instanceof CommanderError)) return FAILED
  const isAnswer = error.code === 'commander.helpDisplayed' || error.code === 'commander.version'
  return isAnswer || (error.code === 'commander.help' && error.exitCode === OK) ? OK : WRONG_USAGE
}

/** @param help call that prints the usage of the verb */
function lineOf(error: unknown, help: string): string {
  if (!(error instanceof CommanderError)) return oneLine(error)
  if (error.code === 'commander.help') return `expected a verb; \`${help}\` lists them`
  const line = oneLine(error)
  return error.code === 'fieldgate.usage' ? line : `${line.replace(/\.$/, '')}; see \`${help}\``
}

/** Call that prints the usage of the verb which the first words name. */
function helpOf(program: Command, argv: readonly string[]): string {
  const names: string[] = []
  let command: Command | undefined = program
  for (const word of argv) {
    command = command.commands.find((child) => child.name() === word)
    if (command === undefined || word === HELP) break
    names.push(word)
  }
  return ['fieldgate', HELP, ...names].join(' ')
}

function ignore(): void {
  // commander throws an error with the same text, which runCli writes
}
