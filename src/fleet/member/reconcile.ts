import { createHash } from 'node:crypto'
import { type AppError, isAppError } from '../../errors.js'
import { createDownFeed, createFeedRecord } from '../../feeds/create-feed.js'
import type { FeedIdentity, FeedRecord, FeedRows, FeedSettings } from '../../storage/exchange/feeds.js'
import { HUB_UPSTREAM, type Membership, type ProfileItem } from '../../storage/exchange/membership.js'
import type { ModelStores } from '../../storage/models/model-stores.js'
import type { UpstreamRows } from '../../storage/models/upstreams.js'
import type { LoaderTable, TableChanges } from '../../storage/tables.js'
import { shorten } from '../../sync/faults.js'
import { canonicalText } from '../profile/digest.js'
import { installedFilesOf } from '../profile/files.js'
import type { Profile, ProfileUp } from '../profile/schema.js'
import { type InstallDeps, installFiles } from './install-files.js'
import type { ReleaseStage } from './stage-release.js'

/** Parts of the gateway to which a profile is applied. */
export interface ReconcileDeps {
  /** maps and modules */
  readonly files: InstallDeps
  /** the release of the program, which is staged and never installed here */
  readonly releases: Pick<ReleaseStage, 'stage'>
  readonly feeds: FeedRows
  readonly feedIdentity: Pick<FeedIdentity, 'tableUuid'>
  readonly tableChanges: Pick<TableChanges, 'last'>
  readonly modelStores: ModelStores
  readonly upstreams: UpstreamRows
  /** UUID of this node */
  readonly nodeId: string
  findTable(name: string): Promise<LoaderTable | undefined>
  /** @throws AppError BAD_CONDITION, TOO_EXPENSIVE */
  checkConds(table: LoaderTable, conds: unknown): Promise<void>
}

/**
 * Makes what a profile wants of feeds, model stores and files, and removes what a former one made. What an operator
 * made stays. A repeat changes nothing, also after the process died on the way.
 *
 * @returns one item for each part of the profile
 */
export async function reconcile(
  deps: ReconcileDeps,
  membership: Membership,
  profile: Profile,
): Promise<ProfileItem[]> {
  const items = [
    ...(await reconcileFeeds(deps, profile)),
    ...(await reconcileStores(deps, membership, profile)),
    ...(await installFiles(deps.files, installedFilesOf(profile))),
  ]
  // staged last, and told first: a report has room for 50 items
  return [...(await deps.releases.stage(profile)), ...items]
}

/** A feed that a profile wants. */
type Wanted = Pick<FeedRecord, 'direction'> & ProfileUp

async function reconcileFeeds(deps: ReconcileDeps, { up, down }: Profile): Promise<ProfileItem[]> {
  const entries: Wanted[] = [
    ...up.map((entry) => ({ direction: 'up' as const, ...entry })),
    ...down.map((entry) => ({ direction: 'down' as const, from: 'all' as const, ...entry })),
  ]
  const wanted = new Map(entries.map((entry) => [feedIdOf(deps.nodeId, entry), entry]))
  const mine = (await deps.feeds.list()).filter((feed) => isOfProfile(deps.nodeId, feed))
  for (const { feedId } of mine) if (!wanted.has(feedId)) await deps.feeds.remove(feedId)
  const items: ProfileItem[] = []
  for (const [feedId, entry] of wanted) {
    const feed = mine.find((one) => one.feedId === feedId)
    const make = entry.direction === 'up' ? makeUp : makeDown
    items.push(await itemOf(`${entry.direction} ${entry.table}`, () => make(deps, feedId, feed, entry)))
  }
  return items
}

/** @returns what it waits for; undefined when it is made */
async function makeUp(
  deps: ReconcileDeps,
  feedId: string,
  old: FeedRecord | undefined,
  entry: Wanted,
): Promise<string | undefined> {
  const table = await deps.findTable(entry.table)
  if (table === undefined) return `no table has the name ${entry.table} yet`
  const settings = settingsIn(entry)
  await deps.checkConds(table, settings.conds)
  if (old !== undefined) return await changeFeed(deps, old, settings)
  const { feeds, feedIdentity: identity, tableChanges: changes } = deps
  const feed = {
    table,
    upstream: HUB_UPSTREAM,
    columns: entry.columns ?? null,
    from: entry.from,
    ...settings,
  }
  await createFeedRecord(feed, { feeds, identity, changes, newId: () => feedId })
  return undefined
}

