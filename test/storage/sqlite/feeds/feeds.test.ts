import t from 'tap'
import type { FeedRecord } from '../../../../src/storage/exchange/feeds.js'
import { memoryState } from '../../../support/memory-state.js'

const FIRST = '11111111-1111-4111-8111-111111111111'
const SECOND = '22222222-2222-4222-8222-222222222222'
const ENDPOINT = { endpoint: 'http://127.0.0.1:1', apikey: 'a', secret: 's' }

function feed(feedId: string, upstream = 'hub'): Omit<FeedRecord, 'progress' | 'createdAtUs'> {
  return {
    feedId,
    dataName: 'x',
    direction: 'up',
    upstream,
    conds: null,
    columns: null,
    priority: 0,
    maxBytesPerSecond: 0,
    windows: [],
    isEnabled: true,
    from: 'now',
    start: { tableUuid: 'table', afterChange: 7, fromUs: null, untilChange: 7 },
  }
}

t.test('feeds: one for each table and upstream that is known', async (t) => {
  const { feeds, feedUpstreams } = await memoryState(t)
  t.equal(await feeds.create(feed(FIRST)), undefined, 'no upstream hub')
  await feedUpstreams.create({ name: 'hub', ...ENDPOINT })
  t.match(await feeds.create(feed(FIRST)), { feedId: FIRST, progress: { cursor: 7, rowsSent: 0 } })
  t.equal(await feeds.create(feed(SECOND)), undefined, 'x goes to hub already')
  t.same(
    (await feeds.list()).map(({ feedId }) => feedId),
    [FIRST],
  )
})

t.test('feeds: a change of an unknown feed is undefined; of a known one it ends a stop', async (t) => {
  const { feeds, feedUpstreams } = await memoryState(t)
  await feedUpstreams.create({ name: 'hub', ...ENDPOINT })
  const made = await feeds.create(feed(FIRST))
  if (made === undefined) throw new Error('the feed was not made')
  await feeds.noteProgress(FIRST, { ...made.progress, stopped: 'TABLE_DIFFERS', lastError: 'k' })
  t.equal(await feeds.update(SECOND, { priority: 3 }), undefined)
  t.match(await feeds.update(FIRST, { priority: 3 }), {
    priority: 3,
    progress: { stopped: null, lastError: null, cursor: 7 },
  })
})

t.test('feeds: one may begin switched off', async (t) => {
  const { feeds, feedUpstreams } = await memoryState(t)
  await feedUpstreams.create({ name: 'hub', ...ENDPOINT })
  t.match(await feeds.create({ ...feed(FIRST), isEnabled: false }), { isEnabled: false })
})
