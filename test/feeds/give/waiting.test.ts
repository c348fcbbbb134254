import t from 'tap'
import { createWaiting, type WaitingRequest } from '../../../src/feeds/give/waiting.js'
import type { LoaderTable } from '../../../src/storage/tables.js'
import { createWriteLock } from '../../../src/storage/work/write-lock.js'
import { rejectsWith } from '../../support/rejects-with.js'

/** Longer than any test: what wakes before is woken by a write. */
const NEVER_MS = 1_000_000
const table = { tableId: 1, dataName: 'x' } as LoaderTable // what is read of it

function setUp(pollMs = NEVER_MS) {
  const lock = createWriteLock()
  const state = { last: 5, commits: 0, looks: 0 }
  const waiting = createWaiting({
    async lastChange({ tableId }) {
      state.looks++
      return tableId === 1 ? state.last : 0
    },
    watchWrites: (listener) => lock.watch(listener),
    changeCount: () => state.commits,
    pollMs,
  })
  const wait = (more: Partial<WaitingRequest> = {}) =>
    waiting.wait({
      ...{ keyId: 'key', feedId: 'feed', table, seen: state.last, ms: NEVER_MS },
      ...{ signal: new AbortController().signal, ...more },
    })
  return { lock, state, waiting, wait }
}

t.test(
  'waiting: a write of this process wakes the requests for its table alone, with one look for all',
  async (t) => {
    const { lock, state, waiting, wait } = setUp()
    const mine = Array.from({ length: 20 }, (_, at) => wait({ feedId: `feed ${at}` }))
    const other = wait({ feedId: 'other', table: { ...table, tableId: 2 }, seen: 0 })
    await new Promise((resolve) => setImmediate(resolve))
    state.looks = 0
    await lock.run(() => {
      state.last++
    })
    t.same(new Set(await Promise.all(mine)), new Set(['changed']))
    t.equal(state.looks, 2, 'one for each table')
    t.equal(waiting.count(), 1)
    waiting.stop()
    t.equal(await other, 'ended')
  },
)

t.test(
  'waiting: a write before the request began to wait wakes it, and one of another process does',
  async (t) => {
    const { state, wait } = setUp(1)
    t.equal(await wait({ seen: 4 }), 'changed')
    const waits = wait()
    state.last++
    state.commits++
    t.equal(await waits, 'changed')
  },
)

t.test('waiting: it ends with its time, its caller, and a later request for the feed', async (t) => {
  const { waiting, wait } = setUp()
  t.equal(await wait({ ms: 1 }), 'ended')
  t.equal(await wait({ ms: 0 }), 'ended')
  t.equal(await wait({ signal: AbortSignal.abort() }), 'ended')
  const hangUp = new AbortController()
  const gone = wait({ signal: hangUp.signal })
  hangUp.abort()
  t.equal(await gone, 'ended')
  const first = wait()
  const second = wait()
  t.equal(await first, 'ended')
  t.equal(waiting.count(), 1)
  waiting.stop()
  t.equal(await second, 'ended')
  t.equal(waiting.count(), 0)
})

t.test('waiting: a key has a bounded number of requests, which are freed as they end', async (t) => {
  const { waiting, wait } = setUp()
  const all = Array.from({ length: 64 }, (_, at) => wait({ feedId: `feed ${at}` }))
  await rejectsWith(t, wait({ feedId: 'one more' }), 'BUSY')
  const ofOther = wait({ keyId: 'other', feedId: 'one more' })
  const again = wait({ feedId: 'feed 0' }) // takes the place of the first
  t.equal(await all[0], 'ended')
  waiting.stop()
  await Promise.all([...all, ofOther, again])
  const later = wait({ feedId: 'later' })
  waiting.stop()
  t.equal(await later, 'ended')
})
