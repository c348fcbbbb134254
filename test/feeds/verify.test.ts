import path from 'node:path'
import t from 'tap'
import { dayText } from '../../src/feeds/batch/days.js'
import { definitionDigest, type SentColumn } from '../../src/feeds/batch/definition.js'
import {
  feedTo,
  put,
  type Row,
  register,
  rowsOf,
  SYNC,
  startNode,
  startTwo,
  sync,
  untilSent,
} from '../support/feeds.js'
import { pairHeaders } from '../support/start-gateway.js'
import { edit, verify } from '../support/verified-feeds.js'

/** Columns of the table as nodes tell each other. */
const COLUMNS = [
  { name: 'k', udt_name: 'int4', is_nullable: false },
  { name: 'note', udt_name: 'text', is_nullable: true },
  { name: 'speed', udt_name: 'float8', is_nullable: true },
].map((column) => ({ ...column, column_default: null, length: null, srid: null })) as SentColumn[]

const today = (): string => dayText(Math.floor(Date.now() / 86_400_000))

async function pair(t: Parameters<typeof startNode>[0], params: object = {}) {
  const [here, there] = await startTwo(t)
  await register(here)
  return { here, there, start: () => feedTo(here, there, { params }) }
}

t.test('verify: a dropped, doubled or changed row at the receiver is found each time', async (t) => {
  const { here, there, start } = await pair(t)
  await put(
    here,
    Array.from({ length: 20 }, (_, k) => ({ k, note: `n${k}`, speed: k / 3 })),
  )
  const { feed } = await start()
  await put(here, [{ k: 3, note: 'again' }, { k: 30 }])
  t.same(await verify(here, feed), { equal: true, days: [], removed_days: [] })

  edit(there, 'DELETE FROM seen_tbl_0 WHERE k = 7')
  const dropped = await verify(here, feed)
  t.match(dropped, { equal: false, days: [{ day: today(), here: { rows: 21 }, there: { rows: 20 } }] })
  t.match(dropped.days[0]?.origin, /^[0-9a-f-]{36}$/)
  edit(there, `UPDATE seen_tbl_0 SET speed = speed + 1e-9 WHERE k = 5`)
  const changed = await verify(here, feed)
  t.equal(changed.days[0]?.there.rows, 20)
  t.not(changed.days[0]?.there.digest, dropped.days[0]?.there.digest)
  edit(
    there,
    `DROP INDEX seen_tbl_0_key; INSERT INTO seen_tbl_0 SELECT start_datetime, end_datetime, location, k, note, speed,
      1000, "row origin", "row change", "row day", "row version", "row sender" FROM seen_tbl_0 WHERE k = 2`,
  )
  t.match(await verify(here, feed), { equal: false, days: [{ there: { rows: 21 } }] })
  t.equal((await rowsOf(there)).length, 21)
})

t.test(
  'verify: a table that is written meanwhile is compared in a state that the receiver has',
  async (t) => {
    const { here, start } = await pair(t)
    const { feed } = await start()
    let isDone = false
    const writing = (async () => {
      for (let k = 0; !isDone; k++) await put(here, [{ k, note: 'x' }, { k: k >> 1 }])
    })()
    try {
      for (let at = 0; at < 3; at++)
        t.same(await verify(here, feed), { equal: true, days: [], removed_days: [] })
    } finally {
      isDone = true
      await writing
    }
  },
)

t.test('verify: conditions, columns and the beginning of a feed', async (t) => {
  const { here, there, start } = await pair(t, {
    ...{ conds: { '>': ['speed', 50] }, columns: ['k', 'speed'] },
    from: '2025-01-01 00:00:00+09',
  })
  await put(here, [
    { k: 1, speed: 99, start_datetime: '2024-01-01 00:00:00+09' },
    { k: 2, note: 'here alone', speed: 99, start_datetime: '2025-06-01 00:00:00+09' },
    { k: 3, speed: 1, start_datetime: '2025-06-01 00:00:00+09' },
  ])
  const { feed } = await start()
  await put(here, [{ k: 4, speed: 60, start_datetime: '2020-01-01 00:00:00+09' }, { k: 5 }])
  t.same(await verify(here, feed), { equal: true, days: [], removed_days: [] })
  edit(there, 'UPDATE seen_tbl_0 SET speed = 98 WHERE k = 2')
  t.match(await verify(here, feed), { equal: false, days: [{ here: { rows: 2 }, there: { rows: 2 } }] })
})

