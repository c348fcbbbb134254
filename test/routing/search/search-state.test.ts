import t from 'tap'
import {
  beginRun,
  createSearchState,
  isSettled,
  MARK_STRIDE,
  SEEN,
  SETTLED,
  TARGET,
} from '../../../src/routing/search/search-state.js'

/** Largest run whose marks fit 32 bits: (2^28 - 2) · 8 + 7 < 2^31. */
const LAST_RUN = 2 ** 28 - 2

t.test('beginRun: what the run before settled is not settled in the next one', async (t) => {
  const state = createSearchState(3)
  const base = beginRun(state)
  t.equal(base, MARK_STRIDE)
  state.mark[0] = base + SETTLED
  state.mark[1] = base + SEEN + TARGET
  state.queue.push(0, 1)
  state.settledCount = 1
  t.same([0, 1, 2].map((node) => isSettled(state, node)), [true, false, false]) // biome-ignore format: short
  t.equal(beginRun(state), MARK_STRIDE * 2)
  t.same([0, 1, 2].map((node) => isSettled(state, node)), [false, false, false]) // biome-ignore format: short
  t.same([state.queue.length, state.settledCount], [0, 0])
})

t.test('beginRun: marks are cleared when run numbers no longer fit', async (t) => {
  const state = createSearchState(2)
  state.run = LAST_RUN - 1
  const base = beginRun(state)
  t.equal(base, LAST_RUN * MARK_STRIDE)
  state.mark.fill(base + SETTLED + SEEN + TARGET)
  t.same([state.mark[0], isSettled(state, 0)], [base + 7, true], 'the last run fits 32 bits')
  t.equal(beginRun(state), MARK_STRIDE)
  t.same([...state.mark], [0, 0])
  t.equal(isSettled(state, 0), false)
})
