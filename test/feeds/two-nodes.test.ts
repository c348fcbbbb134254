import path from 'node:path'
import t from 'tap'
import {
  call,
  DEFINITION,
  drop,
  feedTo,
  MAP,
  put,
  queryOf,
  type Row,
  register,
  rowsOf,
  startNode,
  startTwo,
  sync,
  untilFeed,
  untilSent,
} from '../support/feeds.js'
import { backedUp } from '../support/fleet.js'
import type { TestGateway } from '../support/start-gateway.js'

async function keysOf(node: TestGateway): Promise<number[]> {
  return (await rowsOf(node)).map(({ k }) => Number(k)).sort((a, b) => a - b)
}

t.test('feeds: rows and overrides of a table reach another gateway under their origin', async (t) => {
  const [here, there] = await startTwo(t)
  await register(here)
  await put(here, [
    { k: 1, note: 'first' },
    { k: 2, note: 'second', speed: -0.1 },
  ])
  await feedTo(here, there)
  await untilSent(here)
  await put(here, [{ k: 2, note: 'again', lng: 139.71 }, { k: 3 }])
  const info = await untilSent(here)
  t.equal(info.rows_sent, 4)
  const [mine, theirs] = await Promise.all([rowsOf(here), rowsOf(there)])
  t.equal(theirs.length, 3)
  const origins = new Set(theirs.map(({ _origin }) => _origin))
  t.equal(origins.size, 1)
  t.match([...origins][0], /^[0-9a-f-]{36}$/)
  const bare = (rows: typeof mine) =>
    rows.map(({ _origin, ...row }) => row).sort((a, b) => Number(a.k) - Number(b.k))
  t.same(bare(theirs), bare(mine))
  t.match(await sync(here, 'list_feeds'), [{ state: 'idle', rows_behind: 0, last_error: null }])
})

t.test('feeds: conditions, columns and the beginning choose what travels', async (t) => {
  const [here, there] = await startTwo(t)
  await register(here)
  await put(here, [
    { k: 1, note: 'old', speed: 99, start_datetime: '2024-01-01 00:00:00+09' },
    { k: 2, note: 'new', speed: 99, start_datetime: '2025-06-01 00:00:00+09' },
    { k: 3, note: 'slow', speed: 1, start_datetime: '2025-06-01 00:00:00+09' },
  ])
  await feedTo(here, there, {
    params: {
      ...{ conds: { '>': ['speed', 50] }, columns: ['k', 'speed'] },
      from: '2025-01-01 00:00:00+09',
    },
  })
  await put(here, [{ k: 4, speed: 60, start_datetime: '2020-01-01 00:00:00+09' }])
  await untilSent(here)
  const rows = await call<{ features: { properties: Row }[] }>(
    ...([there, MAP, 'mapserv.eventdata', [queryOf(['k', 'speed'])]] as const),
  )
  t.same(
    rows.features.map(({ properties: { table: _, ...row } }) => row),
    [
      { k: 2, speed: 99 },
      { k: 4, speed: 60 },
    ],
  )
})

t.test('feeds: a refused row is set aside, and the others travel', async (t) => {
  const [here, there] = await startTwo(t, { limits: { valueBytes: 200_000 } })
  await register(here)
  await put(here, [{ k: 1 }, { k: 2, note: 'x'.repeat(300_000) }, { k: 3 }])
  await feedTo(here, there)
  const info = await untilSent(here)
  t.match(info.set_aside, { rows: 1, last: [{ row_key: '{"k":2}', reason: /limits.valueBytes/ }] })
  t.same(
    (await rowsOf(there)).map(({ k }) => k),
    [1, 3],
  )
  await put(here, [{ k: 2, note: 'short' }])
  await untilSent(here)
  t.same(
    (await rowsOf(there)).map(({ k }) => k),
    [1, 3, 2],
    'a row that was mended travels',
  )
})

t.test('feeds: a table with other columns stops the feed, which tells and goes on when mended', async (t) => {
  const [here, there] = await startTwo(t)
  await register(here)
  await register(there, { ...DEFINITION, record_def: { k: { udt_name: 'int8' } } })
  await put(here, [{ k: 1 }])
  const { feed } = await feedTo(here, there)
  const info = await untilFeed(here, ({ state }) => state === 'stopped')
  t.match(info.last_error, /TABLE_DIFFERS: .*k \(the sender has int4 not null, the receiver int8 not null\)/)
  await drop(there)
  await sync(here, 'update_feed', { feed })
  await untilSent(here)
  t.equal((await rowsOf(there)).length, 1)
})

