// One process: random pairs on a real map. Every line that doubles back is looked at on the roads around it.
import { crc32 } from 'node:zlib'
import { buildMap } from '../../src/mapbuild/build-map.js'
import { writeGraphShared } from '../../src/mapbuild/graph/write-graph.js'
import { buildOverlay } from '../../src/risk/build-overlay.js'
import { addCell, createCellSet } from '../../src/risk/cell-set.js'
import { featuresOf } from '../../src/route-answer/features.js'
import { chooseKind } from '../../src/routing/cch/customise.js'
import { mapHierarchy } from '../../src/routing/cch/map-hierarchy.js'
import { prepareNow } from '../../src/routing/cch/prepared.js'
import { createHierarchySearch } from '../../src/routing/cch/search.js'
import type { Graph } from '../../src/routing/graph/graph.js'
import { readGraph } from '../../src/routing/graph/graph-file.js'
import { snap } from '../../src/routing/graph/snap.js'
import type { LegSearch } from '../../src/routing/search/leg-search.js'
import { createProfile, type Profile } from '../../src/routing/search/profile.js'
import { findRoute } from '../../src/routing/search/route.js'
import { runToEnd } from '../../src/routing/search/sliced-task.js'
import { findUTurns, isDeadEnd, isOnlyWay } from '../../test/support/find-u-turns.js'
import { createTally, type Rules, readRules, tallyLeg, temptingPairs } from './restriction-oracle.js'
import { endless } from './routing-oracle.js'
import { circle, createRandom, randomPoint } from './routing-world.js'
import type { Kind } from './turn-oracle.js'

const [extract = '', pairs = '5000', kind = 'none'] = process.argv.slice(2)
const BUILD = { profile: 'car', country: null, name: 'x', builtBy: 'bench' } as const

async function main(): Promise<void> {
  const began = performance.now()
  const parts = await buildMap({ ...BUILD, input: extract, turnCosts: kind as Kind })
  const bytes = writeGraphShared(parts)
  const graph = readGraph(bytes, crc32)
  const name = extract.replace(/.*\//, '')
  const seconds = ((performance.now() - began) / 1000).toFixed(1)
  const { nodeCount, arcCount, junctionCount } = graph
  console.log(
    `${name}, turn costs ${kind}: ${junctionCount} junctions, ${nodeCount} nodes, ${arcCount} arcs, ${(bytes.byteLength / 1e6).toFixed(2)} MB, built in ${seconds} s`,
  )
  const rules = readRules(extract)
  const ruleCount = [...rules.values()].flat().length
  const tempting = temptingPairs(rules)
  console.log(`  ${ruleCount} turn restrictions, ${tempting.length} pairs that tempt to evade one`)
  for (const [title, profile] of profilesOf(graph)) report(graph, { title, profile, rules, tempting })
}

function profilesOf(graph: Graph): [string, Profile][] {
  const random = createRandom(14)
  const risk = (count: number, radiusM: number, factor: number) => {
    const cells = createCellSet()
    for (let i = 0; i < count; i++) addCell(cells, circle(graph, random, radiusM, 12), 10)
    const sensitivity = Array.from({ length: 11 }, (_, level) => (level === 10 ? factor - 1 : 0))
    return createProfile(graph, [{ overlay: buildOverlay(graph, cells), sensitivity }])
  }
  return [
    ['free flow', createProfile(graph)],
    ['discs x11', risk(12, 500, 11)],
    ['scattered x11', risk(1500, 30, 11)],
    ['discs x100', risk(12, 500, 100)],
  ]
}

interface Run {
  readonly title: string
  readonly profile: Profile
  readonly rules: Rules
  readonly tempting: ReturnType<typeof temptingPairs>
}

function report(graph: Graph, { title, profile, rules, tempting }: Run): void {
  const { search, exact } = openSearch(graph, profile)
  const random = createRandom(41)
  const tally = { routes: 0, none: 0, atDeadEnds: 0, elsewhere: 0, onlyWay: 0 }
  const atRules = createTally()
  for (let i = 0; i < Number(pairs) + tempting.length; i++) {
    const ends = tempting[i] ?? [randomPoint(graph, random).lonlat, randomPoint(graph, random).lonlat]
    const snaps = ends.map(([lng, lat]) => snap(graph, lng, lat, 5000)!)
    const route = runToEnd(findRoute({ profile, search, control: endless() }, snaps))
    if ('blockedLeg' in route) {
      tally.none++
      continue
    }
    tally.routes++
    const mayTurn = (at: readonly number[]) =>
      isDeadEnd(graph, route.legs.flat(), at) || isOnlyWay(graph, route.legs.flat(), at)
    for (const leg of featuresOf(graph, route)) {
      tallyLeg(
        rules,
        leg.map(({ geometry }) => geometry.coordinates),
        mayTurn,
        atRules,
      )
      for (const { at } of findUTurns(leg.map(({ geometry }) => geometry.coordinates))) {
        if (isDeadEnd(graph, route.legs.flat(), at)) tally.atDeadEnds++
        else if (isOnlyWay(graph, route.legs.flat(), at)) tally.onlyWay++
        else tally.elsewhere++
      }
    }
  }
  const { routes, none, atDeadEnds, elsewhere, onlyWay } = tally
  console.log(
    `  ${title}: ${routes} routes, ${none} pairs without one; U-turns ${atDeadEnds} at dead ends, ${onlyWay} where no other way leads on, ${elsewhere} ELSEWHERE; ${exact()} searched again`,
  )
  const { arrivals, driven, evaded, atDeadEnd, roundBlock, cases } = atRules
  console.log(
    `    at restrictions: ${arrivals} arrivals, ${driven} DRIVEN, ${evaded} EVADED within 300 m, ${atDeadEnd} turned at dead ends, ${roundBlock} round a block`,
  )
  for (const line of new Set(cases)) console.log(`      ${line}`)
  if (elsewhere + driven + evaded > 0) process.exitCode = 1
}

function openSearch(graph: Graph, profile: Profile): { search: LegSearch; exact: () => number } {
  const hierarchy = mapHierarchy(graph)!
  const { weights } = profile
  const kind = chooseKind(weights, profile.themes)
  const search = createHierarchySearch(prepareNow({ roads: graph, hierarchy, weights }, kind))
  let count = 0
  const counting: LegSearch = {
    ...search,
    potentialTo(targets) {
      count++
      return search.potentialTo(targets)
    },
  }
  return { search: counting, exact: () => count }
}

void main()
