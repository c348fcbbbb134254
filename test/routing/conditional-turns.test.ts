import t from 'tap'
import { createRandom } from '../../src/demo/town-builder.js'
import type { OsmData, OsmNode, OsmWay } from '../../src/demo/write-extract.js'
import { featuresOf } from '../../src/route-answer/features.js'
import type { Graph } from '../../src/routing/graph/graph.js'
import { graphWhile } from '../../src/routing/graph/graph-state.js'
import { snap } from '../../src/routing/graph/snap.js'
import { createDijkstraSearch } from '../../src/routing/search/leg-search.js'
import { findMatrix } from '../../src/routing/search/matrix.js'
import { createProfile } from '../../src/routing/search/profile.js'
import { findRoute } from '../../src/routing/search/route.js'
import { createSearchState } from '../../src/routing/search/search-state.js'
import { runToEnd } from '../../src/routing/search/sliced-task.js'
import { findUTurns } from '../support/find-u-turns.js'
import { graphOfOsm } from '../support/osm-fixture.js'

const SIDE = 16
const RULES = 4
const SEEDS = Number(process.env.TURN_SEEDS ?? 3)
/** Places beside random junctions, and on both roads of each restriction. */
const PLACES = 4

/** A town of square blocks, some of them without a street between, in which random turns are forbidden. */
function town(seed: number, key: string, suffix: string): OsmData {
  const random = createRandom(seed)
  const nodes: OsmNode[] = []
  const ways: OsmWay[] = []
  const idOf = (x: number, y: number) => y * SIDE + x + 1
  // turning round far along a fast street is quicker than going round a block by slow ones
  const fast = { highway: 'residential', maxspeed: '110' }
  const slow = { highway: 'residential', maxspeed: '5' }
  for (let y = 0; y < SIDE; y++) {
    for (let x = 0; x < SIDE; x++) {
      const [lng, lat] = [10 + x * 0.0012 + random() * 2e-4, 45 + y * 0.0009 + random() * 2e-4]
      nodes.push({ id: idOf(x, y), lng, lat })
      if (x > 0) ways.push({ id: ways.length + 1, refs: [idOf(x - 1, y), idOf(x, y)], tags: fast })
      if (y > 0) ways.push({ id: ways.length + 1, refs: [idOf(x, y - 1), idOf(x, y)], tags: slow })
    }
  }
  const relations = Array.from({ length: RULES }, (_, i) => {
    const from = ways[Math.floor(random() * ways.length)]!
    const via = from.refs[Math.floor(random() * 2)]!
    const onward = ways.filter((way) => way !== from && way.refs.includes(via))
    const to = onward[Math.floor(random() * onward.length)]!
    return {
      id: i + 1,
      members: [
        { type: 'way' as const, id: from.id, role: 'from' },
        { type: 'node' as const, id: via, role: 'via' },
        { type: 'way' as const, id: to.id, role: 'to' },
      ],
      tags: { type: 'restriction', [key]: `no_left_turn${suffix}` },
    }
  })
  return { nodes, ways, relations }
}

/** Costs of all pairs of some places, as routes and as a matrix, and the routes that turn round. */
function pairsOf(graph: Graph, { nodes, ways, relations = [] }: OsmData) {
  const profile = createProfile(graph)
  const search = createDijkstraSearch(graph, profile.weights, createSearchState(graph.nodeCount))
  let again = 0
  const potentialTo: typeof search.potentialTo = (targets) => {
    again++
    return search.potentialTo(targets)
  }
  const searcher = { profile, search: { ...search, potentialTo }, control: { maxSettledNodes: 1e9 } }
  const random = createRandom(5)
  const middleOf = ({ refs }: OsmWay) => {
    const [a, b] = refs.map((id) => nodes[id - 1]!) as [OsmNode, OsmNode]
    return [(a.lng + b.lng) / 2, (a.lat + b.lat) / 2] as const
  }
  const atRules = relations.flatMap(({ members: [from, , to] }) => [from!, to!])
  const places = [
    ...atRules.map(({ id }) => middleOf(ways[id - 1]!)),
    ...Array.from({ length: PLACES }, () => middleOf(ways[Math.floor(random() * ways.length)]!)),
  ].map(([lng, lat]) => snap(graph, lng, lat, 1000)!)
  const turns: string[] = []
  const routes = places.flatMap((from, i) =>
    places.map((to, k) => {
      const route = runToEnd(findRoute(searcher, [from, to]))
      if ('blockedLeg' in route) return Number.POSITIVE_INFINITY
      for (const leg of featuresOf(graph, route))
        for (const { at } of findUTurns(leg.map(({ geometry }) => geometry.coordinates)))
          turns.push(`${i} to ${k} at ${at}`)
      return route.costMs
    }),
  )
  const searchedAgain = again
  const matrix = [...runToEnd(findMatrix(searcher, places, places)).costMs]
  return { routes, matrix, turns, searchedAgain }
}

t.test('turn restrictions in force at times are obeyed as those of all times are', async (t) => {
  let searchedAgain = 0
  for (let seed = 1; seed <= SEEDS; seed++) {
    const [all, some] = [
      town(seed, 'restriction', ''),
      town(seed, 'restriction:conditional', ' @ (07:00-09:00)'),
    ]
    const always = pairsOf(await graphOfOsm(all), all)
    const timed = await graphOfOsm(some)
    const inForce = pairsOf(graphWhile(timed, [1]), some)
    t.same(inForce.routes, always.routes, `seed ${seed}: routes`)
    t.same(inForce.matrix, always.routes, `seed ${seed}: matrix`)
    t.same(inForce.turns, [], `seed ${seed}: no U-turn, in a town without dead ends`)
    t.notSame(pairsOf(timed, some).routes, always.routes, `seed ${seed}: at other hours turns are free`)
    searchedAgain += inForce.searchedAgain
  }
  t.equal(searchedAgain, 0, 'the graph itself bans these U-turns, so no search is repeated on links')
})
