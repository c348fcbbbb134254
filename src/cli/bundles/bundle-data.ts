import { randomUUID } from 'node:crypto'
import { PUT_FEEDBACK, toModelInfo } from '../../api/model-store/index.js'
import { readCitationOffer, readOffer } from '../../api/sync/index.js'
import { readColumns } from '../../api/sync/read-columns.js'
import { AskTableResult } from '../../api/sync/schema.js'
import { type Caller, isAllowed } from '../../auth/caller.js'
import type { ApplyDeps } from '../../bundles/apply.js'
import type { WriteDeps } from '../../bundles/write.js'
import { createCitationReceiver } from '../../feeds/citations/receive.js'
import { createFeedReceiver } from '../../feeds/receive/receiver.js'
import { createDiskSpace } from '../../files/disk-space.js'
import { layoutOf } from '../../files/layout.js'
import { registerDeps, signaturePolicy } from '../../gateway/exchange/models.js'
import { createNameLimit } from '../../gateway/rows/name-limit.js'
import { type NodeKeys, openNodeKeys } from '../../node-keys/keys.js'
import { parseParams } from '../../rpc/define-method.js'
import { readExactJson } from '../../rpc/read-json.js'
import type { ValueEnv } from '../../storage/columns/column-type.js'
import type { CopyKey } from '../../storage/exchange/citation-copies.js'
import type { FeedSenders } from '../../storage/exchange/feeds.js'
import type { NodePeer } from '../../storage/exchange/node-keys.js'
import { createCitationCopies } from '../../storage/sqlite/citations/copies.js'
import { createFeedInbox } from '../../storage/sqlite/feeds/inbox.js'
import { createTableStore } from '../../storage/sqlite/tables/store.js'
import type { TableDefinition } from '../../storage/tables.js'
import type { FeedData } from '../feeds/feed-data.js'
import type { ModelData } from '../models/model-data.js'

/** Returns the keys of this node, and its UUID. */
export async function openKeys({
  state,
  settings,
}: Pick<ModelData, 'state' | 'settings'>): Promise<NodeKeys> {
  const nodeId = await state.meta.nodeId()
  if (nodeId === undefined)
    throw new Error(`${settings.dataDir} has no node id yet: run \`fieldgate init\` with the same --data-dir`)
  return await openNodeKeys(state.nodeKeys, nodeId)
}

/** Returns the parts of a data directory from which bundles are written. */
export async function writeDeps(data: FeedData): Promise<WriteDeps> {
  const { state, feedIdentity, tableChanges, findTable, blobs, timeZoneMin } = data
  const keys = await openKeys(data)
  const signatures = signaturePolicy(data.settings.config)
  return {
    ...{ keys, nodeId: keys.identity.nodeId, bundles: state.bundles, feeds: state.feeds, blobs },
    ...{ transfers: state.transfers, upstreams: state.upstreams, feedUpstreams: state.feedUpstreams },
    ...{ models: state.models, identity: feedIdentity, changes: tableChanges, findTable },
    ...{ findCitation: data.findCitation, asked: state.askedFeeds, inbox: createFeedInbox(data.db) },
    async callerOf(keyId) {
      const key = await state.keys.findActive(keyId)
      return key && callerOf(key)
    },
    stores: state.modelStores,
    infoOf: (model) => JSON.stringify(toModelInfo(model, timeZoneMin, signatures)),
    async mayReadModels(node) {
      const caller = await rightsOf(data, node)
      return !('refused' in caller) && isAllowed(caller.scopes, 'model:read')
    },
    env: () => envOf(data),
  }
}

/** Returns the parts of a data directory that take bundles. */
export async function applyDeps(data: FeedData): Promise<ApplyDeps> {
  const { state, settings, blobs, lease, timeZoneMin } = data
  const { config } = settings
  const keys = await openKeys(data)
  const register = await registerDeps(state, config, { blobs, lease, onQueued: () => undefined })
  return {
    ...{ keys, peers: state.nodePeers, bundles: state.bundles, feeds: state.feeds, register },
    ...{ transfers: state.transfers, upstreams: state.upstreams, feedUpstreams: state.feedUpstreams },
    ...{ identity: data.feedIdentity, changes: data.tableChanges, findTable: data.findTable },
    ...{ readCitationOffer, findCitation: data.findCitation },
    isHere: (key) => isHere(data, key),
    ...{ inbox: createFeedInbox(data.db), readOffer, maxModelBytes: config.limits.modelBytes },
    rightsOf: (node) => rightsOf(data, node),
    asked: state.askedFeeds,
    taking: takingOf(data, keys),
    readAnswer(json) {
      const { sums: _, scanned: __, ...answer } = parseParams(AskTableResult, json)
      return answer
    },
    receiverOf: (node) => receiverOf(data, keys, node),
    citationReceiverOf: (node) => citationReceiverOf(data, keys, node),
    readFacts: (text) => PUT_FEEDBACK.readFacts(readExactJson(Buffer.from(text), config.limits.jsonDepth)),
    infoOf: (model) => JSON.stringify(toModelInfo(model, timeZoneMin, register.signatures)),
    keepBytes: () => lease.keep(),
    env: () => envOf(data),
    nowUs: () => state.clock.nowUs(),
  }
}

