import { createWriteStream, existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Command, InvalidArgumentError } from 'commander'
import { toModelInfo } from '../../api/model-store/index.js'
import { formatDatetimeShort } from '../../datetime.js'
import { registerDeps, signaturePolicy } from '../../gateway/exchange/models.js'
import { parseExact } from '../../json/exact-json.js'
import { type ModelFacts, registerModel } from '../../models/register-model.js'
import type { SignaturePolicy } from '../../models/signature/policy.js'
import type { ModelRecord } from '../../storage/models/models.js'
import { fileFault } from '../file-fault.js'
import type { CliDeps, CliIo, GlobalOptions } from '../io.js'
import { printJson } from '../io.js'
import { addDeltaCommands } from './delta.js'
import { type ModelData, sizeText, withModelData } from './model-data.js'
import { readWithProgress } from './read-with-progress.js'
import { addSignatureCommands } from './sign.js'

interface PutOptions {
  store: string
  kind: string
  description: string
  meta: Record<string, unknown>
  aggregated?: boolean
  round: number
  signature?: string
}

/** Adds the verbs of models. They work beside a running gateway, which sends the models that they put. */
export function addModelCommands(program: Command, io: CliIo, deps: CliDeps): void {
  const model = program.command('model').description('models and their files')
  model
    .command('put')
    .description('registers a file as a model; a running gateway feeds it back')
    .argument('<file>', 'the model file')
    .requiredOption('--store <name>', 'model store; created if it does not exist')
    .option('--kind <text>', 'model_kind', '')
    .option('--description <text>', 'model_description', '')
    .option('--meta <json>', 'model_meta, a JSON object', readMeta, {})
    .option('--aggregated', 'registers an aggregated model')
    .option('--round <n>', 'round of an aggregated model', readRound, 0)
    .option('--signature <file>', 'signature of the model, see `fieldgate model sign`')
    .action(async (file: string, _options, command: Command) =>
      withModelData<PutOptions>(command, deps, (data, options) =>
        put(io, data, { file: path.resolve(deps.cwd, file), cwd: deps.cwd }, options),
      ),
    )
  model
    .command('get')
    .description('writes the file of a model')
    .argument('<model-id>', 'id of the model')
    .option('-o, --output <file>', 'file to write (default: stdout)')
    .option('--signature <file>', 'writes the signature of the model to this file')
    .action(async (modelId: string, _options, command: Command) =>
      withModelData<{ output?: string; signature?: string }>(command, deps, (data, options) =>
        get(io, data, modelId, {
          output: options.output && path.resolve(deps.cwd, options.output),
          signature: options.signature && path.resolve(deps.cwd, options.signature),
        }),
      ),
    )
  model
    .command('list')
    .description('prints the models of a store, or the stores')
    .option('--store <name>', 'model store')
    .action(async (_options, command: Command) =>
      withModelData<{ store?: string }>(command, deps, (data, { store, json }) =>
        list(io, data, store, json === true),
      ),
    )
  addSignatureCommands(model, io, deps)
  addDeltaCommands(model, io, deps)
}

async function put(
  io: CliIo,
  data: ModelData,
  { file, cwd }: { file: string; cwd: string },
  options: PutOptions & GlobalOptions,
): Promise<void> {
  if (!existsSync(file)) throw new Error(`${file} does not exist: give the path of a model file`)
  const startUs = data.state.clock.nowUs()
  const deps = await registerDeps(data.state, data.settings.config, {
    blobs: data.blobs,
    lease: data.lease,
    onQueued: () => undefined, // a running gateway polls the outbox
  })
  const facts: ModelFacts = {
    store: options.store.replace(/^ddc:/, ''),
    kind: options.kind,
    description: options.description,
    meta: options.meta,
    state: options.aggregated === true ? 30 : 10,
    round: options.round,
    tenantId: 'command line',
    origin: null,
    hopCount: 0,
    chain: [],
    startUs,
    ...(options.signature === undefined ? {} : { signature: readSignature(cwd, options.signature) }),
  }
  const staged = await data.blobs.stage(readWithProgress(file, io.stderr))
  // without the lease the sweep of a running gateway could remove the bytes before their row is written
  const giveBack = await data.lease.keep()
  const model = await registerModel(deps, staged, facts).finally(giveBack)
  if (options.json === true) printJson(io, toModelInfo(model, data.timeZoneMin, deps.signatures))
  else io.stdout.write(`${model.modelId}  ${sizeText(model.sizeBytes)}  SHA-256 ${model.sha256}\n`)
}

