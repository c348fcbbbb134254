import t from 'tap'
import { createLatest } from '../../../src/console/core/latest.js'

/** A clock whose frames and runs the test ends by hand. */
function world() {
  const frames: (() => void)[] = []
  const runs: { isLive: boolean; signal: AbortSignal; end(): void }[] = []
  let nowMs = 0
  const latest = createLatest(
    (signal, isLive) =>
      new Promise((resolve, reject) => {
        runs.push({ isLive, signal, end: resolve })
        signal.addEventListener('abort', () => reject(new DOMException('', 'AbortError')))
      }),
    { frame: (act) => void frames.push(act), nowMs: () => nowMs },
  )
  return {
    latest,
    runs,
    frame() {
      for (const act of frames.splice(0)) act()
    },
    pass: (ms: number) => {
      nowMs += ms
    },
    /** lets promises settle */
    settle: () => new Promise((resolve) => setImmediate(resolve)),
  }
}

t.test('latest: many live changes of a frame are one run; one waits while one is active', async (t) => {
  const { latest, runs, frame, settle } = world()
  for (let i = 0; i < 5; i++) latest.live()
  t.equal(runs.length, 0, 'nothing before the frame')
  frame()
  t.equal(runs.length, 1)
  t.equal(runs[0]?.isLive, true)
  for (let i = 0; i < 5; i++) {
    latest.live()
    frame()
  }
  t.equal(runs.length, 1, 'requests do not pile up')
  runs[0]?.end()
  await settle()
  t.equal(runs.length, 2, 'the newest question follows at once')
  runs[1]?.end()
  await settle()
  frame()
  t.equal(runs.length, 2, 'and no other')
})

t.test('latest: a settled change ends the live run and is answered at once', async (t) => {
  const { latest, runs, frame, settle } = world()
  latest.live()
  frame()
  latest.live()
  latest.now()
  t.equal(runs.length, 2)
  t.equal(runs[0]?.signal.aborted, true)
  t.same([runs[1]?.isLive, runs[1]?.signal.aborted], [false, false])
  frame()
  runs[1]?.end()
  await settle()
  frame()
  t.equal(runs.length, 2, 'the live change before it is answered by it')
})

t.test('latest: a run that takes too long makes way for a newer one', async (t) => {
  const { latest, runs, frame, pass, settle } = world()
  latest.live()
  frame()
  pass(1001)
  latest.live()
  frame()
  t.equal(runs.length, 2)
  t.equal(runs[0]?.signal.aborted, true)
  latest.stop()
  t.equal(runs[1]?.signal.aborted, true)
  latest.live()
  latest.stop()
  frame()
  await settle()
  t.equal(runs.length, 2, 'a stopped one runs nothing')
})
