import path from 'node:path'
import { crc32 } from 'node:zlib'
import t from 'tap'
import { createRandom } from '../../src/demo/town-builder.js'
import { buildMap } from '../../src/mapbuild/build-map.js'
import { writeGraphShared } from '../../src/mapbuild/graph/write-graph.js'
import { featuresOf } from '../../src/route-answer/features.js'
import { readGraph } from '../../src/routing/graph/graph-file.js'
import { snap } from '../../src/routing/graph/snap.js'
import { createDijkstraSearch } from '../../src/routing/search/leg-search.js'
import { createProfile } from '../../src/routing/search/profile.js'
import { findRoute } from '../../src/routing/search/route.js'
import { createSearchState } from '../../src/routing/search/search-state.js'
import { findUTurns, isDeadEnd, isOnlyWay } from '../support/find-u-turns.js'
import { BUILD, EXTRACTS, missingExtracts } from '../support/osm-fixture.js'
import { routeNow } from '../support/routes.js'

/** The long form is `npm run bench -- routing-turns`: 5,000 pairs on every extract under four risks. */
const PAIRS = 300

for (const name of ['monaco-2020.osm.pbf', 'andorra-2020.osm.pbf']) {
  t.test(`${name}: no answer turns round away from a dead end`, { skip: missingExtracts() }, async (t) => {
    const parts = await buildMap({ ...BUILD, input: path.join(EXTRACTS, name) })
    const graph = readGraph(writeGraphShared(parts), crc32)
    const profile = createProfile(graph)
    const search = createDijkstraSearch(graph, profile.weights, createSearchState(graph.nodeCount))
    const random = createRandom(7)
    const place = () => {
      const at = Math.floor(random() * graph.junctionCount)
      return snap(graph, graph.junctionLngE7[at]! / 1e7 + 2e-4, graph.junctionLatE7[at]! / 1e7, 1000)!
    }
    const faults: string[] = []
    for (let pair = 0; pair < PAIRS; pair++) {
      const snaps = [place(), place()]
      const route = routeNow(findRoute({ profile, search, control: { maxSettledNodes: 1e9 } }, snaps))
      for (const leg of featuresOf(graph, route)) {
        for (const { at } of findUTurns(leg.map(({ geometry }) => geometry.coordinates))) {
          const steps = route.legs.flat()
          const isFine = isDeadEnd(graph, steps, at) || isOnlyWay(graph, steps, at)
          if (!isFine) faults.push(`pair ${pair} turns round at ${at}`)
        }
      }
    }
    t.same(faults, [])
  })
}
