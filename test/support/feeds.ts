import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import type { Settings } from '../../src/config/config.js'
import { type RpcAnswer, startGateway, type TestGateway } from './start-gateway.js'

/** Settings with which gateways on this machine may send to each other, at once. */
export const FEED_SETTINGS: Settings = {
  sync: {
    ...{ allowLoopback: true, allowInsecure: ['127.0.0.1'], batchWaitS: 0.05 },
    ...{ retryBaseS: 0.05, retryCapS: 0.2 },
  },
}

export const SYNC = '/api/v2/sync/jsonrpc'
const LOADER = '/api/v1/dataloaderapi/jsonrpc'
export const MAP = '/api/v1/svcapi/jsonrpc'

/** Definition of the table of the tests. */
export const DEFINITION = {
  ...{ data_name: 'seen', unique_columns: ['k'] },
  record_def: {
    k: { udt_name: 'int4' },
    note: { udt_name: 'text', is_nullable: true },
    speed: { udt_name: 'float8', is_nullable: true },
  },
}

type TestLike = Parameters<typeof startGateway>[0]

/** Starts a gateway that may send to others on this machine. */
export async function startNode(t: TestLike, dataDir: string, settings: Settings = {}): Promise<TestGateway> {
  return await startGateway(t, { dataDir, settings: { ...FEED_SETTINGS, ...settings } })
}

/** Starts two of them in a fresh folder. @param settings those of the second */
export async function startTwo(
  t: TestLike & Pick<Test, 'testdir'>,
  settings: Settings = {},
): Promise<[TestGateway, TestGateway]> {
  const dir = t.testdir()
  const first = await startNode(t, path.join(dir, 'first'))
  return [first, await startNode(t, path.join(dir, 'second'), settings)]
}

/** Calls a method. @throws Error for an error answer */
export async function call<T>(node: TestGateway, path: string, method: string, params?: unknown): Promise<T> {
  const { body } = await node.call(path, method, params)
  if (body.error !== undefined) throw new Error(`${method}: ${JSON.stringify(body.error)}`)
  return body.result as T
}

export const sync = <T>(node: TestGateway, method: string, params?: unknown): Promise<T> =>
  call<T>(node, SYNC, `sync.${method}`, params)

export const register = (node: TestGateway, definition: object = DEFINITION): Promise<unknown> =>
  call(node, LOADER, 'loaderwebapi.register_loader', definition)

export const drop = (node: TestGateway): Promise<unknown> =>
  call(node, LOADER, 'loaderwebapi.drop_loader', { data_name: 'seen' })

/** Puts rows, overriding those with the same key. */
export async function put(
  node: TestGateway,
  rows: readonly Record<string, unknown>[],
  name = 'seen',
): Promise<RpcAnswer> {
  const record_set = rows.map(({ lng = 139.7, lat = 35.6, ...properties }) => ({
    ...{ type: 'Feature', geometry: { type: 'Point', coordinates: [lng, lat] } },
    properties: { start_datetime: '2025-01-02 03:04:05+09', ...properties },
  }))
  const params = { data_name: name, options: { if_exists: 'override' }, record_set }
  return await call(node, LOADER, 'loaderwebapi.add_record', params)
}

/** A row of a table as it is compared between nodes. */
export type Row = Record<string, unknown>

/** Query for columns of all rows. */
export const queryOf = (columns: readonly string[], table = 'seen') => ({
  ...{ type: 'Feature', geometry: null, properties: { table, columns } },
})

/** Reads all rows with their origins, in the order of origin and key. */
export async function rowsOf(
  node: TestGateway,
  name = 'seen',
  columns: readonly string[] = ['_origin', 'k', 'note', 'speed', 'start_datetime'],
): Promise<Row[]> {
  const found = await call<{ features: { geometry: unknown; properties: Row }[] }>(
    ...([node, MAP, 'mapserv.eventdata', [queryOf(columns, name)]] as const),
  )
  return found.features.map(({ geometry, properties }) => ({ ...properties, geometry }))
}

/** Makes a key at `to`, and an upstream and a feed at `from`. @returns the feed */
export async function feedTo(
  from: TestGateway,
  to: TestGateway,
  { params = {}, scopes = ['sync:write'] }: { params?: object; scopes?: readonly string[] } = {},
): Promise<{ feed: string }> {
  const key = await to.makeKey(scopes)
  const upstream = { name: 'up', endpoint: to.url, apikey: key.apiKey, secret: key.secret }
  await sync(from, 'create_upstream', upstream)
  return await sync(from, 'create_feed', { table: 'seen', upstream: 'up', from: 'all', ...params })
}

/** Makes a key at `from` with tables, and an upstream and a feed down at `to`. @returns the feed */
export async function feedFrom(
  to: TestGateway,
  from: TestGateway,
  {
    params = {},
    scopes = ['sync:read'],
    tables = ['seen'],
  }: { params?: object; scopes?: readonly string[]; tables?: readonly string[] } = {},
): Promise<{ feed: string }> {
  const key = await from.makeKey(scopes, undefined, tables)
  const upstream = { name: 'from', endpoint: from.url, apikey: key.apiKey, secret: key.secret }
  await sync(to, 'create_upstream', upstream)
  const feed = { table: 'seen', direction: 'down', upstream: 'from', from: 'all', ...params }
  return await sync(to, 'create_feed', feed)
}

/** Waits until a condition holds. @throws Error after 60 s, with what was last seen */
export async function until<T>(read: () => Promise<T>, isDone: (value: T) => boolean): Promise<T> {
  const endsAt = performance.now() + 60_000
  for (;;) {
    const value = await read()
    if (isDone(value)) return value
    if (performance.now() > endsAt) throw new Error(`waited in vain, found ${JSON.stringify(value)}`)
    await sleep(20)
  }
}

/** Feed as `sync.list_feeds` prints it. */
export interface FeedInfo {
  feed: string
  state: string
  cursor: number
  rows_behind: number
  rows_sent: number
  bytes_sent: number
  last_error: string | null
  set_aside: { rows: number; last: { row_key: string; reason: string }[] }
}

/** Waits until the only feed of a node has a state. */
export async function untilFeed(node: TestGateway, isDone: (feed: FeedInfo) => boolean): Promise<FeedInfo> {
  const read = async () => (await sync<FeedInfo[]>(node, 'list_feeds'))[0]
  return (await until(read, (feed) => feed !== undefined && isDone(feed))) as FeedInfo
}

/** Waits until a feed has sent everything. */
export const untilSent = (node: TestGateway): Promise<FeedInfo> =>
  untilFeed(node, ({ rows_behind, state }) => rows_behind === 0 && state === 'idle')
