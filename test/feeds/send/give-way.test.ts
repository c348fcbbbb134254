import t from 'tap'
import { createGiveWay } from '../../../src/feeds/send/give-way.js'

/** A clock that goes on while something is waited for, and writers that take a share of that time. */
function setUp() {
  const state = { nowMs: 0, writtenMs: 0, share: 0 }
  const pass = (ms: number) => {
    state.nowMs += ms
    state.writtenMs += ms * state.share
  }
  const giveWay = createGiveWay({
    nowMs: () => state.nowMs,
    writingMs: () => state.writtenMs,
    async sleep(ms, signal) {
      signal.throwIfAborted()
      pass(ms)
    },
  })
  /** @returns how long a batch waits, ms */
  const wait = async (signal = new AbortController().signal) => {
    const startMs = state.nowMs
    await giveWay(signal)
    return state.nowMs - startMs
  }
  return { state, pass, wait }
}

t.test('give way: a batch goes at once while writers leave time', async (t) => {
  const { state, pass, wait } = setUp()
  t.equal(await wait(), 0, 'nothing has happened')
  state.share = 0.25
  pass(1000)
  t.equal(await wait(), 0)
})

t.test(
  'give way: a batch waits while writers keep the gateway busy, and goes all the same after half a second',
  async (t) => {
    const { state, pass, wait } = setUp()
    state.share = 0.9
    pass(100)
    t.equal(await wait(), 500)
    pass(10)
    t.equal(await wait(), 500, 'the next one too')
    state.share = 0
    pass(10)
    t.equal(await wait(), 0)
  },
)

t.test('give way: the wait ends with the sender', async (t) => {
  const { state, pass, wait } = setUp()
  state.share = 1
  pass(100)
  await t.rejects(wait(AbortSignal.abort()))
})
