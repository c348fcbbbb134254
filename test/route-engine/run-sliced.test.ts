import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { dijkstra } from '../../src/api/routing/dijkstra.js'
import { searchCalls } from '../../src/route-engine/calls.js'
import type { RouteRequest } from '../../src/route-engine/requests.js'
import { runSliced } from '../../src/route-engine/run-sliced.js'
import type { WatchedTimeline } from '../../src/route-engine/timeline.js'
import type { SlicedTask } from '../../src/routing/search/sliced-task.js'
import { rejectsWith } from '../support/rejects-with.js'
import { ALL_LINKS } from '../support/routes.js'
import { openSearch } from '../support/search.js'
import { at, town } from '../support/town.js'
import { workOf } from '../support/work.js'

const SENSITIVITY = [0, 0, 0, 0, 0, 10, 10, 10, 10, 10, 10]

t.test('runSliced: other work runs between slices, and a cancelled task ends there', async (t) => {
  const cancel = new Int32Array(new SharedArrayBuffer(4))
  const order: string[] = []
  const running = runSliced(sleepless(3, order), workOf({ cancel }))
  for (let i = 0; i < 3; i++) {
    order.push('other')
    await nextTurn()
  }
  t.equal(await running, 3)
  t.same(order.slice(0, 5), ['slice', 'other', 'slice', 'other', 'slice'])

  const ended: string[] = []
  const stopped = runSliced(sleepless(3, ended), workOf({ cancel }))
  Atomics.store(cancel, 0, 1)
  await rejectsWith(t, stopped, 'CANCELLED')
  t.same(ended, ['slice'])
})

t.test('runSliced: a cancelled task ends what it has begun', async (t) => {
  const ended: string[] = []
  function* begun(): SlicedTask<number> {
    try {
      for (;;) yield 'turn'
    } finally {
      ended.push('ended')
    }
  }
  const cancel = new Int32Array(new SharedArrayBuffer(4))
  const running = runSliced(begun(), workOf({ cancel }))
  Atomics.store(cancel, 0, 1)
  await rejectsWith(t, running, 'CANCELLED')
  t.same(ended, ['ended'])
})

t.test(
  'runSliced: a task that waits for a message gets a turn of the event loop for each wait',
  async (t) => {
    let turns = 0
    const count = () => {
      turns++
      counting = setImmediate(count)
    }
    let counting = setImmediate(count)
    function* waiting(): SlicedTask<number> {
      for (let waits = 0; waits < 5; waits++) yield 'turn'
      return turns
    }
    t.ok((await runSliced(waiting(), workOf())) >= 4)
    clearImmediate(counting)
  },
)

t.test('runSliced: short slices run without a pause', async (t) => {
  let others = 0
  function* quick(): SlicedTask<number> {
    yield
    yield
    return others
  }
  const running = runSliced(quick(), workOf())
  others++
  t.equal(await running, 0)
})

t.test('answerRoute: a time-dependent search is repeated when a table changes meanwhile', async (t) => {
  const { parts, addTheme, putCells, ask } = openSearch(t, { town: town() })
  const flood = addTheme('flood')
  await putCells(flood, [cell(0, 30)])
  const request: RouteRequest = {
    map: undefined,
    themes: [['flood', SENSITIVITY]],
    startUs: BigInt(Date.UTC(2026, 0, 1)) * 1000n,
    points: [at(0, 0.5), at(4, 0.5)].map(([lng, lat], i) => ({ role: `${i}`, lng, lat })),
    reorder: false,
    withKml: false,
    shape: ALL_LINKS,
    alternatives: 1,
    avoid: [],
    isTimeDependent: true,
  }
  const map = parts.maps.list()[0]?.open()
  if (map === undefined) return
  const early = parts.profiles.timeline(map, { ...request, owner: 'one' })
  early.profileOf(0)
  t.notOk(early.isMixed())
  await putCells(flood, [cell(30, 50)])
  early.profileOf(1)
  t.ok(early.isMixed(), 'profiles of two states')

  // three attempts meet a change, then the search runs in one go
  let opened = 0
  const profiles = {
    ...parts.profiles,
    timeline: (...asked: Parameters<typeof parts.profiles.timeline>): WatchedTimeline => {
      opened++
      return { ...parts.profiles.timeline(...asked), isMixed: () => true }
    },
  }
  const { route } = searchCalls({ ...parts, profiles })
  const text = await route?.(request, workOf())
  t.equal(opened, 4)
  const params = {
    themes: { flood: SENSITIVITY },
    start_lonlat: at(0, 0.5),
    goal_lonlat: at(4, 0.5),
    start_datetime: '2026-01-01 00:00:00Z',
    depart: 'time_dependent',
  }
  t.same(JSON.parse(Buffer.from(text as Uint8Array).toString()), await ask(dijkstra, [params]))
})

/** Slices that each take longer than a turn. */
function* sleepless(count: number, order: string[]): SlicedTask<number> {
  for (let i = 0; i < count; i++) {
    order.push('slice')
    const untilMs = performance.now() + 8
    while (performance.now() < untilMs);
    yield
  }
  return count
}

/** Water over the middle of the town, from and until a number of seconds after the departure. */
function cell(fromS: number, untilS: number) {
  const time = (s: number) => new Date(Date.UTC(2026, 0, 1) + s * 1000).toISOString()
  return {
    box: [10.003, 49.99, 10.005, 50.1] as [number, number, number, number],
    risk: 6,
    start: time(fromS),
    end: time(untilS),
  }
}