t.test('feeds: a table that is dropped and registered again, there and here', async (t) => {
  const [here, there] = await startTwo(t)
  await register(here)
  await put(here, [{ k: 1 }, { k: 2 }])
  await feedTo(here, there)
  await untilSent(here)
  await drop(there)
  await put(here, [{ k: 3 }])
  await untilSent(here)
  t.same(await keysOf(there), [1, 2, 3], 'all rows went again')
  await drop(here)
  await register(here)
  await put(here, [{ k: 3, note: 'again' }, { k: 4 }])
  await untilSent(here)
  t.same(await keysOf(there), [1, 2, 3, 4], 'rows of the new table are added')
})

t.test('feeds: a relay passes rows on under their origin, and none comes back', async (t) => {
  const dir = t.testdir()
  const van = await startNode(t, path.join(dir, 'van'))
  const relay = await startNode(t, path.join(dir, 'relay'))
  const hub = await startNode(t, path.join(dir, 'hub'))
  await register(van)
  await put(van, [{ k: 1, note: 'van' }])
  await feedTo(van, relay)
  await untilSent(van)
  await put(relay, [{ k: 1, note: 'relay' }])
  await feedTo(relay, hub, { scopes: ['sync:write', 'sync:relay'] })
  await untilSent(relay)
  // the hub sends to the van: rows of the van are not taken back
  await feedTo(hub, van, { scopes: ['sync:write', 'sync:relay'] })
  await untilSent(hub)
  const notes = async (node: TestGateway) => (await rowsOf(node)).map(({ note }) => note).sort()
  t.same(await notes(hub), ['relay', 'van'])
  t.same(await notes(van), ['relay', 'van'])
  t.same(
    (await rowsOf(van)).filter(({ _origin }) => _origin === '').map(({ note }) => note),
    ['van'],
  )
  await put(van, [{ k: 1, note: 'van again' }])
  for (const node of [van, relay, hub]) await untilSent(node)
  t.same(await notes(hub), ['relay', 'van again'])
  t.same(await notes(van), ['relay', 'van again'])
})

t.test('feeds: a key sends rows of its own node only, unless it may relay', async (t) => {
  const dir = t.testdir()
  const van = await startNode(t, path.join(dir, 'van'))
  const relay = await startNode(t, path.join(dir, 'relay'))
  const hub = await startNode(t, path.join(dir, 'hub'))
  await register(van)
  await put(van, [{ k: 1 }])
  await feedTo(van, relay)
  await untilSent(van)
  await feedTo(relay, hub)
  const info = await untilFeed(relay, ({ last_error }) => last_error !== null)
  t.match(info.last_error, /lacks the scope sync:relay, found a row of the node/)
  t.same(await rowsOf(hub), [])
})

t.test('feeds: either side is restored from an older backup', async (t) => {
  const { start, backup, restore } = backedUp(t, t.testdir())
  const [first, base] = [await start('van'), await start('base')]
  await register(first.node)
  await feedTo(first.node, base.node)
  const rows = (from: number, note: string) => Array.from({ length: 50 }, (_, at) => ({ k: from + at, note }))
  await put(first.node, rows(0, 'first'))
  await untilSent(first.node)
  await backup('base', 'base-backups')
  await backup('van', 'van-backups')
  await put(first.node, rows(25, 'second'))
  await untilSent(first.node)
  await base.stop()
  const { node: there } = await restore('base-backups', 'base2', Number(new URL(base.node.url).port))
  t.equal((await rowsOf(there)).length, 50, 'the receiver has what it had then')
  await put(first.node, rows(1000, 'third'))
  await untilSent(first.node)
  const bare = async (node: TestGateway) =>
    (await rowsOf(node)).map(({ _origin, ...row }) => row).sort((a, b) => Number(a.k) - Number(b.k))
  t.same(await bare(there), await bare(first.node))

  await first.stop()
  const { node: here } = await restore('van-backups', 'van2')
  await put(here, rows(2000, 'fourth'))
  await untilSent(here)
  const [mine, theirs] = [await bare(here), await bare(there)]
  t.equal(mine.length, 100, 'first and fourth')
  t.equal(theirs.length, 175, 'what the sender lost is kept')
  const byKey = new Map(theirs.map((row) => [row.k, row]))
  for (const row of mine) t.same(byKey.get(row.k), row)
})
