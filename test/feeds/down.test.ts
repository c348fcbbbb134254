import path from 'node:path'
import t from 'tap'
import {
  DEFINITION,
  drop,
  feedFrom,
  put,
  register,
  rowsOf,
  SYNC,
  startNode,
  startTwo,
  sync,
  until,
  untilFeed,
  untilSent,
} from '../support/feeds.js'
import { type KeyPair, pairHeaders, type TestGateway } from '../support/start-gateway.js'

const VAN = '22222222-2222-4222-8222-222222222222'
const FEED = '33333333-3333-4333-8333-333333333333'

t.test(
  'feeds down: rows and overrides of an upstream arrive under their origin, in a table made for them',
  async (t) => {
    const [hub, van] = await startTwo(t)
    await register(hub)
    await put(hub, [
      { k: 1, note: 'first' },
      { k: 2, note: 'second', speed: -0.1 },
    ])
    await feedFrom(van, hub)
    await untilSent(van)
    t.same(
      (await rowsOf(van)).map(({ k, note }) => [k, note]),
      [
        [1, 'first'],
        [2, 'second'],
      ],
    )
    await put(hub, [{ k: 2, note: 'again' }, { k: 3 }])
    await until(
      () => rowsOf(van),
      (rows) => rows.length === 3,
    )
    const rows = await rowsOf(van)
    t.equal(rows.find(({ k }) => k === 2)?.note, 'again')
    t.match(rows[0]?._origin, /^[0-9a-f-]{36}$/)
    t.match(await sync(van, 'list_feeds'), [
      { direction: 'down', state: 'idle', rows_behind: 0, rows_sent: 4 },
    ])
    await untilFeed(van, ({ last_error }) => last_error === null)
  },
)

t.test('feeds down: a key reads the tables that it was granted, and manages nothing', async (t) => {
  const dir = t.testdir()
  const hub = await startNode(t, path.join(dir, 'hub'))
  await register(hub)
  await register(hub, { ...DEFINITION, data_name: 'secret' })
  const question = { node: VAN, feed: FEED, from: 'all', start: null }
  const ask = async (key: KeyPair, table: string, feed = FEED) =>
    (await hub.call(SYNC, 'sync.ask_table', { ...question, table, feed }, pairHeaders(key))).body
  const nameOf = ({ error }: { error?: { data: { name: string }; message: string } }) =>
    error?.data.name ?? 'ok'
  const expected: [scopes: string[], tables: string[] | undefined, seen: string, secret: string][] = [
    [['sync:read'], ['seen'], 'ok', 'FORBIDDEN'],
    [['sync:read'], ['*'], 'ok', 'ok'],
    [['sync:read'], undefined, 'FORBIDDEN', 'FORBIDDEN'],
    [['sync:write'], undefined, 'FORBIDDEN', 'FORBIDDEN'],
    [['sync:write', 'sync:relay'], ['seen'], 'ok', 'FORBIDDEN'],
    [['map:read', 'loader:write'], ['seen'], 'FORBIDDEN', 'FORBIDDEN'],
  ]
  for (const [scopes, tables, seen, secret] of expected) {
    const key = await hub.makeKey(scopes, undefined, tables)
    t.equal(nameOf(await ask(key, 'seen')), seen, `${scopes} with ${tables}: seen`)
    t.equal(nameOf(await ask(key, 'secret')), secret, `${scopes} with ${tables}: secret`)
    await hub.revokeKey(key.apiKey)
  }
  // a batch is given for a granted table alone, and for what this key has asked for
  const key = await hub.makeKey(['sync:read', 'sync:write'], undefined, ['seen'])
  const { result } = await ask(key, 'seen')
  const get = (
    headers: Record<string, string>,
    query = `feed=${FEED}&epoch=${result.epoch}&after=0&wait=0`,
  ) => fetch(`${hub.url}/api/v2/sync/tables/${result.table}/batches?${query}`, { headers })
  t.equal((await get(pairHeaders(key))).status, 204, 'no row yet')
  t.equal((await get(pairHeaders(key), `feed=${FEED}&epoch=1&after=x&wait=0`)).status, 400)
  t.equal((await get(pairHeaders(key), `feed=${VAN}&epoch=1&after=0&wait=0`)).status, 404)
  t.equal((await get(pairHeaders(key), `feed=${FEED}&epoch=1&after=9&wait=0`)).status, 404, 'ahead')
  const other = await hub.makeKey(['sync:read'], undefined, ['*'])
  t.equal((await get(pairHeaders(other))).status, 404, 'a feed of another key')
  t.equal((await get(pairHeaders(await hub.makeKey(['map:read'])))).status, 403)
  // what the operator does is not for keys of nodes
  for (const [method, params] of [
    ['list_feeds', {}],
    ['list_upstreams', {}],
    ['create_upstream', { name: 'x', endpoint: hub.url, apikey: 'a', secret: 'b' }],
    ['create_feed', { table: 'seen', upstream: 'x' }],
    ['update_feed', { feed: FEED }],
    ['delete_feed', { feed: FEED }],
    ['delete_upstream', { name: 'x' }],
  ] as const) {
    const { body } = await hub.call(SYNC, `sync.${method}`, params, pairHeaders(key))
    t.equal(nameOf(body), 'FORBIDDEN', method)
  }
})

