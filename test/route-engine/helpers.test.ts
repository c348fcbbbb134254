import { EventEmitter } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import t from 'tap'
import { loadConfig } from '../../src/config/config.js'
import { loadGraphFile } from '../../src/files/graph-file-loader.js'
import { buildOverlay } from '../../src/risk/build-overlay.js'
import { type LayHelpers, layTogether } from '../../src/risk/shared-lay.js'
import { createHelpers } from '../../src/route-engine/helpers.js'
import { runSliced } from '../../src/route-engine/run-sliced.js'
import { finish, startCustomisation } from '../../src/routing/cch/customise.js'
import { buildHierarchy } from '../../src/routing/cch/hierarchy.js'
import { rankNodes } from '../../src/routing/cch/order.js'
import { startShared } from '../../src/routing/cch/shared-customise.js'
import { largeTownFile, townCells } from '../support/large-town.js'
import { gridGraph, seeded } from '../support/random-graph.js'
import { workOf } from '../support/work.js'
import { workerEntry } from '../support/worker-entry.js'

const GRAPH = gridGraph(120, 90, seeded(6))
const HIERARCHY = buildHierarchy(GRAPH, rankNodes(GRAPH, GRAPH.sites))

const loaded = loadConfig(null)
if ('faults' in loaded) throw new Error('the defaults are refused')
const workerData = { role: 'help', config: loaded.config }

/** Threads of the program, and what became of them. */
function realThreads(count: number) {
  const started: Worker[] = []
  const ended = new Set<Worker>()
  const faults: unknown[] = []
  const helpers = createHelpers({
    threads: count,
    spawn() {
      const worker = new Worker(workerEntry(), { workerData })
      started.push(worker)
      worker.once('exit', () => ended.add(worker))
      return worker
    },
    onFault: (error) => faults.push(error),
    minTriangles: 0,
    minCells: 0,
    idleMs: 50,
  })
  return { helpers, started, ended, faults }
}

/** Customises until the metric is complete. @param pauseMs time for the threads between two slices */
async function customise(helpers: ReturnType<typeof createHelpers>, pauseMs: number) {
  const job = startShared(HIERARCHY, GRAPH.weights, 'int32', helpers.customising)
  if (job === undefined) throw new Error('it was not shared')
  while (!job.advance(2000)) await sleep(pauseMs)
  return job.metric
}

t.test(
  'helpers: threads customise beside this one, byte by byte the same, and end when they are idle',
  async (t) => {
    const { helpers, started, ended, faults } = realThreads(2)
    const expected = finish(startCustomisation(HIERARCHY, GRAPH.weights, 'int32'))
    t.equal(started.length, 0, 'none before they are needed')
    for (let i = 0; i < 5; i++) {
      const metric = await customise(helpers, i)
      t.same([metric.up, metric.down], [expected.up, expected.down])
    }
    while (ended.size < started.length) await sleep(10)
    t.ok(started.length >= 2)
    const before = started.length
    await customise(helpers, 0)
    t.ok(started.length > before, 'others are started later')
    while (ended.size < started.length) await sleep(10)
    t.same(faults, [])
  },
)

t.test('helpers: a thread that ends amid a run is told, and the next run starts another', async (t) => {
  const { helpers, started } = realThreads(1)
  let lost = 0
  const job = startShared(HIERARCHY, GRAPH.weights, 'int32', {
    ...helpers.customising,
    offer(run, onLost) {
      helpers.customising.offer(run, () => {
        lost++
        onLost()
      })
    },
  })
  await started[0]?.terminate()
  while (lost === 0) await sleep(5)
  if (job === undefined) throw new Error('it was not shared')
  const expected = finish(startCustomisation(HIERARCHY, GRAPH.weights, 'int32'))
  t.same(finish(job).up, expected.up)
  t.same((await customise(helpers, 1)).up, expected.up)
  t.equal(started.length, 2)
})

/** A graph is laid with what the threads find; how much that is. */
function counted(laying: LayHelpers) {
  const found: number[] = []
  const helpers: LayHelpers = {
    ...laying,
    offer: (runFor, onAnswer) =>
      laying.offer(runFor, (place, part) => {
        found.push(part?.count ?? 0)
        onAnswer(place, part)
      }),
  }
  return { helpers, found }
}

t.test(
  'helpers: threads lay cells beside this one, on one map and another, and the overlay is the same',
  async (t) => {
    const { helpers, started, ended, faults } = realThreads(2)
    const laying = counted(helpers.laying)
    const work = workOf()
    const maps = [largeTownFile(), largeTownFile()].map((file) => loadGraphFile(file, undefined, 64 * 1024))
    // on a busy machine a thread may start after the work is done
    for (let round = 0; round < 4 || !laying.found.some((count) => count > 0); round++) {
      const map = maps[round % 2]!
      const cells = townCells(3000)
      const overlay = await runSliced(layTogether(map, cells, undefined, laying.helpers), work)
      t.same(overlay, buildOverlay(map, cells))
      await sleep(20) // this test has shorter pauses than a thread needs to start
    }
    t.ok(
      laying.found.some((count) => count > 0),
      `found by threads: ${laying.found}`,
    )
    while (ended.size < started.length) await sleep(10)
    t.same(faults, [])
  },
)

t.test('helpers: a thread that ends while it lays leaves an overlay that this one makes', async (t) => {
  const { helpers, started } = realThreads(1)
  const map = loadGraphFile(largeTownFile(), undefined, 64 * 1024)
  const cells = townCells(3000)
  const task = layTogether(map, cells, undefined, helpers.laying)
  task.next()
  const made = runSliced(task, workOf())
  await started[0]?.terminate()
  t.same(await made, buildOverlay(map, cells))
})

t.test('helpers: a thread that is behind gets no more, however many callers come and go', async (t) => {
  const posted: unknown[] = []
  let answer: () => unknown = () => t.fail('nobody listens')
  const { customising, laying } = createHelpers({
    threads: 1,
    spawn: () => {
      const thread = new EventEmitter()
      answer = () => thread.emit('message', undefined)
      const postMessage = (work: unknown) => void posted.push(work)
      const rest = { postMessage, unref: () => undefined, terminate: async () => 0 }
      return Object.assign(thread, rest) as unknown as Worker
    },
    onFault: (error) => t.fail(String(error)),
    minTriangles: 0,
  })
  const begun = Array.from({ length: 5 }, () => startShared(HIERARCHY, GRAPH.weights, 'int32', customising))
  t.same(
    begun.map((job) => job !== undefined),
    [true, true, false, false, false],
  )
  t.equal(posted.length, 2)
  t.equal(laying.isFree(), false)
  answer()
  t.equal(laying.isFree(), true)
  t.ok(startShared(HIERARCHY, GRAPH.weights, 'int32', customising))
  t.equal(posted.length, 3)
})
