import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import type { State } from '../../../src/storage/state.js'
import { addHub, FEED_TABLE, feedOf } from '../feed-rows.js'

type Stores = 'feeds' | 'feedUpstreams' | 'feedResends' | 'askedFeeds' | 'bundles' | 'keys' | 'clock'
type Open = (t: Test) => Promise<Pick<State, Stores> & { advance(ms: number): void }>

const [FIRST, SECOND] = [
  '11111111-1111-4111-8111-111111111111',
  '22222222-2222-4222-8222-222222222222',
] as const
const [VAN, HUB] = ['44444444-4444-4444-8444-444444444444', '55555555-5555-4555-8555-555555555555'] as const

/** Feeds, what goes once more, what other nodes ask for, and bundles. @param open fresh and empty */
export async function conformFeedRows(t: Test, open: Open): Promise<void> {
  await conformFeeds(t, open)
  await conformResends(t, open)
  await conformAsked(t, open)
  await conformBundles(t, open)
}

/** The same at their limits of number, by thousands of writes. */
export async function conformManyFeedRows(t: Test, open: Open): Promise<void> {
  await conformManyAsked(t, open)
  await conformManyBundles(t, open)
}

async function conformFeeds(t: Test, open: Open): Promise<void> {
  await t.test('feed upstreams: by name, each once, with a secret', async (t) => {
    const { feedUpstreams } = await open(t)
    const hub = { name: 'hub', endpoint: 'http://127.0.0.1:1', apikey: 'a', secret: 's\u0000é' }
    const made = await feedUpstreams.create(hub)
    t.match(made, hub)
    t.equal(await feedUpstreams.create({ ...hub, secret: 'other' }), undefined)
    await feedUpstreams.create({ ...hub, name: 'Base' })
    t.same(
      (await feedUpstreams.list()).map(({ name }) => name),
      ['Base', 'hub'],
    )
    t.strictSame(await feedUpstreams.find('hub'), made)
    t.equal(await feedUpstreams.find('nobody'), undefined)
    t.match(await feedUpstreams.remove('Base'), { name: 'Base' })
    t.equal(await feedUpstreams.remove('Base'), undefined)
  })

  await t.test('feeds: one for each table, direction and upstream that is known', async (t) => {
    const state = await open(t)
    const { feeds } = state
    t.equal(await feeds.create(feedOf(FIRST)), undefined, 'no upstream hub')
    await addHub(state)
    const made = await feeds.create({
      ...feedOf(FIRST),
      ...{ conds: { '=': ['k', '\u0000'] }, columns: ['k', 'ä'], windows: ['01:00-02:00'], priority: 9 },
      ...{ isEnabled: false, maxBytesPerSecond: 2 ** 40 },
    })
    t.match(made, { feedId: FIRST, conds: { '=': ['k', '\u0000'] }, columns: ['k', 'ä'], isEnabled: false })
    t.match(made?.progress, { tableUuid: FEED_TABLE, cursor: 7, scanned: 7, rowsSent: 0, stopped: null })
    t.strictSame(await feeds.find(FIRST), made)
    t.equal(await feeds.create(feedOf(SECOND)), undefined, 'x goes to hub already')
    t.match(await feeds.create({ ...feedOf(SECOND), direction: 'down' }), { direction: 'down', conds: null })
    t.same((await feeds.list()).map(({ feedId }) => feedId).sort(), [FIRST, SECOND])
    t.match(await feeds.remove(SECOND), { feedId: SECOND })
    t.equal(await feeds.remove(SECOND), undefined)
    await t.rejects(state.feedUpstreams.remove('hub'), 'a feed uses it')
  })

  await t.test('feeds: changes end a stop; progress and start are noted', async (t) => {
    const state = await open(t)
    const { feeds } = state
    await addHub(state)
    const made = await feeds.create(feedOf(FIRST))
    if (made === undefined) throw new Error('the feed was not made')
    await feeds.noteProgress(FIRST, { ...made.progress, cursor: 9, stopped: 'TABLE_DIFFERS', lastError: 'k' })
    t.match(await feeds.find(FIRST), { progress: { cursor: 9, stopped: 'TABLE_DIFFERS' } })
    t.equal(await feeds.update(SECOND, { priority: 3 }), undefined)
    t.match(await feeds.update(FIRST, { priority: 3, conds: {}, isEnabled: false, windows: ['a'] }), {
      ...{ priority: 3, conds: {}, isEnabled: false, windows: ['a'], maxBytesPerSecond: 0 },
      progress: { stopped: null, lastError: null, cursor: 9 },
    })
    await feeds.noteStart(FIRST, { ...made.start, afterChange: 5 })
    t.match(await feeds.find(FIRST), { start: { afterChange: 5 } })
    await feeds.noteStart(SECOND, made.start)
    await feeds.noteProgress(SECOND, made.progress)
    t.equal((await feeds.list()).length, 1, 'of a removed feed nothing')
  })

  await t.test('feeds: rows that were refused, the newest first', async (t) => {
    const state = await open(t)
    const { feeds } = state
    await addHub(state)
    await feeds.create(feedOf(FIRST))
    const row = (change: number, reason = 'r\u0000') => ({ change, rowKey: `["${change}"]`, reason })
    await feeds.setAside(FIRST, [row(1), row(3)])
    state.advance(1000)
    await feeds.setAside(FIRST, [row(2), row(1, 'first'), row(1, 'again')])
    await feeds.setAside(SECOND, [row(1)])
    await feeds.setAside(FIRST, [])
    const listed = await feeds.listSetAside(FIRST, 10)
    t.same(
      listed.map(({ change, reason }) => [change, reason]),
      [
        [1, 'again'],
        [2, 'r\u0000'],
        [3, 'r\u0000'],
      ],
    )
    t.equal((await feeds.listSetAside(FIRST, 1)).length, 1)
    t.equal(await feeds.countSetAside(FIRST), 3)
    t.equal(await feeds.countSetAside(SECOND), 0)
    await feeds.forgetAside(FIRST, [1, 5])
    t.same([...(await feeds.changesSetAside(FIRST))].sort(), [2, 3])
    await feeds.remove(FIRST)
    t.equal(await feeds.countSetAside(FIRST), 0)
  })
}

