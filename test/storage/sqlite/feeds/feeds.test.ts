import t from 'tap'
import { addHub, feedOf } from '../../../support/feed-rows.js'
import { memoryState } from '../../../support/memory-state.js'

const FIRST = '11111111-1111-4111-8111-111111111111'
const SECOND = '22222222-2222-4222-8222-222222222222'

t.test('feeds: one for each table and upstream that is known', async (t) => {
  const state = await memoryState(t)
  const { feeds } = state
  t.equal(await feeds.create(feedOf(FIRST)), undefined, 'no upstream hub')
  await addHub(state)
  t.match(await feeds.create(feedOf(FIRST)), { feedId: FIRST, progress: { cursor: 7, rowsSent: 0 } })
  t.equal(await feeds.create(feedOf(SECOND)), undefined, 'x goes to hub already')
  t.same(
    (await feeds.list()).map(({ feedId }) => feedId),
    [FIRST],
  )
})

t.test('feeds: a change of an unknown feed is undefined; of a known one it ends a stop', async (t) => {
  const state = await memoryState(t)
  const { feeds } = state
  await addHub(state)
  const made = await feeds.create(feedOf(FIRST))
  if (made === undefined) throw new Error('the feed was not made')
  await feeds.noteProgress(FIRST, { ...made.progress, stopped: 'TABLE_DIFFERS', lastError: 'k' })
  t.equal(await feeds.update(SECOND, { priority: 3 }), undefined)
  t.match(await feeds.update(FIRST, { priority: 3 }), {
    priority: 3,
    progress: { stopped: null, lastError: null, cursor: 7 },
  })
})

t.test('feeds: one may begin switched off', async (t) => {
  const state = await memoryState(t)
  const { feeds } = state
  await addHub(state)
  t.match(await feeds.create({ ...feedOf(FIRST), isEnabled: false }), { isEnabled: false })
})