t.test('feeds down: a key with a grant sends the tables of the grant alone', async (t) => {
  const [van, hub] = await startTwo(t)
  await register(van)
  const key = await hub.makeKey(['sync:write'], undefined, ['other'])
  const upstream = { name: 'up', endpoint: hub.url, apikey: key.apiKey, secret: key.secret }
  await sync(van, 'create_upstream', upstream)
  await sync(van, 'create_feed', { table: 'seen', upstream: 'up', from: 'all' })
  const info = await untilFeed(van, ({ last_error }) => last_error !== null)
  t.match(info.last_error, /may not use the table seen as a feed: it was granted other/)
})

t.test('feeds down: conditions, columns and the beginning choose what comes', async (t) => {
  const [hub, van] = await startTwo(t)
  await register(hub)
  const at = (year: number) => ({ start_datetime: `${year}-06-01 00:00:00+09` })
  await put(hub, [
    { k: 1, speed: 99, ...at(2024) },
    { k: 2, speed: 99, ...at(2025) },
    { k: 3, speed: 1, ...at(2025) },
  ])
  const { feed } = await feedFrom(van, hub, {
    params: { conds: { '>': ['speed', 50] }, columns: ['k', 'speed'], from: '2025-01-01 00:00:00+09' },
  })
  await untilSent(van)
  await put(hub, [
    { k: 4, speed: 60, ...at(2020) },
    { k: 5, speed: 2 },
  ])
  const keys = async () => (await rowsOf(van, 'seen', ['k', 'speed'])).map(({ k }) => k)
  t.same(await until(keys, ({ length }) => length === 2), [2, 4])
  await sync(van, 'update_feed', { feed, conds: null })
  await put(hub, [{ k: 6, speed: 3 }])
  t.same(await until(keys, ({ length }) => length === 3), [2, 4, 6], 'a condition holds for what comes')
})

t.test(
  'feeds down: a table with other columns stops the feed; a table that was dropped comes again',
  async (t) => {
    const [hub, van] = await startTwo(t)
    await register(hub)
    await put(hub, [{ k: 1 }, { k: 2 }])
    await register(van, { ...DEFINITION, record_def: { k: { udt_name: 'int8' } } })
    const { feed } = await feedFrom(van, hub)
    const info = await untilFeed(van, ({ state }) => state === 'stopped')
    t.match(
      info.last_error,
      /TABLE_DIFFERS: .*k \(the sender has int4 not null, the receiver int8 not null\)/,
    )
    await drop(van)
    await sync(van, 'update_feed', { feed })
    const keys = async () => (await keysOf(van)).join()
    await until(keys, (found) => found === '1,2')
    await drop(van)
    await until(
      () => keys().catch(() => ''),
      (found) => found === '1,2',
    )
    await drop(hub)
    await register(hub)
    await put(hub, [{ k: 2, note: 'new' }, { k: 3 }])
    await until(keys, (found) => found === '1,2,3')
  },
)

t.test('feeds down: a row that is refused here is set aside, and the others come', async (t) => {
  const [hub, van] = await startTwo(t, { limits: { valueBytes: 200_000 } })
  await register(hub)
  await put(hub, [{ k: 1 }, { k: 2, note: 'x'.repeat(300_000) }, { k: 3 }])
  await feedFrom(van, hub)
  const info = await untilSent(van)
  t.match(info.set_aside, { rows: 1, last: [{ row_key: '{"k":2}', reason: /limits.valueBytes/ }] })
  t.same(await keysOf(van), [1, 3])
  await put(hub, [{ k: 2, note: 'short' }])
  await until(
    () => keysOf(van),
    ({ length }) => length === 3,
  )
})

async function keysOf(node: TestGateway): Promise<number[]> {
  return (await rowsOf(node)).map(({ k }) => Number(k)).sort((a, b) => a - b)
}
