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
  until,
  untilSent,
} from '../support/feeds.js'
import type { TestGateway } from '../support/start-gateway.js'

const LOADER = '/api/v1/dataloaderapi/jsonrpc'

interface Rule {
  readonly rows: number
  readonly waiting_rows: number
  readonly removed_rows: number
  readonly waits_for: { readonly feed: string } | null
}

/** Sets a rule, which begins a round of removal. */
const keep = (node: TestGateway, max_rows: number | null) =>
  call<Rule>(node, LOADER, 'loaderwebapi.set_retention', { data_name: 'seen', max_rows })
const keys = async (node: TestGateway) =>
  (await rowsOf(node, 'seen', ['k'])).map(({ k }) => Number(k)).sort((a, b) => a - b)
/** Asks for rounds until a rule holds. */
const untilKept = async (node: TestGateway, rows: number) =>
  await until(
    () => keep(node, rows),
    (rule) => rule.rows === rows,
  )
const ks = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => ({ k: from + at }))

t.test('retention: rows stay until their feed has sent them, then they go here alone', async (t) => {
  const [here, there] = await startTwo(t)
  await register(here)
  const { feed } = await feedTo(here, there)
  await sync(here, 'update_feed', { feed, enabled: false })
  await put(here, ks(0, 20))
  await keep(here, 5)
  const waiting = await until(
    async () => (await call<Rule[]>(here, LOADER, 'loaderwebapi.list_retention', {}))[0],
    (rule) => rule !== undefined && rule.waiting_rows > 0,
  )
  t.match(waiting, { rows: 20, removed_rows: 0, waits_for: { feed } })
  await sync(here, 'update_feed', { feed, enabled: true })
  await untilSent(here)
  await untilKept(here, 5)
  t.same(await keys(here), [15, 16, 17, 18, 19])
  t.equal((await keys(there)).length, 20)
  t.match(await sync(here, 'verify', { feed }), { equal: true, days: [], removed_days: [] })
  t.match(await sync(here, 'verify', { feed, recount: true }), { equal: true, removed_days: [] })
  await put(here, ks(20, 22))
  await untilSent(here)
  t.same((await keys(there)).slice(-3), [19, 20, 21], 'changes go on after those of rows that are gone')
  await untilKept(there, 3)
  t.match(await sync(here, 'verify', { feed }), { equal: true, days: [], removed_days: [] })
  await put(here, [{ k: 0, note: 'anew' }])
  await untilSent(here)
  const anew = await sync<{ equal: boolean; removed_days: object[] }>(here, 'verify', { feed })
  t.equal(anew.equal, true)
  t.equal(anew.removed_days.length, 1, 'a row that was put anew makes its day one that cannot be compared')
})

t.test('retention: what another node asks for stays until it has told that it has it', async (t) => {
  const [here, there] = await startTwo(t)
  await register(there)
  const { feed } = await feedFrom(here, there)
  await put(there, ks(0, 20))
  await until(
    () => keys(here).catch(() => []),
    (found) => found.length === 20,
  )
  await keep(there, 4)
  const waiting = await until(
    async () => (await call<Rule[]>(there, LOADER, 'loaderwebapi.list_retention', {}))[0],
    (rule) => rule !== undefined && rule.waiting_rows > 0,
  )
  t.match(waiting, { rows: 20, waits_for: { feed } }, 'askers tell once a minute')
  await call(there, LOADER, 'loaderwebapi.set_retention', { data_name: 'seen', drop_unsent: true })
  await untilKept(there, 4)
  t.same(await keys(there), [16, 17, 18, 19])
  t.equal((await keys(here)).length, 20)
  t.match(await sync(here, 'verify', { feed }), { equal: true, days: [], removed_days: [] })
})
