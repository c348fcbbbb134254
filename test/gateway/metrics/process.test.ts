import { mock } from 'node:test'
import t from 'tap'
import { createLoopDelay, type LoopProbe } from '../../../src/gateway/metrics/process.js'

const LOOK_MS = 5000
/** Period from beat to beat, ns. */
const PERIOD_NS = 250e6

/** A probe of which a test says how busy the loop was, and what each histogram has recorded. */
function fakeProbe() {
  const made: { on: boolean; max: number; resets: number }[] = []
  const facts = { share: 1 }
  const probe: LoopProbe = {
    monitor() {
      const state = { on: false, max: PERIOD_NS, resets: 0 }
      made.push(state)
      return {
        enable() {
          state.on = true
          return true
        },
        disable() {
          state.on = false
          return true
        },
        reset() {
          state.resets++
          state.max = PERIOD_NS
        },
        percentile: () => state.max,
        get max() {
          return state.max
        },
      }
    },
    busyShare: () => facts.share,
  }
  return { made, facts, probe }
}

function longestS({ families }: ReturnType<typeof createLoopDelay>): number {
  const samples = families()[0]?.samples.map(({ value }) => value) ?? []
  return Math.max(...samples)
}

t.test(
  'loop delay: a stretch of work has a histogram of its own, so that idle time is no delay',
  async (t) => {
    mock.timers.enable({ apis: ['setInterval'] })
    t.teardown(() => mock.timers.reset())
    const { made, facts, probe } = fakeProbe()
    const loop = createLoopDelay(probe)
    made[0]!.max = PERIOD_NS + 40e6
    facts.share = 0
    mock.timers.tick(LOOK_MS)
    t.same(
      made.map(({ on }) => on),
      [false],
      'an idle loop is not measured',
    )
    mock.timers.tick(LOOK_MS * 3)
    facts.share = 0.5
    mock.timers.tick(LOOK_MS)
    t.same(
      made.map(({ on }) => on),
      [false, true],
      'the next stretch begins anew',
    )
    made[1]!.max = PERIOD_NS + 10e6
    t.equal(Math.round(longestS(loop) * 1e3), 40, 'the longest since the last reading')
    t.equal(longestS(loop), 0, 'a reading forgets it')
    t.equal(made[1]!.resets, 2)
    loop.stop()
    t.equal(made[1]!.on, false)
  },
)