async function conformResends(t: Test, open: Open): Promise<void> {
  await t.test('resends: a request in the same instant takes the place of an earlier one', async (t) => {
    const state = await open(t)
    const { feedResends } = state
    await addHub(state)
    await state.feeds.create(feedOf(FIRST))
    t.equal(await feedResends.find(FIRST), undefined)
    const first = await feedResends.ask({ feedId: FIRST, fromDay: 10, toDay: 12, rows: 5 })
    await feedResends.note({ ...first, sent: 3, afterRow: 30 })
    t.strictSame(await feedResends.find(FIRST), { ...first, sent: 3, afterRow: 30 })
    const second = await feedResends.ask({ feedId: FIRST, fromDay: 11, toDay: 14, rows: 8 })
    t.same(second, {
      ...{ feedId: FIRST, askedAtUs: first.askedAtUs + 1 },
      ...{ fromDay: 10, toDay: 14, rows: 8, sent: 0, afterRow: 0 },
    })
    await feedResends.note({ ...first, sent: 4, afterRow: 40 })
    await feedResends.end(first)
    t.same(await feedResends.find(FIRST), second, 'what the first one did counts no more')
    await feedResends.end(second)
    t.equal(await feedResends.find(FIRST), undefined)
  })
}

const start = { tableUuid: 'a', afterChange: 0, untilChange: 9, fromUs: null }
const asked = { feedId: FIRST, node: VAN, dataName: 'seen', columns: ['k'], conds: null, start }