/** Makes a feed down: the hub checks its condition, and has its table. */
async function makeDown(
  deps: ReconcileDeps,
  feedId: string,
  old: FeedRecord | undefined,
  entry: Wanted,
): Promise<undefined> {
  const settings = settingsIn(entry)
  if (old !== undefined) return await changeFeed(deps, old, settings)
  const { table: dataName, columns = null, from } = entry
  const feed = { dataName, upstream: HUB_UPSTREAM, columns, from, ...settings }
  await createDownFeed(feed, { feeds: deps.feeds, newId: () => feedId })
  return undefined
}

type Settings = Omit<FeedSettings, 'isEnabled'>

/** An update ends waits and stops, so an equal one is left out. */
async function changeFeed({ feeds }: ReconcileDeps, old: FeedRecord, settings: Settings): Promise<undefined> {
  const { conds, priority, maxBytesPerSecond, windows } = old
  if (canonicalText({ conds, priority, maxBytesPerSecond, windows }) !== canonicalText(settings))
    await feeds.update(old.feedId, settings)
}

function settingsIn({ conds = null, priority, max_bytes_per_second, windows }: Wanted): Settings {
  return { conds, priority, maxBytesPerSecond: max_bytes_per_second, windows }
}

/**
 * Returns the id of the feed that a profile makes: a UUID of version 8 from what cannot be changed in a feed,
 * so that it is recognised without a note.
 */
function feedIdOf(
  nodeId: string,
  {
    direction,
    table,
    columns = null,
    from,
  }: Pick<Wanted, 'direction' | 'table'> & { columns?: readonly string[] | null | undefined; from: string },
): string {
  const text = canonicalText([nodeId, direction, table, columns, from])
  const hex = createHash('sha256').update(text).digest('hex')
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`]
  return [...parts, hex.slice(20, 32)].join('-')
}

function isOfProfile(nodeId: string, feed: FeedRecord): boolean {
  const { feedId, upstream, direction, dataName: table, columns, from } = feed
  return upstream === HUB_UPSTREAM && feedId === feedIdOf(nodeId, { direction, table, columns, from })
}

/** Removes the feeds to the hub. */
export async function removeFeeds({ feeds }: Pick<ReconcileDeps, 'feeds'>): Promise<void> {
  for (const { feedId, upstream } of await feeds.list())
    if (upstream === HUB_UPSTREAM) await feeds.remove(feedId)
}

/** Makes the upstreams of model stores that a profile wants, and removes those of a former one. */
export async function reconcileStores(
  { upstreams, modelStores }: Pick<ReconcileDeps, 'upstreams' | 'modelStores'>,
  { hubUrl, apiKey, secret }: Membership,
  { model_stores: wanted }: Profile,
): Promise<ProfileItem[]> {
  const all = await upstreams.list({ env: { timeZoneMin: 0, nowUs: 0n } })
  const mine = all.filter(({ alias, endpoint }) => alias === HUB_UPSTREAM && endpoint === hubUrl)
  for (const { upstreamId, storeName } of mine)
    if (!wanted.some(({ store }) => store === storeName)) await upstreams.remove(upstreamId)
  const items: ProfileItem[] = []
  for (const { store: name, hub_store: upstreamStore = name } of wanted) {
    const make = async () => {
      if (apiKey === null || secret === null) return 'the key for the hub is not there'
      const store = (await modelStores.find(name)) ?? (await modelStores.create(name))
      if (store === undefined) return `the store ${name} is being made`
      const old = mine.find(({ storeName }) => storeName === name)
      const fresh = { apikey: apiKey, upstreamStore }
      if (old === undefined)
        await upstreams.create({
          ...{ storeId: store.storeId, endpoint: hubUrl, secret, alias: HUB_UPSTREAM, isEnabled: true },
          ...{ description: 'made by the profile of the hub', ...fresh },
        })
      else if (old.apikey !== apiKey || old.secret !== secret || old.upstreamStore !== upstreamStore)
        await upstreams.update(old.upstreamId, { ...fresh, secret })
      return undefined
    }
    items.push(await itemOf(`model_stores ${name}`, make))
  }
  return items
}

/** Makes a part of a profile. What it refuses is no fault of the others. */
async function itemOf(item: string, make: () => Promise<string | undefined>): Promise<ProfileItem> {
  try {
    const reason = await make()
    return { item, state: reason === undefined ? 'applied' : 'waiting', reason: reason ?? null }
  } catch (error) {
    if (!isAppError(error) || isPassing(error)) throw error
    return refused(item, shorten(error.message))
  }
}

function refused(item: string, reason: string): ProfileItem {
  return { item, state: 'refused', reason }
}

/** True for faults of this moment: the whole is tried again. */
function isPassing({ errorName }: AppError): boolean {
  return errorName === 'BUSY' || errorName === 'DISK_FULL'
}
