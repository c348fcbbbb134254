import { createHash } from 'node:crypto'
import { type AppError, isAppError } from '../../errors.js'
import { createFeedRecord } from '../../feeds/create-feed.js'
import type { FeedIdentity, FeedRecord, FeedRows } from '../../storage/feeds.js'
import { HUB_UPSTREAM, type Membership, type ProfileItem } from '../../storage/membership.js'
import type { ModelStores } from '../../storage/model-stores.js'
import type { LoaderTable, TableChanges } from '../../storage/tables.js'
import type { UpstreamRows } from '../../storage/upstreams.js'
import { shorten } from '../../sync/faults.js'
import { canonicalText } from '../profile/digest.js'
import type { Profile, ProfileUp } from '../profile/schema.js'

/** What a profile is applied to. */
export interface ReconcileDeps {
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
 * Makes what a profile wants of feeds and model stores, and removes what a former one made. What an operator
 * made stays. A repeat changes nothing, also after the process died on the way.
 *
 * @returns one item for each part of the profile
 */
export async function reconcile(
  deps: ReconcileDeps,
  membership: Membership,
  profile: Profile,
): Promise<ProfileItem[]> {
  return [
    ...(await reconcileFeeds(deps, profile)),
    ...profile.down.map(({ table }) => refused(`down ${table}`, 'this version does not receive tables')),
    ...(await reconcileStores(deps, membership, profile)),
  ]
}

async function reconcileFeeds(deps: ReconcileDeps, { up }: Profile): Promise<ProfileItem[]> {
  const wanted = new Map(up.map((entry) => [feedIdOf(deps.nodeId, entry), entry]))
  const mine = (await deps.feeds.list()).filter((feed) => isOfProfile(deps.nodeId, feed))
  for (const { feedId } of mine) if (!wanted.has(feedId)) await deps.feeds.remove(feedId)
  const items: ProfileItem[] = []
  for (const [feedId, entry] of wanted) {
    const item = `up ${entry.table}`
    const feed = mine.find((one) => one.feedId === feedId)
    items.push(await itemOf(item, () => makeFeed(deps, feedId, feed, entry)))
  }
  return items
}

/** @returns what it waits for; undefined when it is made */
async function makeFeed(
  deps: ReconcileDeps,
  feedId: string,
  old: FeedRecord | undefined,
  entry: ProfileUp,
): Promise<string | undefined> {
  const table = await deps.findTable(entry.table)
  if (table === undefined) return `no table has the name ${entry.table} yet`
  const { conds = null, columns = null, priority, max_bytes_per_second: rate, windows, from } = entry
  await deps.checkConds(table, conds)
  const settings = { conds, priority, maxBytesPerSecond: rate, windows }
  if (old === undefined) {
    const { feeds, feedIdentity: identity, tableChanges: changes } = deps
    const feed = { table, upstream: HUB_UPSTREAM, columns, from, ...settings }
    await createFeedRecord(feed, { feeds, identity, changes, newId: () => feedId })
  } else if (canonicalText(settingsOf(old)) !== canonicalText(settings))
    await deps.feeds.update(feedId, settings)
  return undefined
}

function settingsOf({ conds, priority, maxBytesPerSecond, windows }: FeedRecord) {
  return { conds, priority, maxBytesPerSecond, windows }
}

/**
 * Returns the id of the feed that a profile makes: a UUID of version 8 from what cannot be changed in a feed,
 * so that it is recognised without a note.
 */
function feedIdOf(
  nodeId: string,
  {
    table,
    columns = null,
    from,
  }: { table: string; columns?: readonly string[] | null | undefined; from: string },
): string {
  const hex = createHash('sha256')
    .update(canonicalText([nodeId, table, columns, from]))
    .digest('hex')
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-')
}

function isOfProfile(
  nodeId: string,
  { feedId, upstream, dataName: table, columns, from }: FeedRecord,
): boolean {
  return upstream === HUB_UPSTREAM && feedId === feedIdOf(nodeId, { table, columns, from })
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
