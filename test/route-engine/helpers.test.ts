import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import t from 'tap'
import { loadConfig } from '../../src/config/config.js'
import { createHelpers } from '../../src/route-engine/helpers.js'
import { finish, startCustomisation } from '../../src/routing/cch/customise.js'
import { buildHierarchy } from '../../src/routing/cch/hierarchy.js'
import { rankNodes } from '../../src/routing/cch/order.js'
import { startShared } from '../../src/routing/cch/shared-customise.js'
import { gridGraph, seeded } from '../support/random-graph.js'
import { workerEntry } from '../support/worker-entry.js'

const GRAPH = gridGraph(120, 90, seeded(6))
const HIERARCHY = buildHierarchy(GRAPH, rankNodes(GRAPH, GRAPH.sites))

const loaded = loadConfig(null)
if ('faults' in loaded) throw new Error('the defaults are refused')
const workerData = { role: 'customise', config: loaded.config }

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
    idleMs: 50,
  })
  return { helpers, started, ended, faults }
}

/** Customises until the metric is complete. @param pauseMs time for the threads between two slices */
async function customise(helpers: ReturnType<typeof createHelpers>, pauseMs: number) {
  const job = startShared(HIERARCHY, GRAPH.weights, 'int32', helpers)
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
    ...helpers,
    offer(run, onLost) {
      helpers.offer(run, () => {
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
