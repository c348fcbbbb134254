import { readFileSync } from 'node:fs'
import path from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import { messageOf } from '../../errors.js'
import { fingerprintOf, readIdentity } from '../../node-keys/identity.js'
import type { NodeIdentity } from '../../node-keys/keys.js'
import { baseUrlOf } from '../../sync/endpoint.js'
import { fileFault } from '../file-fault.js'
import { type CliDeps, type CliIo, type GlobalOptions, printJson } from '../io.js'
import { type ModelData, withModelData } from '../models/model-data.js'
import { openKeys } from './bundle-data.js'

/** Name of a gateway. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/

interface AddFlags extends GlobalOptions {
  keyFile: string
  relay?: boolean
  endpoint?: string
}

/** Adds the verbs of gateways whose public keys are known. */
export function addPeerCommands(peer: Command, io: CliIo, deps: CliDeps): void {
  peer
    .command('add')
    .description('takes bundles of a gateway from now on, and writes them for it')
    .argument('<name>', 'name for it here; feeds to the upstream of this name are packed for it', readName)
    .requiredOption('--key-file <file>', 'what `fieldgate bundle identity` printed there; - for stdin')
    .option('--relay', 'takes rows of other gateways from it, too')
    .option(
      '--endpoint <url>',
      'base URL of its models upstream (default: that of the upstream of this name)',
    )
    .action(async (name: string, _options, command: Command) =>
      withModelData<AddFlags>(command, deps, (data, flags) =>
        add(io, data, name, flags, path.resolve(deps.cwd, flags.keyFile)),
      ),
    )
  peer
    .command('list')
    .description('prints the gateways whose public keys are known')
    .action(async (_options, command: Command) =>
      withModelData(command, deps, async ({ state }, { json }) => {
        const found = (await state.nodePeers.list()).map(({ name, nodeId, isRelay, endpoint, ...keys }) => ({
          ...{ name, node: nodeId, relay: isRelay, endpoint },
          fingerprint: fingerprintOf({ nodeId, ...keys }),
        }))
        if (json === true) printJson(io, found)
        else
          for (const { name, node, relay, fingerprint } of found)
            io.stdout.write(`${name}  ${node}  ${fingerprint}${relay ? '  relay' : ''}\n`)
      }),
    )
  peer
    .command('remove')
    .description('takes no bundle of a gateway any more; what it sent stays')
    .argument('<name>', 'name or node id')
    .action(async (name: string, _options, command: Command) =>
      withModelData(command, deps, async ({ state }, { json }) => {
        const removed = await state.nodePeers.remove(name)
        if (removed === undefined)
          throw new Error(`no gateway ${name} is known: \`fieldgate bundle peer list\` prints them`)
        await state.audit.note({ act: 'bundle-peer-remove', name: removed.name, node: removed.nodeId })
        if (json === true) printJson(io, { removed: removed.name })
        else io.stdout.write(`${removed.name} is removed.\n`)
      }),
    )
}

async function add(io: CliIo, data: ModelData, name: string, flags: AddFlags, file: string): Promise<void> {
  const { state, settings } = data
  const identity = readKeyFile(flags.keyFile === '-' ? 0 : file)
  if (identity.nodeId === (await openKeys(data)).identity.nodeId)
    throw new Error(`${flags.keyFile} is the identity of this gateway itself: give that of the other one`)
  const { allowInsecure } = settings.config.sync
  const endpoint = flags.endpoint === undefined ? null : baseUrlOf(flags.endpoint, allowInsecure)
  const added = await state.nodePeers.add({ name, ...identity, isRelay: flags.relay === true, endpoint })
  if (added === undefined)
    throw new Error(
      `the name ${name} or the node ${identity.nodeId} is known already: \`fieldgate bundle peer list\``,
    )
  const fingerprint = fingerprintOf(identity)
  await state.audit.note({ act: 'bundle-peer-add', name, node: identity.nodeId, fingerprint })
  if (flags.json === true) printJson(io, { name, node: identity.nodeId, fingerprint })
  else
    io.stdout.write(
      `${name} is the node ${identity.nodeId}. Its fingerprint is ${fingerprint}: compare it with the one there.\n`,
    )
}

function readKeyFile(file: string | 0): NodeIdentity {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw fileFault(error, String(file))
  }
  try {
    return readIdentity(text)
  } catch (error) {
    throw new Error(`${file === 0 ? 'stdin' : file}: ${messageOf(error)}`, { cause: error })
  }
}

function readName(text: string): string {
  if (NAME.test(text)) return text
  throw new InvalidArgumentError('Expected 1 to 63 letters, digits or any of . _ -')
}
