import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import type { BundleContents } from '../../../../src/storage/exchange/bundles.js'
import { readOpenBundles } from '../../../../src/storage/sqlite/maintenance/bundle-facts.js'
import { addHub, FEED_TABLE, feedOf } from '../../../support/feed-rows.js'
import { memoryState } from '../../../support/memory-state.js'

const HUB = '11111111-1111-4111-8111-111111111111'
const KEY = new Uint8Array(32)
const FEED = '22222222-2222-4222-8222-222222222222'

/** A feed whose rows up to change 7 have arrived, and a transfer of each state. */
async function setUp(t: Test) {
  const state = await memoryState(t)
  await addHub(state)
  await state.feeds.create(feedOf(FEED))
  const { db } = state.stateDb
  const insert = `INSERT INTO transfer (transfer_id, kind, store_id, upstream_id, state, created_at_us)
    VALUES (?, 'feedback', 1, 1, ?, 0)`
  for (const [index, name] of ['queued', 'sending', 'delivered', 'failed'].entries())
    db.prepare(insert).run(index + 1, name)
  const write = async (contents: BundleContents, nodeId = HUB) => {
    const bundleId = randomUUID()
    await state.bundles.finish(await state.bundles.begin(nodeId, bundleId), contents)
    return bundleId
  }
  const count = () => readOpenBundles(db).reduce((sum, { count }) => sum + count, 0)
  return { ...state, db, write, count }
}

const held = (more: object = {}): BundleContents => ({
  feeds: [{ feed: FEED, table: FEED_TABLE, epoch: 1, after: 7, last: 9, scanned: 9, ...more }],
  transfers: [],
})

t.test('bundle facts: a bundle is open while it holds what has not arrived', async (t) => {
  const { write, count, bundles } = await setUp(t)
  const cases: [what: string, contents: BundleContents, isOpen: boolean][] = [
    ['rows beyond the cursor', held(), true],
    ['rows that have arrived', held({ after: 3, last: 7 }), false],
    ['no rows', held({ after: 9, last: 9 }), false],
    ['rows of a table that another has taken the place of', held({ table: randomUUID() }), false],
    ['rows of a feed that was removed', held({ feed: randomUUID() }), false],
    ['a model that is queued', { feeds: [], transfers: [1] }, true],
    ['a model that is being sent', { feeds: [], transfers: [3, 2] }, true],
    ['models that are delivered or failed', { feeds: [], transfers: [3, 4] }, false],
    ['a model that waits, and rows that have arrived', { ...held({ last: 7 }), transfers: [1] }, true],
    ['nothing', { feeds: [], transfers: [] }, false],
  ]
  for (const [what, contents, isOpen] of cases) {
    const bundleId = await write(contents)
    t.equal(count(), isOpen ? 1 : 0, what)
    await bundles.acknowledge(HUB, [bundleId])
    t.equal(count(), 0, `${what}, acknowledged`)
  }
})

t.test('bundle facts: by gateway, with the time of the oldest', async (t) => {
  const { write, db, bundles, advance, nodePeers } = await setUp(t)
  const van = randomUUID()
  await nodePeers.add({ nodeId: van, name: 'van', signingKey: KEY, exchangeKey: KEY })
  const writtenAtUs = async (bundleId: string) => (await bundles.find(bundleId))?.writtenAtUs
  const first = await write(held())
  advance(1000)
  const second = await write(held(), van)
  await write(held())
  await bundles.begin(van, randomUUID())
  t.same(readOpenBundles(db), [
    { node: HUB, count: 2, oldestUs: await writtenAtUs(first) },
    { node: 'van', count: 1, oldestUs: await writtenAtUs(second) },
  ])
})
