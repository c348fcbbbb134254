import t from 'tap'
import {
  call,
  feedFrom,
  feedTo,
  put,
  register,
  rowsOf,
  startTwo,
  sync,
  untilFeed,
  untilSent,
} from '../support/feeds.js'
import type { TestGateway } from '../support/start-gateway.js'

const alter = (node: TestGateway) =>
  call(node, '/api/v1/dataloaderapi/jsonrpc', 'loaderwebapi.alter_loader', {
    ...{ data_name: 'seen', add_columns: { colour: { udt_name: 'text' } } },
  })
const colours = async (node: TestGateway) =>
  (await rowsOf(node, 'seen', ['k', 'colour'])).map(({ k, colour }) => [Number(k), colour]).sort()

t.test('feeds: a feed stops when a column is added here, and goes on when it is added there', async (t) => {
  const [here, there] = await startTwo(t)
  await register(here)
  await put(here, [{ k: 1, note: 'before' }])
  const { feed } = await feedTo(here, there)
  await untilSent(here)
  await alter(here)
  await put(here, [{ k: 2, colour: 'red' }])
  const stopped = await untilFeed(here, ({ state }) => state === 'stopped')
  t.match(stopped.last_error, /TABLE_DIFFERS: .*colour \(the sender has .*text.*, the receiver none\)/)
  await alter(there)
  await sync(here, 'update_feed', { feed, enabled: true })
  await untilSent(here)
  t.same(await colours(there), [
    [1, null],
    [2, 'red'],
  ])
  t.match(await sync(here, 'verify', { feed }), { equal: true, days: [], removed_days: [] })
})

t.test('feeds: a feed down stops and goes on in the same way', async (t) => {
  const [here, there] = await startTwo(t)
  await register(there)
  await put(there, [{ k: 1 }])
  const { feed } = await feedFrom(here, there)
  await untilSent(here)
  await alter(there)
  await put(there, [{ k: 2, colour: 'red' }])
  const stopped = await untilFeed(here, ({ state }) => state === 'stopped')
  t.match(stopped.last_error, /TABLE_DIFFERS: .*colour/)
  await alter(here)
  await sync(here, 'update_feed', { feed, enabled: true })
  await untilFeed(here, ({ state, rows_behind }) => state === 'idle' && rows_behind === 0)
  t.same((await colours(here)).at(-1), [2, 'red'])
  t.match(await sync(here, 'verify', { feed }), { equal: true, days: [], removed_days: [] })
})
