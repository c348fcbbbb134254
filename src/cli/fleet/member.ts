import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import os from 'node:os'
import { type Command, InvalidArgumentError } from 'commander'
import { isAppError, messageOf } from '../../errors.js'
import { joinHub } from '../../fleet/member/join-hub.js'
import { leaveHub } from '../../fleet/member/leave-hub.js'
import { joinDeps } from '../../gateway/fleet/fleet.js'
import { leaveDeps } from '../../gateway/fleet/own.js'
import { baseUrlOf } from '../../sync/endpoint.js'
import { type CliDeps, type CliIo, type GlobalOptions, printJson, usageError } from '../io.js'
import { type ModelData, withModelData } from '../models/model-data.js'

interface JoinFlags extends GlobalOptions {
  token?: string
  tokenFile?: string
  name: string
}

interface LeaveFlags extends GlobalOptions {
  force?: boolean
}

/** Longest wait for an answer of the hub, ms. */
const ANSWER_MS = 120_000

/** Adds `join` and `leave`. They work beside a running gateway, which notices within a second. */
export function addMemberCommands(program: Command, io: CliIo, deps: CliDeps): void {
  program
    .command('join')
    .description('joins the fleet of a hub: a running gateway then asks it for its profile')
    .argument('<hub>', 'base URL of the hub')
    .option('--token <token>', 'what `fieldgate fleet token` at the hub prints')
    .option('--token-file <file>', 'a file that holds the token; - for stdin')
    .option('--name <name>', 'name of this gateway, for people', readName, os.hostname().slice(0, 80))
    .action(async (hub: string, _options, command: Command) =>
      withModelData<JoinFlags>(command, deps, (data, flags) => join(io, deps, data, hub, flags)),
    )
  program
    .command('leave')
    .description('leaves the fleet: what the profile made is removed, and no row of a table')
    .option('--force', 'leaves also when the hub cannot be reached, which does not learn of it then')
    .action(async (_options, command: Command) =>
      withModelData<LeaveFlags>(command, deps, (data, flags) => leave(io, deps, data, flags)),
    )
}

async function join(
  io: CliIo,
  deps: CliDeps,
  { state, settings }: ModelData,
  hub: string,
  flags: JoinFlags,
): Promise<void> {
  const { config } = settings
  const hubUrl = baseUrlOf(hub, config.sync.allowInsecure)
  const nodeId = await state.meta.claimNodeId(randomUUID())
  const joining = await joinDeps(state, nodeId, config, deps.version)
  const request = { hubUrl, token: readTokenText(flags), name: flags.name }
  const { hub: identity } = await joinHub(joining, request, AbortSignal.timeout(ANSWER_MS))
  await state.audit.note({ act: 'fleet-join', hub: hubUrl })
  if (flags.json === true)
    printJson(io, { hub: hubUrl, hubNode: identity?.nodeId, node: nodeId, name: flags.name })
  else io.stdout.write(`${flags.name} is a gateway of ${hubUrl}; its profile is applied while it serves.\n`)
}

function readTokenText({ token, tokenFile }: JoinFlags): string {
  if (token !== undefined && tokenFile === undefined) return token
  if (tokenFile !== undefined && token === undefined)
    return readFileSync(tokenFile === '-' ? 0 : tokenFile, 'utf8').trim()
  throw usageError('found no token, expected one of --token and --token-file')
}

async function leave(
  io: CliIo,
  { version }: CliDeps,
  { state, settings }: ModelData,
  { force, json }: LeaveFlags,
): Promise<void> {
  const deps = leaveDeps(state, settings.config, version)
  const { hubUrl, fault } = await leaveHub(deps, force === true, AbortSignal.timeout(ANSWER_MS)).catch(
    (error: unknown) => {
      if (isAppError(error) && error.errorName === 'NOT_JOINED') throw error
      throw new Error(`the hub was not told: ${messageOf(error)}; try again, or leave with --force`)
    },
  )
  await state.audit.note({ act: 'fleet-leave', hub: hubUrl })
  if (json === true) printJson(io, { left: hubUrl, told: fault === null })
  else io.stdout.write(`This gateway left ${hubUrl}; its data stay.\n`)
}

function readName(text: string): string {
  const name = text.trim()
  if (name.length > 0 && name.length <= 80 && !/\p{Cc}/u.test(name)) return name
  throw new InvalidArgumentError('Expected 1 to 80 characters without control characters.')
}
