import t from 'tap'
import { answerMatrix } from '../../src/route-engine/answer-matrix.js'
import { createDijkstraSearch } from '../../src/routing/search/leg-search.js'
import { createProfile } from '../../src/routing/search/profile.js'
import { createSearchState } from '../../src/routing/search/search-state.js'
import { runToEnd } from '../../src/routing/search/sliced-task.js'
import { graphOfOsm, nodeId, sketch } from '../support/osm-fixture.js'

const ROAD = { highway: 'residential' }
/** A main network, and the island XY beside it. */
const TOWN = sketch(
  ['ABCDE', '.....', 'XY...'],
  [
    ['ABCD', ROAD],
    ['DE', { ...ROAD, name: 'other' }],
    ['XY', ROAD],
  ],
)

/** Asks for lengths, m, and tells how many matrices were computed for them. */
async function open() {
  const graph = await graphOfOsm(TOWN)
  const profile = createProfile(graph)
  const search = createDijkstraSearch(graph, profile.weights, createSearchState(graph.nodeCount))
  let matrices = 0
  const rows: typeof search.rows = (...args) => {
    matrices++
    return search.rows(...args)
  }
  const searcher = { profile, search: { ...search, rows }, control: { maxSettledNodes: 1e9 } }
  const pointsOf = (letters: string) =>
    [...letters].map((letter, i) => {
      const { lng, lat } = TOWN.nodes.find(({ id }) => id === nodeId(letter))!
      return { role: `${i}`, lng, lat }
    })
  return (sources: string, targets: string) => {
    matrices = 0
    const request = { sources: pointsOf(sources), targets: pointsOf(targets) }
    const text = runToEnd(answerMatrix(searcher, { name: 'x', graph }, request, 1000))
    const { lengths } = JSON.parse(text) as { lengths: (number | null)[][] }
    return { metres: lengths.map((row) => row.map((m) => m && Math.round(m / 10) * 10)), matrices }
  }
}

t.test('a matrix between the nearest roads of all points, or those of the main network', async (t) => {
  const ask = await open()
  t.same(
    ask('AC', 'BE'),
    {
      metres: [
        [100, 390],
        [100, 200],
      ],
      matrices: 1,
    },
    'all on the main network',
  )
  t.same(ask('X', 'Y'), { metres: [[100]], matrices: 1 }, 'all on one island')
  t.same(
    ask('XY', 'CE'),
    {
      metres: [
        [200, 390],
        [100, 300],
      ],
      matrices: 1,
    },
    'sources on an island',
  )
  t.same(
    ask('CE', 'XY'),
    {
      metres: [
        [200, 100],
        [390, 300],
      ],
      matrices: 1,
    },
    'targets on an island',
  )
  t.same(
    ask('AX', 'EY'),
    {
      metres: [
        [390, 100],
        [390, 100],
      ],
      matrices: 1,
    },
    'both',
  )
  t.same(ask('X', 'E'), { metres: [[390]], matrices: 1 }, 'no point of the sources in the main network')
  t.same(ask('E', 'X'), { metres: [[390]], matrices: 1 }, 'no point of the targets there')
})
