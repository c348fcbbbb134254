import t from 'tap'
import { addHub, feedOf } from '../../../support/feed-rows.js'
import { memoryState } from '../../../support/memory-state.js'

const FEED = '11111111-1111-4111-8111-111111111111'

t.test('resends: a request in the same instant takes the place of an earlier one', async (t) => {
  const state = await memoryState(t)
  const { feedResends } = state
  await addHub(state)
  await state.feeds.create(feedOf(FEED))
  const first = await feedResends.ask({ feedId: FEED, fromDay: 10, toDay: 12, rows: 5 })
  await feedResends.note({ ...first, sent: 3, afterRow: 30 })
  const second = await feedResends.ask({ feedId: FEED, fromDay: 11, toDay: 14, rows: 8 })
  t.same(second, {
    ...{ feedId: FEED, askedAtUs: first.askedAtUs + 1 },
    ...{ fromDay: 10, toDay: 14, rows: 8, sent: 0, afterRow: 0 },
  })
  await feedResends.note({ ...first, sent: 4, afterRow: 40 })
  await feedResends.end(first)
  t.same(await feedResends.find(FEED), second, 'what the first one did counts no more')
  await feedResends.end(second)
  t.equal(await feedResends.find(FEED), undefined)
})
