import { randomBytes, randomUUID } from 'node:crypto'
import { copyFileSync, mkdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readColumns } from '../../src/api/sync/read-columns.js'
import { createDownFeed, createFeedRecord } from '../../src/feeds/create-feed.js'
import { createFetchLink } from '../../src/feeds/fetch/link.js'
import { fetchNext } from '../../src/feeds/fetch/turn.js'
import { createFeedGiver, type FeedGiver } from '../../src/feeds/give/giver.js'
import { createWaiting } from '../../src/feeds/give/waiting.js'
import { createFeedReceiver, type FeedReceiver } from '../../src/feeds/receive/receiver.js'
import { createSumsAnswerer, type SumsAnswerer } from '../../src/feeds/receive/sums.js'
import { createFeedLink } from '../../src/feeds/send/link.js'
import { type FeedSender, startFeedSender } from '../../src/feeds/send/sender.js'
import { type Verification, type VerifyDeps, verifyFeed } from '../../src/feeds/verify/verify.js'
import { createKeyring } from '../../src/storage/keyring.js'
import { openDataDb } from '../../src/storage/sqlite/connection/data-db.js'
import type { Db } from '../../src/storage/sqlite/connection/database.js'
import { createFeedIdentity } from '../../src/storage/sqlite/feeds/identity.js'
import { createFeedInbox } from '../../src/storage/sqlite/feeds/inbox.js'
import { createTableDigests } from '../../src/storage/sqlite/feeds/table-digests.js'
import { openState } from '../../src/storage/sqlite/state.js'
import { createTableChanges } from '../../src/storage/sqlite/tables/changed-rows.js'
import { openTables } from '../../src/storage/sqlite/tables/store.js'
import type { LoaderTable } from '../../src/storage/tables.js'
import { createThrottle } from '../../src/sync/throttle.js'
import { type Damage, type DamagedRow, damageRow } from './damage.js'
import { type Cut, createNodeClient, type PendingCall } from './feed-client.js'
import { columnOf } from './tables.js'

/*
 * Nodes of feeds in one process: the databases and the feeds of a gateway without its other parts, and with links that
 * are calls of the other node instead of HTTP. A node can be closed as by a kill, and restored from an older backup.
 */

/** Name of the table that all nodes share. */
export const TABLE = 'seen'
const KEYRING = createKeyring(randomBytes(32))
const CLIENTS = { apikey: 'k', secret: 's' }
const COLUMNS = [columnOf({ name: 'k', udtName: 'int4' }), columnOf({ name: 'note' })]

/** A row as nodes are compared. */
export interface NodeRow {
  readonly origin: string
  readonly k: number
  readonly note: string
}

/** A node of the tests. */
export interface FeedNode {
  readonly name: string
  readonly nodeId: string
  isUp(): boolean
  /** opens the databases and starts the feeds */
  start(): Promise<void>
  /** closes everything at once, whatever is under way */
  kill(): Promise<void>
  /** copies the databases, to be restored later */
  backup(): void
  /** kills the node and puts the copy back under a new epoch; false when there is none */
  restore(): Promise<boolean>
  registerTable(): Promise<void>
  dropTable(): Promise<void>
  put(rows: readonly { k: number; note: string }[]): Promise<void>
  /** Returns all rows; those of this node have its id. */
  rows(): Promise<NodeRow[]>
  /** Returns the last change of the table: it stands still when nothing arrives any more. */
  lastChange(): Promise<number>
  feed(to: FeedNode, direction: 'up' | 'down', conds?: unknown): Promise<void>
  faults(): Promise<string[]>
  /** Returns where each feed is, for messages. */
  feedStates(): Promise<string[]>
  /** Damages a row of one of some origins. @returns undefined when there is none */
  damage(how: Damage, origins: readonly string[], random: () => number): Promise<DamagedRow | undefined>
  /** Compares each feed of this node with its other side, as `sync.verify` does. */
  verify(isRecount?: boolean): Promise<FeedVerification[]>
}

/** What a comparison of one feed has found. */
export interface FeedVerification extends Verification {
  readonly to: string
  readonly direction: 'up' | 'down'
}

interface Parts {
  readonly tables: ReturnType<typeof openTables>
  readonly state: Awaited<ReturnType<typeof openState>>
  readonly changes: ReturnType<typeof createTableChanges>
  readonly identity: ReturnType<typeof createFeedIdentity>
  readonly receiver: FeedReceiver
  readonly giver: FeedGiver
  readonly sender: FeedSender
  readonly reader: Db
  readonly sumsAnswerer: SumsAnswerer
  readonly verifying: VerifyDeps
  readonly killed: AbortSignal
  readonly calling: Set<PendingCall>
  close(): void
}

