import path from 'node:path'
import t, { type Test } from 'tap'
import type { Settings } from '../../src/config/config.js'
import { dayText } from '../../src/feeds/batch/days.js'
import {
  feedTo,
  put,
  register,
  rowsOf,
  startNode,
  startTwo,
  sync,
  untilFeed,
  untilSent,
} from '../support/feeds.js'
import { cli as runVerb } from '../support/run-cli.js'
import { edit, SPAN, TODAY, untilResent, verify } from '../support/verified-feeds.js'

async function pair(t: Test, params: object = {}, settings: Settings = {}) {
  const [here, there] = await startTwo(t, settings)
  await register(here)
  const { feed } = await feedTo(here, there, { params })
  return { here, there, feed }
}

t.test(
  'resend: rows that were dropped or changed at the receiver are mended, and each is there once',
  async (t) => {
    const { here, there, feed } = await pair(t)
    await put(
      here,
      Array.from({ length: 30 }, (_, k) => ({ k, note: `n${k}`, speed: k / 7 })),
    )
    await put(here, [{ k: 4, note: 'again' }])
    await untilSent(here)
    const before = await rowsOf(there)
    edit(there, 'DELETE FROM seen_tbl_0 WHERE k IN (4, 9); UPDATE seen_tbl_0 SET note = NULL WHERE k = 20')
    t.match(await verify(here, feed), { equal: false, days: [{ here: { rows: 30 }, there: { rows: 28 } }] })
    t.match(await sync(here, 'resend', { feed, ...SPAN }), { rows: 30, from_day: dayText(TODAY) })
    await untilResent(here)
    t.same(await verify(here, feed), { equal: true, days: [], removed_days: [] })
    const byKey = (rows: typeof before) => rows.toSorted((a, b) => Number(a.k) - Number(b.k))
    t.same(byKey(await rowsOf(there)), byKey(before))
    await put(here, [{ k: 31 }])
    await untilSent(here)
    t.same(
      await verify(here, feed),
      { equal: true, days: [], removed_days: [] },
      'the cursor is where it was',
    )
  },
)

t.test('resend: rows of other days, of the condition left out, and of later changes stay', async (t) => {
  const { here, there, feed } = await pair(t, { conds: { '>': ['speed', 5] } })
  await put(here, [
    { k: 1, speed: 9 },
    { k: 2, speed: 1 },
  ])
  await untilSent(here)
  edit(there, 'DELETE FROM seen_tbl_0')
  const old = { from: '1990-01-01', to: '1990-02-01' }
  t.match(await sync(here, 'resend', { feed, ...old }), { rows: 0, to_day: '1990-01-31' })
  await untilResent(here)
  t.same(await rowsOf(there), [])
  t.match(await sync(here, 'resend', { feed, ...SPAN }), { rows: 1 })
  await untilResent(here)
  t.same(
    (await rowsOf(there)).map(({ k }) => k),
    [1],
  )
})

t.test('resend: rows that were set aside are tried once more', async (t) => {
  const ends: (() => unknown)[] = []
  const dir = t.testdir()
  const there = await startNode(t, path.join(dir, 'there'))
  const here = await startNode(
    { testdir: () => dir, teardown: (work) => ends.push(work) },
    path.join(dir, 'here'),
  )
  await register(here)
  const { feed } = await feedTo(here, there)
  await put(here, [{ k: 1 }])
  await untilSent(here)
  await sync(here, 'update_feed', { feed, enabled: false })
  await put(here, [{ k: 2 }, { k: 3, note: 'x'.repeat(300_000) }])
  for (const end of ends) await end()
  // as if the receiver had refused both
  for (const change of [2, 3])
    edit(here, `INSERT INTO feed_set_aside VALUES ('${feed}', ${change}, '{}', 'too large', 0)`, 'state.db')
  const again = await startNode(t, here.dataDir)
  await sync(again, 'update_feed', { feed, enabled: true })
  t.match(await untilSent(again), { set_aside: { rows: 2 } })
  t.equal((await rowsOf(there)).length, 1)
  await sync(again, 'resend', { feed, ...SPAN })
  await untilResent(again)
  t.match(await untilSent(again), { set_aside: { rows: 0 } })
  t.equal((await rowsOf(there)).length, 3)
  t.same(await verify(again, feed), { equal: true, days: [], removed_days: [] })
})

t.test('resend: what the receiver refuses is set aside, and the rest goes', async (t) => {
  const { here, there, feed } = await pair(t, {}, { limits: { valueBytes: 200_000 } })
  await put(here, [{ k: 1 }, { k: 2, note: 'x'.repeat(300_000) }, { k: 3 }])
  await untilFeed(here, ({ set_aside, rows_behind }) => set_aside.rows === 1 && rows_behind === 0)
  edit(there, 'DELETE FROM seen_tbl_0')
  t.match(await sync(here, 'resend', { feed, ...SPAN }), { rows: 3 })
  await untilResent(here)
  t.match(await untilSent(here), { set_aside: { rows: 1 } })
  t.equal((await rowsOf(there)).length, 2)
})

t.test('resend: bad days, unknown feeds', async (t) => {
  const { here, feed } = await pair(t)
  const faults: [object, RegExp][] = [
    [{ feed, from: SPAN.to, to: SPAN.from }, /\$\.to: found an instant before from/],
    [{ feed, from: 'yesterday', to: SPAN.to }, /\$\.from: found .*yesterday/],
    [{ feed: '11111111-1111-4111-8111-111111111111', ...SPAN }, /No feed has the id/],
  ]
  for (const [params, message] of faults) await t.rejects(sync(here, 'resend', params), { message })
})

t.test('sync feed verify and resend: a table of the days, and exit code 1', async (t) => {
  const { here, there } = await pair(t)
  await put(here, [{ k: 1 }, { k: 2 }])
  await untilSent(here)
  const cli = (...argv: string[]) =>
    runVerb(here.dataDir, ['sync', 'feed', ...argv, '--data-dir', here.dataDir], {
      FIELDGATE_SYNC__ALLOW_LOOPBACK: 'true',
      FIELDGATE_SYNC__ALLOW_INSECURE: '["127.0.0.1"]',
    })
  t.match(await cli('verify', 'seen'), { code: 0, stdout: 'seen is the same at up.\n' })
  edit(there, 'DELETE FROM seen_tbl_0 WHERE k = 2')
  const found = await cli('verify', 'seen')
  t.equal(found.code, 1)
  t.match(found.stdout, /^seen differs at up in 1 days:\nday .*\n\d{4}-\d\d-\d\d {2}[0-9a-f-]{36} +2 +1 /)
  const [, flags = ''] = /resend \S+ (--from .*)\n/.exec(found.stdout) ?? []
  t.match(await cli('resend', 'seen', ...flags.split(' ')), { code: 0, stdout: /^2 rows of .* go once more/ })
  await untilResent(here)
  t.match(await cli('verify', 'seen', '--recount', '--json'), {
    code: 0,
    stdout: '{"equal":true,"days":[],"removed_days":[]}\n',
  })
  t.match(await cli('verify', 'nothing'), { code: 1, stderr: /no feed has the id or the table nothing/ })
  const late = ['--from', '2025-01-02', '--to', '2025-01-01']
  t.match(await cli('resend', 'seen', ...late), { code: 2, stderr: /before --from/ })
})
