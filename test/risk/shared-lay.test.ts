import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads'
import t from 'tap'
import { loadGraphFile, openLines } from '../../src/files/graph-file-loader.js'
import type { Shape } from '../../src/geo/shape.js'
import { buildOverlay } from '../../src/risk/build-overlay.js'
import type { Found } from '../../src/risk/found-pieces.js'
import { type LayHelpers, type LayRun, layBranches, layTogether } from '../../src/risk/shared-lay.js'
import { isPaged } from '../../src/routing/graph/paged.js'
import type { RoadLines } from '../../src/routing/graph/road-lines.js'
import type { Overlay } from '../../src/routing/search/overlay.js'
import { runToEnd, type SlicedTask } from '../../src/routing/search/sliced-task.js'
import { largeTownFile, townCells } from '../support/large-town.js'
import { makeGraph } from '../support/make-graph.js'
import { town } from '../support/town.js'

const file = largeTownFile()
const GRAPH = loadGraphFile(file, undefined, 64 * 1024)

/** A run as it is sent, with what is called when it is answered. */
interface Offered {
  run: LayRun
  answer(found: Found | undefined): void
}

/** A run as another thread gets it: shared memory stays shared, all else is copied. */
function asMessage(run: LayRun): LayRun {
  const { port1, port2 } = new MessageChannel()
  port1.postMessage(run)
  const received = receiveMessageOnPort(port2)
  port1.close()
  return (received as { message: LayRun }).message
}

/** Other threads whose work a test does when it likes. */
function threads(count: number, silenceMs = 10_000) {
  const offered: Offered[] = []
  const helpers: LayHelpers = {
    minCells: 1,
    isFree: () => true,
    threads: count,
    silenceMs,
    offer(runFor, onAnswer) {
      for (let place = 0; place < count; place++) {
        const run = asMessage(runFor(place))
        offered.push({ run, answer: (found) => onAnswer(place, found) })
      }
    },
  }
  return { helpers, offered }
}

/** Runs a task. @param between called after each slice, with their number */
function drive(task: SlicedTask<Overlay>, between: (slices: number) => void): Overlay {
  for (let slices = 1; ; slices++) {
    const slice = task.next()
    if (slice.done === true) return slice.value
    between(slices)
  }
}

/** What a thread finds; it takes no more branches than `most`. */
function laySome({ run }: Offered, most: number): Found | undefined {
  // the others seem to be taken by the thread that began, for as long as this one looks
  const free = [...run.takenBy.keys()].filter((branch) => run.takenBy[branch] === 0)
  const held = free.slice(0, -most)
  for (const branch of held) run.takenBy[branch] = 1
  const found = layBranches(run, openLines)
  for (const branch of held) run.takenBy[branch] = 0
  return found
}

t.test('layTogether: whoever lays a branch, and whenever, the overlay is that of one thread', async (t) => {
  const inMemory = loadGraphFile(file)
  t.same([isPaged(GRAPH.segmentIndex), isPaged(inMemory.segmentIndex)], [true, false])
  const cells = townCells(1500)
  const expected = buildOverlay(GRAPH, cells)
  t.ok(expected.segments.length > 3000, `${expected.segments.length} segments`)
  const shares: number[] = []
  for (const count of [1, 3]) {
    for (const helpAfter of [1, 40, 400, 1e9]) {
      const { helpers, offered } = threads(count)
      const task = layTogether(count === 1 ? GRAPH : inMemory, cells, undefined, helpers)
      const made = drive(task, (slices) => {
        if (slices !== helpAfter) return
        for (const one of offered) one.answer(laySome(one, helpAfter === 1 ? 30 : 1e9))
      })
      t.same(made, expected, `${count} threads, after ${helpAfter} slices`)
      const taken = offered[0]!.run.takenBy
      shares.push(taken.filter((thread) => thread !== 1).length / taken.length)
    }
  }
  t.ok(
    shares.some((share) => share > 0.2 && share < 0.8),
    `shares of the others: ${shares}`,
  )
  t.ok(shares.includes(0))
})

