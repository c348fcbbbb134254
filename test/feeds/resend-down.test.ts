import path from 'node:path'
import t from 'tap'
import type { Settings } from '../../src/config/config.js'
import { dayText } from '../../src/feeds/batch/days.js'
import { feedFrom, put, register, rowsOf, startNode, sync, until, untilSent } from '../support/feeds.js'
import { cli as runVerb } from '../support/run-cli.js'
import type { TestGateway } from '../support/start-gateway.js'
import { edit, SPAN, TODAY, untilResent, verify } from '../support/verified-feeds.js'

async function pair(t: Parameters<typeof startNode>[0], params: object = {}, settings: Settings = {}) {
  const dir = t.testdir()
  const hub = await startNode(t, path.join(dir, 'hub'))
  const van = await startNode(t, path.join(dir, 'van'), settings)
  await register(hub)
  const { feed } = await feedFrom(van, hub, { params })
  return { hub, van, feed }
}

async function untilEqual(node: TestGateway, feed: string): Promise<void> {
  await until(
    () => verify(node, feed),
    ({ equal }) => equal,
  )
}

t.test('resend of a feed down: dropped and changed rows are mended, and each is there once', async (t) => {
  const { hub, van, feed } = await pair(t)
  await put(
    hub,
    Array.from({ length: 30 }, (_, k) => ({ k, note: `n${k}`, speed: k / 7 })),
  )
  await put(hub, [{ k: 4, note: 'again' }])
  await untilEqual(van, feed)
  const byKey = (rows: Awaited<ReturnType<typeof rowsOf>>) =>
    rows.toSorted((a, b) => Number(a.k) - Number(b.k))
  const before = byKey(await rowsOf(van))
  edit(van, 'DELETE FROM seen_tbl_0 WHERE k IN (4, 9); UPDATE seen_tbl_0 SET note = NULL WHERE k = 20')
  t.match(await verify(van, feed), { equal: false, days: [{ here: { rows: 28 }, there: { rows: 30 } }] })
  t.match(await sync(van, 'resend', { feed, ...SPAN }), { rows: 30, from_day: dayText(TODAY) })
  await untilResent(van)
  t.same(await verify(van, feed), { equal: true, days: [], removed_days: [] })
  t.same(byKey(await rowsOf(van)), before)
  await put(hub, [{ k: 31 }])
  await until(
    () => rowsOf(van),
    ({ length }) => length === 31,
  )
  t.same(await verify(van, feed), { equal: true, days: [], removed_days: [] }, 'the cursor is where it was')
})

t.test('resend of a feed down: rows of other days and of the condition left out stay', async (t) => {
  const { hub, van, feed } = await pair(t, { conds: { '>': ['speed', 5] } })
  await put(hub, [
    { k: 1, speed: 9 },
    { k: 2, speed: 1 },
  ])
  await untilEqual(van, feed)
  edit(van, 'DELETE FROM seen_tbl_0')
  t.match(await sync(van, 'resend', { feed, from: '1990-01-01', to: '1990-02-01' }), { rows: 0 })
  await untilResent(van)
  t.same(await rowsOf(van), [])
  t.match(await sync(van, 'resend', { feed, ...SPAN }), { rows: 1 })
  await untilResent(van)
  t.same(
    (await rowsOf(van)).map(({ k }) => k),
    [1],
  )
})

t.test('resend of a feed down: what is refused here stays set aside, what fits comes', async (t) => {
  const { hub, van, feed } = await pair(t, {}, { limits: { valueBytes: 200_000 } })
  await put(hub, [{ k: 1 }, { k: 2, note: 'x'.repeat(300_000) }, { k: 3 }])
  const aside = async () =>
    (await sync<{ set_aside: { rows: number } }[]>(van, 'list_feeds'))[0]?.set_aside.rows
  await until(aside, (count) => count === 1)
  edit(van, 'DELETE FROM seen_tbl_0')
  // as if this gateway had refused another row as well, which fits now
  edit(van, `INSERT INTO feed_set_aside VALUES ('${feed}', 900, '{"k":3}', 'too large', 0)`, 'state.db')
  t.match(await sync(van, 'resend', { feed, ...SPAN }), { rows: 3 })
  await untilResent(van)
  t.equal(await aside(), 1)
  t.same((await rowsOf(van)).map(({ k }) => k).sort(), [1, 3])
})

t.test('resend of a feed down: the verb; a feed that has not begun', async (t) => {
  const { hub, van, feed } = await pair(t)
  await put(hub, [{ k: 1 }, { k: 2 }])
  await untilEqual(van, feed)
  const cli = (...argv: string[]) =>
    runVerb(van.dataDir, ['sync', 'feed', ...argv, '--data-dir', van.dataDir], {
      FIELDGATE_SYNC__ALLOW_LOOPBACK: 'true',
      FIELDGATE_SYNC__ALLOW_INSECURE: '["127.0.0.1"]',
    })
  await untilSent(van)
  edit(van, 'DELETE FROM seen_tbl_0 WHERE k = 2')
  const found = await until(
    () => cli('verify', 'seen'),
    ({ stdout }) => stdout.includes('differs'),
  )
  const [, flags = ''] = /resend \S+ (--from .*)\n/.exec(found.stdout) ?? []
  t.match(await cli('resend', 'seen', ...flags.split(' ')), { code: 0, stdout: /^2 rows of .* once more/ })
  await untilResent(van)
  t.same(await verify(van, feed), { equal: true, days: [], removed_days: [] })

  await sync(van, 'update_feed', { feed, enabled: false })
  t.match(await sync(van, 'resend', { feed, ...SPAN }), { rows: 2 })
  const status = (...flags: string[]) =>
    runVerb(van.dataDir, ['sync', 'status', '--data-dir', van.dataDir, ...flags])
  const pending = `once more: 0 of 2 rows of ${dayText(TODAY)} to `
  t.ok((await status()).stdout.includes(pending), 'what is still to come is shown')
  t.match(JSON.parse((await status('--json')).stdout), { feeds: [{ resend: { rows: 2, sent: 0 } }] })
  await sync(van, 'update_feed', { feed, enabled: true })
  await untilResent(van)
  t.match(JSON.parse((await status('--json')).stdout), { feeds: [{ resend: null }] })

  await sync(van, 'create_feed', { table: 'nowhere', direction: 'down', upstream: 'from', from: 'all' })
  const feeds = await sync<{ feed: string; table: string }[]>(van, 'list_feeds')
  const other = feeds.find(({ table }) => table === 'nowhere')?.feed
  await t.rejects(sync(van, 'resend', { feed: other, ...SPAN }), /FEED_BEHIND.*|has begun/)
})
