import t from 'tap'
import { snapPoints } from '../../../src/route-engine/locate.js'
import { stepRange } from '../../../src/routing/search/leg.js'
import { createDijkstraSearch } from '../../../src/routing/search/leg-search.js'
import { findMatrix } from '../../../src/routing/search/matrix.js'
import { createProfile } from '../../../src/routing/search/profile.js'
import { findRoute } from '../../../src/routing/search/route.js'
import { createSearchState } from '../../../src/routing/search/search-state.js'
import { runToEnd } from '../../../src/routing/search/sliced-task.js'
import { makeGraph } from '../../support/make-graph.js'
import { overlayOf } from '../../support/random-network.js'
import { throwsWith } from '../../support/throws.js'
import { asked, at, unevenTown } from '../../support/town.js'

/** A town with a risky street and an island, and searches on it. */
function risky() {
  const network = unevenTown(4)
  network.junctions.push(at(0, 5), at(1, 5))
  network.roads.push({ from: 16, to: 17, speed: [30, 30] })
  const graph = makeGraph(network)
  const overlay = overlayOf(new Map([[4, [[50_000, 3], [graph.segmentLengthMm[4]!, 0]]]])) // biome-ignore format: pieces
  const profile = createProfile(graph, [{ overlay, sensitivity: [0, 0, 0, 40, 0, 0, 0, 0, 0, 0, 0] }])
  const search = createDijkstraSearch(graph, profile.weights, createSearchState(graph.nodeCount))
  const snapsOf = (points: [number, number][]) => snapPoints({ name: 'town', graph }, asked(points), 1000)
  return { graph, profile, search, snapsOf }
}

t.test('findMatrix: cost, time and length of each cell are those of the route', async (t) => {
  const { graph, profile, search, snapsOf } = risky()
  const control = { maxSettledNodes: 1e9 }
  // two points in one street, a junction, and one on the island
  const snaps = snapsOf([at(0.2, 0), at(0.7, 0), at(2, 1), at(2.5, 3), at(0.5, 5)])
  const matrix = runToEnd(findMatrix({ profile, search, control }, snaps.slice(0, 4), snaps))
  t.same([matrix.rows, matrix.columns, matrix.costMs.length], [4, 5, 20])
  for (let row = 0; row < 4; row++) {
    for (let column = 0; column < 5; column++) {
      const route = runToEnd(findRoute({ profile, search, control }, [snaps[row]!, snaps[column]!]))
      const cell = [matrix.costMs, matrix.lengthMm, matrix.timeH].map((values) => values[row * 5 + column]!)
      if ('blockedLeg' in route) {
        t.same([column, ...cell], [4, Number.POSITIVE_INFINITY, 0, 0], 'no path to the island')
        continue
      }
      let lengthMm = 0
      let timeH = 0
      for (const step of route.legs[0]!) {
        const [fromMm, toMm] = stepRange(graph, step)
        lengthMm += toMm - fromMm
        timeH += (toMm - fromMm) / 1e6 / (graph.linkSpeed[step.link]! / 10)
      }
      t.same(cell.slice(0, 2), [route.costMs, lengthMm], `${row} to ${column}`)
      t.ok(Math.abs(cell[2]! - timeH) < 1e-12, `${cell[2]} h, expected ${timeH} h`)
    }
  }
})

t.test('findMatrix: a row a slice; SEARCH_TOO_LARGE', async (t) => {
  const { profile, search, snapsOf } = risky()
  const snaps = snapsOf([at(0, 0), at(1, 1), at(3, 3)])
  const task = findMatrix({ profile, search, control: { maxSettledNodes: 1e9 } }, snaps, snaps)
  let slices = 0
  while (task.next().done !== true) slices++
  t.equal(slices, 3)
  throwsWith(
    t,
    () => runToEnd(findMatrix({ profile, search, control: { maxSettledNodes: 3 } }, snaps, snaps)),
    'SEARCH_TOO_LARGE',
  )
})
