import path from 'node:path'
import t from 'tap'
import {
  type FeedInfo,
  feedFrom,
  put,
  register,
  rowsOf,
  startNode,
  sync,
  until,
  untilSent,
} from '../support/feeds.js'
import { cli as runVerb } from '../support/run-cli.js'
import { pairHeaders } from '../support/start-gateway.js'
import { edit, SPAN, untilResent, verify } from '../support/verified-feeds.js'

async function pair(t: Parameters<typeof startNode>[0]) {
  const dir = t.testdir()
  const hub = await startNode(t, path.join(dir, 'hub'))
  const van = await startNode(t, path.join(dir, 'van'))
  await register(hub)
  return { hub, van }
}

const rows = (count: number) => Array.from({ length: count }, (_, k) => ({ k, note: `n${k}`, speed: k / 3 }))

t.test('verify of a feed down: a dropped, doubled or changed row here is found each time', async (t) => {
  const { hub, van } = await pair(t)
  await put(hub, rows(20))
  const { feed } = await feedFrom(van, hub)
  await put(hub, [{ k: 3, note: 'again' }, { k: 30 }])
  t.same(await verify(van, feed), { equal: true, days: [], removed_days: [] })

  edit(van, 'DELETE FROM seen_tbl_0 WHERE k = 7')
  const dropped = await verify(van, feed)
  t.match(dropped, { equal: false, days: [{ here: { rows: 20 }, there: { rows: 21 } }] })
  t.equal(dropped.days.length, 1)
  edit(van, 'UPDATE seen_tbl_0 SET speed = speed + 1e-9 WHERE k = 5')
  const changed = await verify(van, feed)
  t.equal(changed.days[0]?.here.rows, 20)
  t.not(changed.days[0]?.here.digest, dropped.days[0]?.here.digest)
  edit(
    van,
    `DROP INDEX seen_tbl_0_key; INSERT INTO seen_tbl_0 SELECT start_datetime, end_datetime, location, k, note, speed,
      1000, "row origin", "row change", "row day", "row version", "row sender" FROM seen_tbl_0 WHERE k = 2`,
  )
  t.match(await verify(van, feed), { equal: false, days: [{ here: { rows: 21 }, there: { rows: 21 } }] })
})

t.test('verify of a feed down: rows of this node and of others that it has are no difference', async (t) => {
  const { hub, van } = await pair(t)
  await put(hub, rows(3))
  const { feed } = await feedFrom(van, hub)
  await untilSent(van)
  await put(van, [{ k: 1, note: 'own' }, { k: 9 }])
  t.same(await verify(van, feed), { equal: true, days: [], removed_days: [] })
  t.equal((await rowsOf(van)).length, 5)
})

t.test('verify of a feed down: rows of this node are the newest there, and do not come back', async (t) => {
  const { hub, van } = await pair(t)
  await register(van)
  await put(hub, rows(3))
  const { feed } = await feedFrom(van, hub, { scopes: ['sync:read', 'sync:write'] })
  await sync(van, 'create_feed', { table: 'seen', upstream: 'from', from: 'all' })
  await until(
    () => rowsOf(van),
    ({ length }) => length === 3,
  )
  await put(van, [{ k: 50, note: 'own' }, { k: 51 }])
  await until(
    () => rowsOf(hub),
    ({ length }) => length === 5,
  )
  // the request of the feed waits there for 25 s: one question tells that it leaves out what is behind the cursor
  const cursorOf = async () =>
    (await sync<FeedInfo[]>(van, 'list_feeds')).find(({ feed: id }) => id === feed)?.cursor
  const before = await cursorOf()
  t.same(await verify(van, feed), { equal: true, days: [], removed_days: [] })
  t.same(await verify(van, feed, { recount: true }), { equal: true, days: [], removed_days: [] })
  t.equal(await cursorOf(), before, 'a comparison writes no cursor')
  edit(van, 'DELETE FROM seen_tbl_0 WHERE k = 1')
  t.match((await verify(van, feed)).days, [{ here: { rows: 2 }, there: { rows: 3 } }])
  // a feed that may not go on lacks nothing either, until a row of another node is there
  await sync(van, 'resend', { feed, ...SPAN })
  await untilResent(van)
  await sync(van, 'update_feed', { feed, enabled: false })
  t.same(await verify(van, feed), { equal: true, days: [], removed_days: [] })
  await put(hub, [{ k: 6 }])
  await t.rejects(verify(van, feed), /FEED_BEHIND/)
})