/** Nodes that can reach each other by name. */
export interface FeedNet {
  readonly nodes: Map<string, FeedNode & { parts(): Parts | undefined }>
  /** decides what happens to each call */
  cut(): Cut
}

/** Makes a node; it is not started. */
export function createFeedNode(net: FeedNet, dir: string, name: string): FeedNode {
  const nodeId = randomUUID()
  const [home, copy] = [path.join(dir, name), path.join(dir, `${name}-backup`)]
  mkdirSync(home, { recursive: true })
  let parts: Parts | undefined
  let hasBackup = false
  const of = () => {
    if (parts === undefined) throw new Error(`${name} is down`)
    return parts
  }
  const table = () => of().tables.reader.find(TABLE)
  const node: FeedNode & { parts(): Parts | undefined } = {
    name,
    nodeId,
    parts: () => parts,
    isUp: () => parts !== undefined,
    async start() {
      parts = await openParts(net, { home, name, nodeId })
    },
    async kill() {
      const old = parts
      parts = undefined
      old?.close()
      await old?.sender.stop().catch(() => undefined) // its databases are closed
    },
    backup() {
      mkdirSync(copy, { recursive: true })
      for (const file of ['data.db', 'state.db']) {
        rmSync(path.join(copy, file), { force: true })
        const db = file === 'data.db' ? of().reader : of().state.stateDb.db
        db.prepare('VACUUM INTO ?').run(path.join(copy, file))
      }
      hasBackup = true
    },
    async restore() {
      if (!hasBackup) return false
      await node.kill()
      rmSync(home, { recursive: true })
      mkdirSync(home, { recursive: true })
      for (const file of ['data.db', 'state.db']) copyFileSync(path.join(copy, file), path.join(home, file))
      const db = openDataDb(path.join(home, 'data.db'))
      await createFeedIdentity(db).beginEpoch(Date.now() * 1000)
      db.close()
      await node.start()
      return true
    },
    async registerTable() {
      const definition = { dataName: TABLE, schema: 'event', columns: COLUMNS, uniqueColumns: ['k'] }
      await of().tables.store.register(definition, Date.now() * 1000)
    },
    async dropTable() {
      const found = await table()
      if (found !== undefined) await of().tables.store.drop(found)
    },
    async put(rows) {
      const found = await table()
      if (found === undefined) return
      const records = rows.map((properties) => ({ type: 'Feature', geometry: null, properties }))
      const env = {
        timeZoneMin: 0,
        nowUs: BigInt(Date.now()) * 1000n,
        keyring: KEYRING,
        newPathId: randomUUID,
      }
      const putFile = async () => ''
      await of().tables.store.put(found, records, { ifExists: 'override', env, putFile, maxMergeRows: 1000 })
    },
    async rows() {
      const found = await table()
      if (found === undefined) return []
      const rows = await of().changes.after(found, 0, 1_000_000)
      return rows.map(({ origin, values }) => ({
        origin: origin === '' ? nodeId : origin,
        k: Number(values[3]),
        note: String(values[4]),
      }))
    },
    async lastChange() {
      const found = await table()
      return found === undefined ? 0 : await of().changes.last(found)
    },
    async feed(to, direction, conds = null) {
      const { state, identity, changes, sender } = of()
      await state.feedUpstreams.create({ name: to.name, endpoint: to.name, ...CLIENTS })
      const feed = {
        ...{ upstream: to.name, conds, columns: null, priority: 5, maxBytesPerSecond: 0, windows: [] },
        from: 'all' as const,
      }
      const deps = { feeds: state.feeds, identity, changes, newId: randomUUID }
      const found = await table()
      if (direction === 'down') await createDownFeed({ ...feed, dataName: TABLE }, deps)
      else if (found !== undefined) await createFeedRecord({ ...feed, table: found }, deps)
      await sender.wake()
    },
    async faults() {
      const { state } = of()
      const feeds = await state.feeds.list()
      return feeds.flatMap(({ progress }) => progress.stopped ?? [])
    },
    async feedStates() {
      const { state, sender, calling } = of()
      const lines: string[] = []
      for (const record of await state.feeds.list()) {
        const live = await sender.live(record.feedId)
        lines.push(`${name} ${record.direction} ${record.upstream}: ${JSON.stringify(live ?? 'never read')}`)
      }
      const calls = [...calling].map(
        ({ what, sinceMs }) => `${what} for ${Math.round(performance.now() - sinceMs)} ms`,
      )
      return [...lines, ...calls.map((call) => `${name} waits for ${call}`)]
    },
    async damage(how, origins, random) {
      const found = await table()
      if (found === undefined) return undefined
      return damageRow(path.join(home, 'data.db'), { tableName: found.tableName, origins }, how, random)
    },
    async verify(isRecount = false) {
      const { state, verifying } = of()
      const found: FeedVerification[] = []
      for (const record of await state.feeds.list()) {
        const verification = await verifyFeed(verifying, record, isRecount, AbortSignal.timeout(150_000))
        found.push({ ...verification, to: record.upstream, direction: record.direction })
      }
      return found
    },
  }
  net.nodes.set(name, node)
  return node
}