async function conformAsked(t: Test, open: Open): Promise<void> {
  await t.test('asked feeds: what a node asks for, of all its keys, and where it is', async (t) => {
    const state = await open(t)
    const { askedFeeds, keys } = state
    const [one, two] = [randomUUID(), randomUUID()].sort() as [string, string]
    for (const [at, keyId] of [one, two].entries()) {
      const secretHash = new Uint8Array(32).fill(at)
      await keys.create({ keyId, name: keyId, scopes: ['sync:read'], secretHash, expiresAtUs: null })
    }
    await askedFeeds.keep(one, asked)
    await askedFeeds.keep(one, asked)
    await askedFeeds.keep(two, { ...asked, dataName: 'other' })
    t.strictSame(await askedFeeds.find(one, FIRST), asked)
    t.equal(await askedFeeds.find(one, SECOND), undefined)
    t.match(await askedFeeds.ofNode(VAN), [
      { keyId: one, feed: { dataName: 'seen' }, told: null },
      { keyId: two, feed: { dataName: 'other' }, told: null },
    ])
    const told = { table: 'a', epoch: 1, cursor: 5 }
    await askedFeeds.noteTold(VAN, FIRST, told)
    await askedFeeds.noteTold(VAN, FIRST, told)
    await askedFeeds.noteTold(HUB, FIRST, { ...told, cursor: 6 })
    t.same(
      (await askedFeeds.ofNode(VAN)).map((each) => each.told),
      [told, told],
    )
    t.same(await askedFeeds.ofNode(HUB), [])
    t.same(await askedFeeds.ofTable('seen'), [{ feed: asked, told }])
    await askedFeeds.keep(one, { ...asked, dataName: 'other' })
    t.same(await askedFeeds.ofTable('seen'), [])
    t.equal((await askedFeeds.ofTable('other')).length, 2)
    await keys.revoke(two)
    t.equal((await askedFeeds.ofTable('other')).length, 1, 'of keys that are not revoked')
  })

  await t.test('grants: the tables of a key, and no others', async (t) => {
    const { askedFeeds } = await open(t)
    t.same(await askedFeeds.granted('k'), [])
    await askedFeeds.grant('k', ['seen', 'Base', 'seen', '*'])
    await askedFeeds.grant('other', ['x'])
    t.same(await askedFeeds.granted('k'), ['*', 'Base', 'seen'])
    await Promise.all([askedFeeds.grant('k', ['a', 'b']), askedFeeds.grant('k', ['b', 'a'])])
    t.same(await askedFeeds.granted('k'), ['a', 'b'])
    await askedFeeds.grant('k', [])
    t.same(await askedFeeds.granted('k'), [])
  })
}