function readSignature(cwd: string, name: string): string {
  const file = path.resolve(cwd, name)
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw fileFault(error, file)
  }
}

async function get(
  io: CliIo,
  data: ModelData,
  modelId: string,
  { output, signature }: { output: string | undefined; signature: string | undefined },
): Promise<void> {
  const model = await data.state.models.find(modelId)
  if (model === undefined)
    throw new Error(`no model has the id ${modelId}: \`fieldgate model list --store NAME\` prints them`)
  const bytes = await data.blobs.open(model.sha256)
  if (bytes === undefined || model.isDamaged)
    throw new Error(`the bytes of ${modelId} are damaged on disk: put the file again`)
  if (signature !== undefined) await getSignature(data, modelId, signature)
  if (output === undefined) {
    for await (const chunk of bytes) io.stdout.write(chunk as unknown as string) // streams take bytes too; `CliIo` declares text only
    return
  }
  await pipeline(Readable.from(bytes), createWriteStream(output, { flags: 'wx' }))
}

async function getSignature(data: ModelData, modelId: string, file: string): Promise<void> {
  const bundle = await data.state.models.signatureOf(modelId)
  if (bundle === undefined) throw new Error(`the model ${modelId} has no signature: omit --signature`)
  writeFileSync(file, bundle, { flag: 'wx' })
}

async function list(io: CliIo, data: ModelData, store: string | undefined, isJson: boolean): Promise<void> {
  const env = { timeZoneMin: data.timeZoneMin, nowUs: BigInt(data.state.clock.nowUs()) }
  if (store === undefined) {
    const stores = await data.state.modelStores.list({ env })
    if (isJson)
      printJson(
        io,
        stores.map(({ name, longForm }) => ({ name, longForm })),
      )
    else for (const { name, longForm } of stores) io.stdout.write(`${name}  (${longForm})\n`)
    return
  }
  const found = await data.state.modelStores.find(store.replace(/^ddc:/, ''))
  if (found === undefined)
    throw new Error(`no model store is named ${store}: \`fieldgate model list\` prints them`)
  const models = await data.state.models.list(found.storeId, { env })
  const signatures = signaturePolicy(data.settings.config)
  if (isJson)
    printJson(
      io,
      models.map((model) => toModelInfo(model, data.timeZoneMin, signatures)),
    )
  else
    for (const model of models)
      io.stdout.write(`${lineOf(model, data.timeZoneMin)}${signatureText(signatures, model)}\n`)
}

/** Model state → its description in a list. */
const STATES = { 10: 'put here', 20: 'feedback', 30: 'aggregated', 40: 'fetched' } as const

function lineOf(model: ModelRecord, timeZoneMin: number): string {
  const made = formatDatetimeShort(model.endUs, timeZoneMin).replace(/\.\d+/, '')
  const damage = model.isDamaged ? '  DAMAGED' : ''
  const state = `${model.state} ${STATES[model.state]}`.padEnd(13)
  return `${model.modelId}  ${state}  ${sizeText(model.sizeBytes).padStart(7)}  ${made}  ${model.kind}${damage}`
}

/** Returns the end of a line of the list: nothing for an unsigned model. */
function signatureText(signatures: Pick<SignaturePolicy, 'stateOf'>, { signature }: ModelRecord): string {
  const state = signatures.stateOf(signature)
  return state === 'none' ? '' : `  signature ${state}`
}

function readMeta(text: string): Record<string, unknown> {
  try {
    const value = parseExact(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  } catch {
    // reported below, like JSON of another type
  }
  throw new InvalidArgumentError('Expected a JSON object.')
}

function readRound(text: string): number {
  const round = Number(text)
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(round))
    throw new InvalidArgumentError('Expected a whole number.')
  return round
}