t.test('verify of a feed down: conditions, columns and the beginning of a feed', async (t) => {
  const { hub, van } = await pair(t)
  const at = (year: number) => ({ start_datetime: `${year}-06-01 00:00:00+09` })
  await put(hub, [
    { k: 1, speed: 99, ...at(2024) },
    { k: 2, speed: 99, ...at(2025) },
    { k: 3, speed: 1, ...at(2025) },
  ])
  const { feed } = await feedFrom(van, hub, {
    params: { conds: { '>': ['speed', 50] }, columns: ['k', 'speed'], from: '2025-01-01 00:00:00+09' },
  })
  // the feed begins when it is asked for: what is put before must start after `from`
  await until(
    () => rowsOf(van, 'seen', ['k']).catch(() => []),
    ({ length }) => length === 1,
  )
  await put(hub, [{ k: 4, speed: 60, ...at(2020) }, { k: 5 }])
  t.same(await verify(van, feed), { equal: true, days: [], removed_days: [] })
  await put(hub, [{ k: 6, speed: 2 }]) // the newest row there is none of the condition
  t.same(await verify(van, feed), { equal: true, days: [], removed_days: [] })
  edit(van, 'UPDATE seen_tbl_0 SET speed = 98 WHERE k = 2')
  t.match(await verify(van, feed), { equal: false, days: [{ here: { rows: 2 }, there: { rows: 2 } }] })
})

t.test('verify of a feed down: a table that is written meanwhile', async (t) => {
  const { hub, van } = await pair(t)
  const { feed } = await feedFrom(van, hub)
  let isDone = false
  const writing = (async () => {
    for (let k = 0; !isDone; k++) await put(hub, [{ k, note: 'x' }, { k: k >> 1 }])
  })()
  try {
    t.same(await verify(van, feed), { equal: true, days: [], removed_days: [] })
  } finally {
    isDone = true
    await writing
  }
  t.same(await verify(van, feed), { equal: true, days: [], removed_days: [] })
})

t.test('verify of a feed down: rows that did not come are no fault; both sides count again', async (t) => {
  const { hub, van } = await pair(t)
  await put(hub, rows(2))
  const { feed } = await feedFrom(van, hub)
  await untilSent(van)
  for (const node of [hub, van]) edit(node, 'UPDATE loader_digest_day SET rows = 7')
  t.match((await verify(van, feed, { recount: true })).days, [])
  edit(van, 'UPDATE loader_digest_day SET rows = 6')
  t.match(await verify(van, feed), { days: [{ here: { rows: 6 }, there: { rows: 2 } }] })
  await sync(van, 'update_feed', { feed, enabled: false })
  await put(hub, [{ k: 5 }])
  await t.rejects(verify(van, feed), /FEED_BEHIND|are not here yet/)
  const key = await hub.makeKey(['sync:read'], undefined, ['other'])
  edit(van, `UPDATE sync_upstream SET apikey = '${key.apiKey}'`, 'state.db')
  await t.rejects(verify(van, feed), /UPSTREAM|401|403/)
})

t.test('sync feed verify of a feed down: names the days, exit code 1', async (t) => {
  const { hub, van } = await pair(t)
  await put(hub, rows(4))
  await feedFrom(van, hub)
  await untilSent(van)
  const cli = (...argv: string[]) =>
    runVerb(van.dataDir, ['sync', 'feed', ...argv, '--data-dir', van.dataDir], {
      FIELDGATE_SYNC__ALLOW_LOOPBACK: 'true',
      FIELDGATE_SYNC__ALLOW_INSECURE: '["127.0.0.1"]',
    })
  await until(
    () => cli('verify', 'seen'),
    ({ code }) => code === 0,
  )
  edit(van, 'DELETE FROM seen_tbl_0 WHERE k = 2')
  const found = await cli('verify', 'seen')
  t.match(found, { code: 1, stdout: /^seen differs at from in 1 days:\nday .*\n\S+ +\S+ +3 +4 / })
})

t.test('ask_table: sums are for the key that was granted the table', async (t) => {
  const { hub } = await pair(t)
  await put(hub, rows(2))
  const VAN = '22222222-2222-4222-8222-222222222222'
  const question = { node: VAN, feed: VAN, table: 'seen', from: 'all', start: null, sums: 'kept' }
  const ask = async (tables: string[], more: object = {}) => {
    const key = await hub.makeKey(['sync:read'], undefined, tables)
    const { body } = await hub.call(
      '/api/v2/sync/jsonrpc',
      'sync.ask_table',
      { ...question, ...more },
      pairHeaders(key),
    )
    await hub.revokeKey(key.apiKey)
    return body
  }
  t.match(await ask(['seen']), { result: { last: 2, sums: [{ rows: 2 }], scanned: undefined } })
  const told = async (after: number) => (await ask(['seen'], { after })).result.scanned
  t.same([await told(0), await told(1), await told(2)], [0, 1, 2], 'no row is behind the last one')
  t.match(await ask(['other']), { error: { data: { name: 'FORBIDDEN' } } })
})