t.test('layTogether: what a lost or silent thread had taken is laid by the one that began', async (t) => {
  const cells = townCells(900)
  const expected = buildOverlay(GRAPH, cells)
  for (const fate of ['lost', 'silent', 'late'] as const) {
    const { helpers, offered } = threads(2, 50)
    let turns = 0
    const late: (() => void)[] = []
    const task = layTogether(GRAPH, cells, undefined, helpers)
    const made = drive(task, (slices) => {
      turns++
      if (slices !== 3) return
      for (const one of offered) {
        const found = laySome(one, 20)
        t.ok(found && found.count > 0)
        if (fate === 'lost') one.answer(undefined)
        if (fate === 'late') late.push(() => one.answer(found))
      }
    })
    for (const answer of late) answer()
    t.same(made, expected, fate)
    t.ok(turns > 3)
  }
})

t.test(
  'layTogether: waits for the answer of a thread that has begun, a turn of the loop at a time',
  async (t) => {
    const cells = townCells(900)
    const { helpers, offered } = threads(1)
    const task = layTogether(GRAPH, cells, undefined, helpers)
    let found: Found | undefined
    let waits = 0
    for (let slices = 1; ; slices++) {
      const slice = task.next()
      if (slices === 2) found = laySome(offered[0]!, 20)
      if (slice.value === 'turn' && ++waits === 3) offered[0]!.answer(found)
      if (slice.done !== true) continue
      t.same(slice.value, buildOverlay(GRAPH, cells))
      break
    }
    t.equal(waits, 3)
  },
)

t.test('layTogether: a caller that ends it ends the others, too', async (t) => {
  const cells = townCells(900)
  const { helpers, offered } = threads(2)
  let isEnded = false
  const throwIfEnded = () => {
    if (isEnded) throw new Error('cancelled')
  }
  const task = layTogether(GRAPH, cells, throwIfEnded, helpers)
  task.next()
  isEnded = true
  t.throws(() => runToEnd(task), { message: 'cancelled' })
  let opened = 0
  const count = (lines: Parameters<typeof openLines>[0]) => {
    opened++
    return openLines(lines)
  }
  t.equal(layBranches(offered[0]!.run, count), undefined)
  t.equal(opened, 0, 'a thread that has not begun does not begin')
})

t.test('layBranches: a run that ends amid its work is answered with nothing', async (t) => {
  const cells = townCells(900)
  const { helpers, offered } = threads(1)
  const task = layTogether(GRAPH, cells, undefined, helpers)
  task.next()
  const { run } = offered[0]!
  const endsIt = (lines: Parameters<typeof openLines>[0]) => {
    task.return(undefined as never)
    return openLines(lines)
  }
  const found = layBranches(run, endsIt)
  t.equal(found?.count ?? 0, 0)
  t.equal(run.isEnded[2], 1)
})

t.test('layBranches: errors of the map are thrown, and told by the end of the part', async (t) => {
  const { helpers, offered } = threads(1)
  const task = layTogether(GRAPH, townCells(100), undefined, helpers)
  task.next()
  const broken = () => {
    throw new Error('the file is gone')
  }
  t.throws(() => layBranches(offered[0]!.run, broken), { message: 'the file is gone' })
  t.equal(offered[0]!.run.isEnded[2], 1)
  task.return(undefined as never)
})

t.test('layTogether: alone for few cells, large areas, on a small map, and without threads', async (t) => {
  const cells = townCells(50)
  const { helpers, offered } = threads(1)
  const alone: [RoadLines, LayHelpers | undefined][] = [
    [GRAPH, { ...helpers, minCells: 51 }],
    [makeGraph(town(20)), helpers],
    [GRAPH, undefined],
    [GRAPH, { ...helpers, isFree: () => false }],
  ]
  for (const [graph, others] of alone)
    t.same(runToEnd(layTogether(graph, cells, undefined, others)), buildOverlay(graph, cells))
  const shape = [...cells.shapes.values()][0]!
  const many = Array.from({ length: 1001 }, (_, i): [number, Shape] => [i, shape])
  const large = Array.from({ length: 900 }, (_, i): [number, Shape] => [
    i,
    { ...shape, xy: new Float64Array(600) },
  ])
  for (const shapes of [many, large]) {
    const task = layTogether(GRAPH, { ...cells, shapes: new Map(shapes) }, undefined, helpers)
    task.next()
    t.equal(offered.length, 0, `${shapes.length} shapes`)
    task.return(undefined as never)
  }
  t.equal(offered.length, 0)
})