/** Returns the rights of a node: a gateway of the fleet has those of its key, any other those of its entry here. */
async function rightsOf({ state }: FeedData, node: NodePeer): Promise<Caller | { refused: string }> {
  const { name, nodeId } = node
  const isRelay = node.isRelay || (await isHub(state, nodeId))
  const caller = (keyId: string, scopes: readonly string[]): Caller =>
    callerOf({ keyId, keyName: name, scopes: isRelay ? [...scopes, 'sync:relay'] : scopes })
  const member = await state.fleetMembers.find(nodeId)
  if (member === undefined) return caller(`bundle ${nodeId}`, ['sync:write', 'model:write'])
  if (member.state !== 'member')
    return { refused: `the gateway ${name} ${member.state === 'left' ? 'has left' : 'was revoked'}` }
  const key = await state.keys.findActive(member.keyId)
  return key === undefined
    ? { refused: `the key of ${name} was revoked or has ended` }
    : caller(key.keyId, key.scopes)
}

/** A gateway takes rows of the whole fleet from its hub. */
async function isHub({ membership }: FeedData['state'], nodeId: string): Promise<boolean> {
  const found = await membership.find()
  return found?.state === 'member' && found.hub?.nodeId === nodeId
}

function callerOf(of: Pick<Caller, 'keyId' | 'keyName' | 'scopes'>): Caller {
  return { ...of, sessionId: null, endsAtUs: null }
}

/** Parts of what stores rows of other nodes. */
function storingOf({ db, state, settings, findTable }: FeedData, { identity }: NodeKeys) {
  const { config, dataDir } = settings
  const disk = createDiskSpace(layoutOf(dataDir).root, config.limits.diskReserveBytes)
  const store = createTableStore(db)
  const names = createNameLimit(config.limits.nameChars)
  return {
    inbox: createFeedInbox(db),
    nodeId: identity.nodeId,
    valueBytes: config.limits.valueBytes,
    takesOverlaps: true,
    findTable,
    requireSpace: (bytes: number) => disk.require(bytes),
    async register(definition: TableDefinition) {
      names.check('data_name', definition.dataName)
      return await store.register(definition, state.clock.nowUs())
    },
  }
}

/** The signature of a bundle stands for the key that a node would send with. */
function sendersOf({ nodeId }: NodePeer): FeedSenders {
  return { find: async () => ({ nodeId, otherKeyId: null }), bind: async () => undefined }
}

function receiverOf(data: FeedData, keys: NodeKeys, node: NodePeer) {
  const senders = sendersOf(node)
  return createFeedReceiver({ ...storingOf(data, keys), asked: data.state.askedFeeds, senders })
}

function citationReceiverOf(data: FeedData, keys: NodeKeys, node: NodePeer) {
  const nowUs = () => data.state.clock.nowUs()
  const copies = createCitationCopies(data.db, nowUs)
  const senders = sendersOf(node)
  return createCitationReceiver({ ...storingOf(data, keys), senders, copies, newId: randomUUID, nowUs })
}

/** Returns what stores the feeds down; rows that are set aside are listed with the feed, and need no log. */
function takingOf(data: FeedData, keys: NodeKeys): ApplyDeps['taking'] {
  const log = { warn: () => undefined }
  return { ...storingOf(data, keys), feeds: data.state.feeds, readColumns, log }
}

async function isHere({ db, state, findCitation }: FeedData, key: CopyKey): Promise<boolean> {
  if ((await findCitation(key.longForm)) !== undefined) return true
  return (await createCitationCopies(db, () => state.clock.nowUs()).find(key)) !== undefined
}

function envOf({ state, timeZoneMin }: FeedData): ValueEnv {
  return { timeZoneMin, nowUs: BigInt(state.clock.nowUs()) }
}