async function conformBundles(t: Test, open: Open): Promise<void> {
  await t.test('bundles: one that is being written has no contents and is not the newest', async (t) => {
    const { bundles } = await open(t)
    const [one, two, three] = [randomUUID(), randomUUID(), randomUUID()]
    const seq = await bundles.begin(HUB, one)
    t.match(await bundles.find(one), { seq, nodeId: HUB, contents: null, acknowledgedAtUs: null })
    t.equal(await bundles.newest(HUB), undefined)
    t.same(await bundles.unacknowledged(), [])
    await bundles.finish(seq, { feeds: [], transfers: [7] })
    t.match(await bundles.find(one), { contents: { feeds: [], transfers: [7] } })
    t.match(await bundles.newest(HUB), { bundleId: one })
    const dropped = await bundles.begin(HUB, two)
    await bundles.drop(dropped)
    t.equal(await bundles.find(two), undefined)
    const last = await bundles.begin(HUB, three)
    t.ok(last > dropped, 'a number is given once')
    await bundles.finish(last, { feeds: [], transfers: [] })
    t.same(
      (await bundles.unacknowledged()).map(({ bundleId }) => bundleId),
      [one, three],
    )
    await bundles.acknowledge(VAN, [one])
    await bundles.acknowledge(HUB, [one, two])
    t.match(await bundles.unacknowledged(), [{ bundleId: three }])
  })

  await t.test('bundles: news are carried until one that carries them is acknowledged', async (t) => {
    const { bundles } = await open(t)
    const gap = { feed: FIRST, bundle: SECOND, cursor: 5 }
    const refused = { feed: FIRST, table: SECOND, epoch: 1, change: 3, reason: 'r\u0000' }
    const receipt = { transfer: 4, modelId: VAN, answer: '{"a":"\\u0000"}' }
    const citation = { longForm: 'c\u0000_1', checksum: 'c', rows: 3, isGap: false }
    await bundles.noteGap(VAN, FIRST, gap)
    await bundles.noteRefused(VAN, [refused, { ...refused, change: 10 }, { ...refused, reason: 'last' }])
    await bundles.noteRefused(VAN, [])
    await bundles.noteReceipt(VAN, receipt)
    await bundles.noteCitation(VAN, citation)
    const id = randomUUID()
    const seq = await bundles.begin(VAN, id)
    const news = await bundles.news(VAN, seq)
    t.same(news, {
      ...{ applied: [], gaps: [gap], receipts: [receipt], citations: [citation] },
      refused: [
        { ...refused, change: 10 },
        { ...refused, reason: 'last' },
      ],
    })
    await bundles.finish(seq, { feeds: [], transfers: [] })
    await bundles.noteGap(VAN, FIRST, { ...gap, cursor: 6 })
    await bundles.acknowledge(VAN, [id])
    t.match(await bundles.news(VAN, seq + 1), {
      gaps: [{ cursor: 6 }],
      refused: [],
      receipts: [],
      citations: [],
    })
    await bundles.noteGap(VAN, FIRST, null)
    t.match(await bundles.news(VAN, seq + 1), { gaps: [] })
    t.match(await bundles.news(HUB, seq), { gaps: [] })
  })

  await t.test('bundles: those of other nodes that were applied, and what they want', async (t) => {
    const state = await open(t)
    const { bundles } = state
    const mark = (epoch: number, seq: number, bundleId = randomUUID()) => ({
      nodeId: VAN,
      bundleId,
      epoch,
      seq,
    })
    const first = mark(1, 5)
    await bundles.noteApplied(first)
    await bundles.noteApplied(first)
    t.equal(await bundles.isOld(mark(1, 5)), false)
    t.equal(await bundles.isOld(mark(1, 4)), true)
    t.equal(await bundles.isOld(mark(2, 1)), false)
    t.equal(await bundles.isOld({ ...mark(1, 4), nodeId: HUB }), false)
    state.advance(1)
    for (let seq = 6; seq < 110; seq++) await bundles.noteApplied(mark(1, seq))
    const { applied } = await bundles.news(VAN, 1)
    t.equal(applied.length, 100)
    t.notOk(applied.includes(first.bundleId))
    t.same(await bundles.wishes(VAN), [])
    const wish = { store: 'rain\u0000', has: null }
    await bundles.noteWishes(VAN, [wish])
    await bundles.noteWishes(VAN, [wish])
    t.same(await bundles.wishes(VAN), [wish])
    await bundles.noteWishes(VAN, [])
    t.same(await bundles.wishes(VAN), [])
  })
}

async function conformManyAsked(t: Test, open: Open): Promise<void> {
  await t.test('asked feeds: a key has a thousand, the latest ones', async (t) => {
    const state = await open(t)
    const { askedFeeds } = state
    const id = (at: number) => `${String(at).padStart(8, '0')}-0000-4000-8000-000000000000`
    // the oldest is the one that sorts first
    await askedFeeds.keep('k', { ...asked, feedId: id(0) })
    state.advance(1)
    for (let at = 1; at <= 1000; at++) await askedFeeds.keep('k', { ...asked, feedId: id(at) })
    t.equal(await askedFeeds.find('k', id(0)), undefined)
    t.ok(await askedFeeds.find('k', id(1)))
    t.ok(await askedFeeds.find('k', id(1000)))
  })
}

async function conformManyBundles(t: Test, open: Open): Promise<void> {
  await t.test('bundles: of those written for a node a thousand are kept', async (t) => {
    const { bundles } = await open(t)
    const ids = Array.from({ length: 1002 }, () => randomUUID())
    for (const id of ids.slice(0, 1001)) await bundles.begin(VAN, id)
    const seq = await bundles.begin(VAN, ids[1001] ?? '')
    await bundles.finish(seq, { feeds: [], transfers: [] })
    t.same(
      (await Promise.all(ids.slice(0, 3).map((id) => bundles.find(id)))).map((one) => one?.bundleId),
      [undefined, undefined, ids[2]],
    )
  })
}
