import path from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import { applyBundles } from '../../bundles/apply.js'
import { combineBundles } from '../../bundles/combine.js'
import { writeBundles } from '../../bundles/write.js'
import { isAppError } from '../../errors.js'
import { identityText } from '../../node-keys/identity.js'
import type { NodePeer } from '../../storage/exchange/node-keys.js'
import { type FeedData, withFeedData } from '../feeds/feed-data.js'
import { checkFolder, fileFault } from '../file-fault.js'
import { type CliDeps, type CliIo, type GlobalOptions, printJson } from '../io.js'
import { type ModelData, withModelData } from '../models/model-data.js'
import { applyDeps, openKeys, writeDeps } from './bundle-data.js'
import { appliedJson, appliedText, isWhole, writtenJson, writtenText } from './bundle-text.js'
import { addPeerCommands } from './peers.js'

interface WriteFlags extends GlobalOptions {
  for?: string[]
  maxBytes?: number
  continue?: boolean
}

/** Adds the verbs of bundles. They work beside a running gateway. */
export function addBundleCommands(program: Command, io: CliIo, deps: CliDeps): void {
  const bundle = program.command('bundle').description('files that carry feeds and models between gateways')
  addPeerCommands(bundle.command('peer').description('gateways whose public keys are known'), io, deps)
  bundle
    .command('identity')
    .description('prints the public identity of this gateway, which others add with `bundle peer add`')
    .action(async (_options, command: Command) =>
      withModelData(command, deps, async (data) => {
        io.stdout.write(identityText(await openKeys(data)))
      }),
    )
  bundle
    .command('write')
    .description('packs what other gateways do not have yet into a file')
    .argument('<file>', 'file to write; it must not exist')
    .option('--for <name...>', 'name or node id of a gateway (default: all whose keys are known)')
    .option('--max-bytes <bytes>', 'most bytes of the file; the rest is for the next one', readBytes)
    .option('--continue', 'begins after the last bundle, although nobody has acknowledged it')
    .action(async (file: string, _options, command: Command) => write(io, deps, file, command))
  bundle
    .command('combine')
    .description('copies the bundles of several files into one, for whoever carries them; needs no keys')
    .argument('<file>', 'file to write; it must not exist')
    .argument('<from...>', 'files that gateways wrote')
    .action(async (file: string, from: string[], _options, command: Command) =>
      combine(io, deps, { file, from }, command.optsWithGlobals<GlobalOptions>()),
    )
  bundle
    .command('apply')
    .description('takes the bundles in a file that are for this gateway')
    .argument('<file>', 'file that another gateway wrote')
    .action(async (file: string, _options, command: Command) => apply(io, deps, file, command))
}

async function write(io: CliIo, deps: CliDeps, name: string, command: Command): Promise<void> {
  const file = path.resolve(deps.cwd, name)
  checkFolder(file, 'file')
  deps.keepHeapSmall()
  const pack = async (data: FeedData, flags: WriteFlags) => {
    const peers = await chosenPeers(data, flags.for)
    const written = await writeBundles(await writeDeps(data), file, peers, {
      maxBytes: flags.maxBytes ?? Number.MAX_SAFE_INTEGER,
      isContinued: flags.continue === true,
    }).catch((error: unknown) => {
      throw fileFault(error, file)
    })
    for (const { node, bundleId } of written)
      await data.state.audit.note({ act: 'bundle-write', node: node.nodeId, bundle: bundleId })
    if (flags.json === true) printJson(io, written.map(writtenJson))
    else io.stdout.write(written.map((one) => `${writtenText(one)}\n`).join(''))
  }
  await withFeedData<WriteFlags>(command, deps, pack, { createsTables: true })
}

async function chosenPeers({ state }: ModelData, names: readonly string[] | undefined): Promise<NodePeer[]> {
  const all = await state.nodePeers.list()
  if (all.length === 0)
    throw new Error('no keys of another gateway are known: `fieldgate bundle peer add` adds them')
  if (names === undefined) return all
  const chosen = names.map((name) => {
    const found = all.find((peer) => peer.name === name || peer.nodeId === name)
    if (found === undefined)
      throw new Error(`no gateway ${name} is known: \`fieldgate bundle peer list\` prints them`)
    return found
  })
  return [...new Set(chosen)]
}

async function combine(
  io: CliIo,
  deps: CliDeps,
  { file, from }: { file: string; from: readonly string[] },
  { json }: GlobalOptions,
): Promise<void> {
  const to = path.resolve(deps.cwd, file)
  checkFolder(to, 'file')
  const bundles = await combineBundles(
    to,
    from.map((name) => path.resolve(deps.cwd, name)),
  ).catch((error: unknown) => {
    throw fileFault(error, to)
  })
  if (json === true) printJson(io, { file: to, bundles })
  else io.stdout.write(`${bundles} bundles are in ${to}.\n`)
}

async function apply(io: CliIo, deps: CliDeps, name: string, command: Command): Promise<void> {
  const file = path.resolve(deps.cwd, name)
  deps.keepHeapSmall()
  const take = async (data: FeedData, flags: GlobalOptions) => {
    const applied = await applyBundles(await applyDeps(data), file).catch((error: unknown) => {
      throw isAppError(error) ? cutOff(error) : fileFault(error, file)
    })
    for (const { node, bundleId } of applied.bundles)
      await data.state.audit.note({ act: 'bundle-apply', node: node.nodeId, bundle: bundleId })
    if (!isWhole(applied)) io.setExitCode(1)
    if (flags.json === true) printJson(io, appliedJson(applied))
    else io.stdout.write(appliedText(applied))
  }
  await withFeedData(command, deps, take, { createsTables: true })
}

/** A fault of this gateway on the way, such as a full disk. */
function cutOff(error: Error): Error {
  const message = `${error.message}; what came before in the file is stored: apply it again when this is mended`
  return new Error(message, { cause: error })
}

function readBytes(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Expected a whole number of bytes.')
}