t.test('verify: rows that were not sent are no fault', async (t) => {
  const { here, start } = await pair(t)
  const { feed } = await start()
  await untilSent(here)
  await sync(here, 'update_feed', { feed, enabled: false })
  await put(here, [{ k: 1 }])
  await t.rejects(verify(here, feed), /FEED_BEHIND.*|1 changes of seen/)
  await sync(here, 'update_feed', { feed, enabled: true })
  t.same(await verify(here, feed), { equal: true, days: [], removed_days: [] })
})

t.test('verify: all rows are counted again where it is asked for', async (t) => {
  const { here, there, start } = await pair(t)
  await put(here, [{ k: 1 }, { k: 2 }])
  const { feed } = await start()
  t.same((await verify(here, feed)).days, [])
  for (const node of [here, there]) edit(node, 'UPDATE loader_digest_day SET rows = 5')
  t.match(await verify(there, feed).catch(String), /UNKNOWN_FEED/)
  edit(there, 'UPDATE loader_digest_day SET rows = 6')
  t.match(await verify(here, feed), { days: [{ here: { rows: 5 }, there: { rows: 6 } }] })
  t.same((await verify(here, feed, { recount: true })).days, [])
})

t.test('verify: rows of other nodes are compared with the right to relay only', async (t) => {
  const dir = t.testdir()
  const [van, relay, hub] = [
    await startNode(t, path.join(dir, 'van')),
    await startNode(t, path.join(dir, 'relay')),
    await startNode(t, path.join(dir, 'hub')),
  ]
  await register(van)
  await put(van, [{ k: 1 }])
  await feedTo(van, relay)
  await untilSent(van)
  await put(relay, [{ k: 1 }, { k: 2 }])
  const scopes = ['sync:write', 'sync:relay']
  const { feed } = await feedTo(relay, hub, { scopes })
  t.same(await verify(relay, feed), { equal: true, days: [], removed_days: [] })
  edit(hub, `DELETE FROM seen_tbl_0 WHERE k = 1`)
  const { days } = await verify(relay, feed)
  t.equal(days.length, 2, 'rows of the van and of the relay')
  t.equal(new Set(days.map(({ origin }) => origin)).size, 2)
})

t.test('verify: a key reads the sums of its own node only, unless it may relay', async (t) => {
  const { here, there, start } = await pair(t)
  await put(here, [{ k: 1 }])
  const { feed } = await start()
  await untilSent(here)
  const [{ _origin: origin }] = (await rowsOf(there)) as [Row]
  const key = await there.makeKey(['sync:write'])
  const own = '33333333-3333-4333-8333-333333333333'
  const definition = { data_name: 'seen', schema: 'event', columns: COLUMNS, unique_columns: ['k'] }
  const state = { node: own, feed: own, table: own, epoch: 1 }
  const ask = async (method: string, params: object) =>
    (await there.call(SYNC, `sync.${method}`, params, pairHeaders(key))).body
  t.match(await ask('offer_table', { ...state, start: 0, definition }), { result: { cursor: 0 } })
  const digest = definitionDigest(definition)
  const question = { ...state, digest, origins: [own] }
  t.match(await ask('table_sums', question), { result: { cursor: 0, sums: [] } })
  const faults = [
    [{ ...question, origins: [own, origin] }, /lacks the scope sync:relay/],
    [{ ...question, node: origin, feed, origins: [origin] }, /The key sends for the node 33333333/],
    [{ ...question, epoch: 2 }, /was not offered/],
    [{ ...question, feed }, /was not offered/],
  ] as const
  for (const [params, message] of faults) t.match((await ask('table_sums', params)).error, { message })
})
