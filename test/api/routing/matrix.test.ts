import t from 'tap'
import { dijkstra } from '../../../src/api/routing/dijkstra.js'
import { matrix } from '../../../src/api/routing/matrix.js'
import { rejectsWith } from '../../support/rejects-with.js'
import { openSearch } from '../../support/search.js'
import { at, town } from '../../support/town.js'

const LEVEL_5 = [0, 0, 0, 0, 0, 9999, 0, 0, 0, 0, 0]

t.test('routing.matrix: each cell is the route of its row and column', async (t) => {
  const { ask, addTheme, putCells } = openSearch(t, { town: town() }, { routing: { maxMatrixPoints: 3 } })
  const sources = [at(0, 0), at(2, 1.5)]
  const targets = [at(3, 0), at(0, 0), at(4, 4)]
  const table = await ask(matrix, [{ sources, targets }])
  for (const [row, start_lonlat] of sources.entries()) {
    for (const [column, goal_lonlat] of targets.entries()) {
      const route = await ask(dijkstra, [
        { themes: {}, start_datetime: '2026-01-01 00:00:00', start_lonlat, goal_lonlat },
      ])
      t.equal(table.lengths[row][column], route.length)
      t.equal(table.times[row][column], route.time)
      t.equal(table.costs[row][column], route.total_cost)
    }
  }
  const flood = addTheme('flood')
  await putCells(flood, [{ box: [10.001, 49.9995, 10.0035, 50.0015], risk: 5 }])
  const risk = {
    themes: { flood: [0, 0, 0, 0, 0, 0.7, 0, 0, 0, 0, 0] },
    start_datetime: '2026-01-01 00:00:00',
  }
  const risky = await ask(matrix, [{ sources, targets, ...risk }])
  for (const [row, start_lonlat] of sources.entries()) {
    for (const [column, goal_lonlat] of targets.entries()) {
      const route = await ask(dijkstra, [{ ...risk, start_lonlat, goal_lonlat }])
      t.ok(Math.abs(risky.costs[row][column] - route.total_cost) < 2e-12, 'to the last digit of an hour')
      t.ok(risky.costs[row][column] >= risky.times[row][column])
    }
  }
  t.ok(risky.costs[0][0] > table.costs[0][0], 'the risk counts')
  t.same((await ask(matrix, [{ sources }])).lengths[1][1], 0)
  await rejectsWith(t, ask(matrix, [{ sources: [...sources, ...sources] }]), 'TOO_MANY_ITEMS')
  await rejectsWith(t, ask(matrix, [{ sources, themes: { flood: LEVEL_5 } }]), 'INVALID_PARAMS', {
    data: { faults: [{ path: '$.start_datetime' }] },
  })
})

t.test('routing.matrix: null where there is no route', async (t) => {
  const network = town(3)
  network.junctions.push(at(0, 3), at(1, 3))
  network.roads.push({ from: 9, to: 10, speed: [30, 30] })
  const { ask } = openSearch(t, { town: network })
  const { costs, times, lengths } = await ask(matrix, [{ sources: [at(0, 0), at(0.5, 3)] }])
  for (const table of [costs, times, lengths]) {
    t.match(table, [
      [0, null],
      [null, 0],
    ])
  }
})
