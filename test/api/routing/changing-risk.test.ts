import { mkdirSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { dijkstra } from '../../../src/api/routing/dijkstra.js'
import { writeGraphFile } from '../../../src/mapbuild/graph/write-graph.js'
import { coordinatesOf, rankNodes } from '../../../src/routing/cch/order.js'
import { boxRing } from '../../support/boxes.js'
import { makeGraph } from '../../support/make-graph.js'
import { openSearch } from '../../support/search.js'
import { startGateway } from '../../support/start-gateway.js'
import { at, unevenTown } from '../../support/town.js'

const ROUTES = '/api/v1/svcapi/jsonrpc'
const LOADER = '/api/v1/dataloaderapi/jsonrpc'
const SENSITIVITY = [0, 0, 0, 0, 0, 0, 10, 10, 10, 10, 10]
const STATES = 12
const QUESTIONS = [
  { start_lonlat: at(0.3, 0), goal_lonlat: at(7.6, 8) },
  { start_lonlat: at(8, 1.2), goal_lonlat: at(0.4, 7) },
  { start_lonlat: at(4, 0.2), goal_lonlat: at(4.1, 8), via: [at(8, 4)] },
].map((ends) => ({ ...ends, themes: { flood: SENSITIVITY }, start_datetime: '2026-01-01 00:00:00' }))

t.test(
  'a risk table that changes while queries run: every answer equals layer 1 on the state before or after',
  async (t) => {
    const dir = t.testdir({ gateway: {}, oracle: {} })
    const dataDir = path.join(dir, 'gateway')
    mkdirSync(path.join(dataDir, 'maps'), { recursive: true })
    const graph = makeGraph(unevenTown(9))
    const nodeRank = rankNodes(graph, coordinatesOf(graph, graph.meta.bbox))
    writeGraphFile(path.join(dataDir, 'maps', 'town.graph'), { ...graph, nodeRank })
    const gateway = await startGateway(t, { dataDir })
    await gateway.call(LOADER, 'loaderwebapi.register_loader', {
      data_name: 'flood',
      record_def: { id: { udt_name: 'int4' }, risk: { udt_name: 'int4' } },
      unique_columns: ['id'],
    })
    const expected = await answersOfStates({
      testdir: () => path.join(dir, 'oracle'),
      teardown: (work) => t.teardown(work),
    })
    let [asked, committed] = [0, 0] // changes that were sent, and those that were answered
    let isOver = false
    let mixed = 0
    let ofSeveral = 0
    let answers = 0
    const client = async (first: number) => {
      for (let i = first; !isOver; i++) {
        const question = i % QUESTIONS.length
        const from = committed
        const { body } = await gateway.call(ROUTES, 'routing.dijkstra', [QUESTIONS[question]])
        const to = asked
        answers++
        if (to > from) ofSeveral++
        const possible = expected.slice(from, to + 1).map((costs) => costs[question])
        if (!possible.includes(body.result?.total_cost)) {
          mixed++
          t.fail(`${JSON.stringify(body.error ?? body.result.total_cost)} is none of ${possible}`)
        }
      }
    }
    const clients = Promise.all([0, 1, 2, 3].map(client))
    for (let state = 0; state < STATES; state++) {
      asked++
      const { body } = await gateway.call(LOADER, 'loaderwebapi.add_record', {
        data_name: 'flood',
        record_set: cellsOf(state),
      })
      t.equal(body.error, undefined)
      committed++
      const seen = answers
      while (answers < seen + 8) await new Promise((resolve) => setTimeout(resolve, 1))
    }
    isOver = true
    await clients
    t.equal(mixed, 0)
    t.ok(ofSeveral > 0, `${answers} answers, ${ofSeveral} of them while the table changed`)
  },
)

/** Several cells a state, far apart: a mix of two states would have another cost. */
function cellsOf(state: number) {
  return [0, 1, 2].map((part) => {
    const [west, south] = at(((state * 5 + part * 3) % 8) + 0.2, ((state * 3 + part * 5) % 9) - 0.4)
    const [east, north] = [west + 0.0013, south + 0.0016]
    const ring = boxRing(west, south, east, north)
    return {
      type: 'Feature',
      geometry: { type: 'Polygon', coordinates: [ring] },
      properties: { id: state * 3 + part, risk: 6, start_datetime: null, end_datetime: null },
    }
  })
}

/** State of the table → cost of each question, by layer 1 on a table of its own. */
async function answersOfStates(t: Parameters<typeof openSearch>[0]): Promise<number[][]> {
  const { ask, addTheme, tables } = openSearch(t, { town: unevenTown(9) }, {}, false)
  const table = addTheme('flood')
  const states: number[][] = []
  for (let state = 0; state <= STATES; state++) {
    const costs: number[] = []
    for (const question of QUESTIONS) costs.push((await ask(dijkstra, [question])).total_cost)
    states.push(costs)
    if (state < STATES) await tables.put(table, cellsOf(state))
  }
  return states
}