/** Opens the databases of a node and starts its feeds. */
async function openParts(
  net: FeedNet,
  { home, name, nodeId }: { home: string; name: string; nodeId: string },
): Promise<Parts> {
  const data = openDataDb(path.join(home, 'data.db'))
  const state = await openState(path.join(home, 'state.db'), { keyring: KEYRING })
  const nowUs = () => Date.now() * 1000
  const reading = {
    timeZoneMin: 0,
    pageRows: 100,
    keyring: KEYRING,
    nowUs,
    readFile: async () => new Uint8Array(),
  }
  const tables = openTables(data, reading)
  const changes = createTableChanges(data.reader)
  const identity = createFeedIdentity(data)
  const log = { info: () => undefined, warn: () => undefined }
  const nowMs = () => performance.now()
  const base = {
    ...{ identity, changes, nodeId, log, nowMs },
    findTable: (dataName: string) => tables.reader.find(dataName),
    env: () => ({ timeZoneMin: 0, nowUs: BigInt(nowUs()) }),
  }
  const receiving = {
    ...base,
    ...{ inbox: createFeedInbox(data), senders: state.feedSenders, asked: state.askedFeeds },
    valueBytes: 1_000_000,
    register: (definition: Parameters<typeof tables.store.register>[0]) =>
      tables.store.register(definition, nowUs()),
    requireSpace: async () => undefined,
  }
  const waiting = createWaiting({
    lastChange: (table: LoaderTable) => changes.last(table).catch(() => -1),
    watchWrites: (listener) => data.lock.watch(listener),
    changeCount: () => identity.changeCount(),
    pollMs: 1000,
  })
  const digests = createTableDigests(data)
  const giver = createFeedGiver({
    ...{ ...base, asked: state.askedFeeds, senders: state.feedSenders, waiting },
    digests,
    sumsLimit: () => AbortSignal.timeout(90_000),
  })
  const pause = (ms: number, signal: AbortSignal) => sleep(ms, undefined, { signal })
  const throttle = createThrottle(0, nowMs, pause)
  const fetching = {
    ...receiving,
    ...{ feeds: state.feeds, resends: state.feedResends, nowMs, throttle, readColumns },
    oneAtATime: <T>(work: () => Promise<T>) => work(),
  }
  const killing = new AbortController()
  const calling = new Set<PendingCall>()
  const connect = (endpoint: string) => {
    const client = createNodeClient({
      from: name,
      cut: net.cut,
      calling,
      find: () => net.nodes.get(endpoint)?.parts(),
    })
    return createFeedLink(client, createFetchLink(client))
  }
  const sender = startFeedSender({
    ...base,
    findCitation: async () => undefined, // its feeds are of tables
    fetchNext: (link, feed, waitS, signal) => fetchNext(fetching, link, feed, waitS, signal),
    feeds: state.feeds,
    resends: state.feedResends,
    upstreams: state.feedUpstreams,
    connect: ({ endpoint }) => connect(endpoint),
    throttle,
    throttleOf: () => throttle,
    waits: { baseMs: 1, capMs: 20 },
    batchWaitMs: 5,
    checkMs: 100,
    waitS: 1,
    sleep: (_ms, signal) => pause(5, signal),
    giveWay: async () => undefined,
    closedReason: async () => null,
    isInWindow: () => true,
    stateChanges: () => state.control.changeCount(),
    wakeCount: async () => 0,
    nowUs,
    random: Math.random,
  })
  return {
    ...{ tables, state, changes, identity, sender, giver, calling, killed: killing.signal },
    receiver: createFeedReceiver(receiving),
    sumsAnswerer: createSumsAnswerer({ digests, senders: state.feedSenders, nodeId, nowMs }),
    verifying: {
      ...{ ...base, digests, pause },
      connect: async (upstream) => connect(upstream),
      findFeed: (feedId) => state.feeds.find(feedId),
      progress: async (feedId) => ((await sender.live(feedId)) ?? (await state.feeds.find(feedId)))?.progress,
    },
    reader: data.reader,
    close() {
      killing.abort()
      waiting.stop()
      data.close()
      state.stateDb.db.close()
    },
  }
}
