import { randomUUID } from 'node:crypto'
import path from 'node:path'
import { type AppliedFile, applyBundles } from '../../src/bundles/apply.js'
import { type WriteOptions, type WrittenFor, writeBundles } from '../../src/bundles/write.js'
import { applyDeps, writeDeps } from '../../src/cli/bundles/bundle-data.js'
import type { FeedData } from '../../src/cli/feeds/feed-data.js'
import { loadConfig } from '../../src/config/config.js'
import { createFeedRecord } from '../../src/feeds/create-feed.js'
import { createDiskSpace } from '../../src/files/disk-space.js'
import { layoutOf, makeDirectories } from '../../src/files/layout.js'
import { openModelBlobs } from '../../src/gateway/exchange/models.js'
import { openNodeKeys } from '../../src/node-keys/keys.js'
import { createKeyring } from '../../src/storage/keyring.js'
import { openDataDb } from '../../src/storage/sqlite/connection/data-db.js'
import { createSweepLease } from '../../src/storage/sqlite/connection/lease.js'
import { createFeedIdentity } from '../../src/storage/sqlite/feeds/identity.js'
import { createTableDigests } from '../../src/storage/sqlite/feeds/table-digests.js'
import { openState } from '../../src/storage/sqlite/state.js'
import { findTable } from '../../src/storage/sqlite/tables/catalog.js'
import { createTableChanges } from '../../src/storage/sqlite/tables/changed-rows.js'
import { createTableStore } from '../../src/storage/sqlite/tables/store.js'
import { columnOf } from './tables.js'

/*
 * A data directory as the verbs of bundles use it, without a gateway. It may be one of a gateway that runs.
 */

/** Encrypts the keys of all nodes of a test. */
const KEYRING = createKeyring(new Uint8Array(32).fill(15))

/** One end of an exchange of bundles. */
export interface BundleSide {
  readonly data: FeedData
  readonly home: string
  readonly nodeId: string
  /** Makes another node known here. */
  meet(other: BundleSide, name: string, isRelay?: boolean): Promise<void>
  /** Makes the table `seen` and a feed of it that goes in bundles alone. */
  feedTo(name: string): Promise<string>
  put(rows: readonly { k: number; note?: string }[]): Promise<void>
  /** Returns the notes of the rows by origin and key; own rows have an empty origin. */
  rows(): Promise<Map<string, string | null>>
  write(file: string, names?: readonly string[], options?: Partial<WriteOptions>): Promise<WrittenFor[]>
  apply(file: string): Promise<AppliedFile>
  close(): Promise<void>
}

const TABLE = 'seen'
const COLUMNS = [columnOf({ name: 'k', udtName: 'int4' }), columnOf({ name: 'note', isNullable: true })]

/** Opens a data directory; makes it when it is absent. */
export async function openBundleSide(home: string, wantedId: string = randomUUID()): Promise<BundleSide> {
  const layout = layoutOf(home)
  makeDirectories(layout)
  const state = await openState(layout.stateDb, { keyring: KEYRING })
  const nodeId = await state.meta.claimNodeId(wantedId)
  const db = openDataDb(layout.dataDb)
  const loaded = loadConfig(null, {}, { dataDir: home })
  if ('faults' in loaded) throw new Error(JSON.stringify(loaded.faults))
  const disk = createDiskSpace(layout.root, 0)
  const data: FeedData = {
    ...{ state, db, timeZoneMin: 0, settings: { ...loaded, dataDir: home } },
    ...{ blobs: openModelBlobs(layout, disk), lease: createSweepLease(layout.leaseDb) },
    ...{ tableChanges: createTableChanges(db.reader), feedIdentity: createFeedIdentity(db) },
    tableDigests: createTableDigests(db),
    findTable: async (name) => findTable(db.reader, name),
    findCitation: async () => undefined, // bundles carry tables
  }
  return { data, home, nodeId, ...tableVerbs(data), ...bundleVerbs(data), close: () => closeSide(data) }
}

async function closeSide({ state, db }: FeedData): Promise<void> {
  db.close()
  await state.close()
}

function tableVerbs(data: FeedData): Pick<BundleSide, 'feedTo' | 'put' | 'rows'> {
  const { state, db, feedIdentity: identity, tableChanges: changes } = data
  const store = createTableStore(db)
  const nowUs = () => Date.now() * 1000
  const tableOf = async () =>
    (await data.findTable(TABLE)) ??
    (await store.register(
      { dataName: TABLE, schema: 'event', columns: COLUMNS, uniqueColumns: ['k'] },
      nowUs(),
    ))
  return {
    async feedTo(name) {
      await state.feedUpstreams.create({ name, endpoint: '', apikey: '', secret: '' })
      const feed = {
        ...{ upstream: name, conds: null, columns: null, priority: 5, maxBytesPerSecond: 0, windows: [] },
        ...{ table: await tableOf(), from: 'all' as const },
      }
      return (await createFeedRecord(feed, { feeds: state.feeds, identity, changes, newId: randomUUID }))
        .feedId
    },
    async put(rows) {
      const records = rows.map((properties) => ({ type: 'Feature', geometry: null, properties }))
      const env = { timeZoneMin: 0, nowUs: BigInt(nowUs()), keyring: KEYRING, newPathId: randomUUID }
      const options = { ifExists: 'override' as const, env, putFile: async () => '', maxMergeRows: 1000 }
      await store.put(await tableOf(), records, options)
    },
    async rows() {
      const table = await data.findTable(TABLE)
      const found = table === undefined ? [] : await changes.after(table, 0, 1_000_000)
      return new Map(
        found.map(({ origin, values }) => [`${origin} ${values[3]}`, values[4] as string | null]),
      )
    },
  }
}

function bundleVerbs(data: FeedData): Pick<BundleSide, 'meet' | 'write' | 'apply'> {
  const { nodePeers } = data.state
  return {
    async meet(other, name, isRelay = false) {
      const { identity } = await openNodeKeys(other.data.state.nodeKeys, other.nodeId)
      await nodePeers.add({ name, ...identity, isRelay })
    },
    async write(file, names, options = {}) {
      const peers = (await nodePeers.list()).filter(({ name }) => names?.includes(name) ?? true)
      const all = { maxBytes: Number.MAX_SAFE_INTEGER, isContinued: false, ...options }
      return await writeBundles(await writeDeps(data), file, peers, all)
    },
    apply: async (file) => await applyBundles(await applyDeps(data), file),
  }
}

/** Opens two nodes that know each other, the first with a feed to the second. */
export async function openPair(t: {
  testdir(): string
  teardown(work: () => unknown): unknown
}): Promise<{ dir: string; van: BundleSide; base: BundleSide; fileOf(name: string): string }> {
  const dir = t.testdir()
  const van = await openBundleSide(path.join(dir, 'van'), '11111111-1111-4111-8111-111111111111')
  const base = await openBundleSide(path.join(dir, 'base'), '22222222-2222-4222-8222-222222222222')
  t.teardown(() => Promise.all([van.close(), base.close()]))
  await van.meet(base, 'base')
  await base.meet(van, 'van')
  await van.feedTo('base')
  return { dir, van, base, fileOf: (name) => path.join(dir, name) }
}
