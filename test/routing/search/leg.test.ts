import fc from 'fast-check'
import t from 'tap'
import type { Graph } from '../../../src/routing/graph/graph.js'
import type { Control } from '../../../src/routing/search/dijkstra.js'
import { findLeg, type Leg, stepRange } from '../../../src/routing/search/leg.js'
import type { LegSearch } from '../../../src/routing/search/leg-search.js'
import { endsOf } from '../../../src/routing/search/link-ends.js'
import type { Profile } from '../../../src/routing/search/profile.js'
import { makeGraph } from '../../support/make-graph.js'
import {
  type Drive,
  driveCost,
  enterCost,
  faultOf,
  oracleCost,
  type Spot,
  type World,
} from '../../support/oracle.js'
import { networks, themes } from '../../support/random-network.js'
import { placeAt, profileOf, searchesOf, spotOf, worldOf } from '../../support/random-world.js'

const RUNS = Number(process.env.FIELDGATE_TEST_RUNS ?? 700)

t.test(
  'property: a leg costs what brute force over roads, restrictions and pieces of risk finds',
  async (t) => {
    let found = 0
    let unreachable = 0
    const cases = networks().chain((network) => {
      const lengthMm = makeGraph(network).segmentLengthMm
      return fc.record({
        network: fc.constant(network),
        risk: fc.array(themes([...lengthMm]), { maxLength: 2 }),
        closed: fc.array(fc.tuple(fc.nat(1000), fc.nat(1000)), { maxLength: 1 }),
        ends: fc.array(fc.tuple(fc.nat(1000), fc.nat(1000)), { minLength: 4, maxLength: 4 }),
      })
    })
    fc.assert(
      fc.property(cases, ({ network, risk, closed, ends }) => {
        const graph = makeGraph(network)
        const world = worldOf(network, graph, risk, closed)
        const profile = profileOf(graph, world)
        for (const [a, b] of [ends.slice(0, 2), ends.slice(2)]) {
          const start = spotOf(graph, a!)
          const goal = spotOf(graph, b!)
          const strictMs = oracleCost(world, [start], [goal])
          // where there is no other way, traffic turns round
          const used = Number.isFinite(strictMs) ? world : { ...world, network: { ...network, noUTurn: [] } }
          const expectedMs = oracleCost(used, [start], [goal])
          for (const search of searchesOf(profile)) {
            const leg = legBetween(profile, search, start, goal)
            if (leg === undefined) {
              unreachable++
              if (expectedMs !== Number.POSITIVE_INFINITY)
                throw new Error(`no leg, expected one of ${expectedMs} ms`)
              continue
            }
            found++
            if (leg.costMs !== expectedMs)
              throw new Error(`a leg of ${leg.costMs} ms, expected ${expectedMs}`)
            checkSteps(graph, used, leg, start, goal)
          }
        }
      }),
      { numRuns: RUNS },
    )
    t.ok(found > RUNS / 2, `${found} legs compared, ${unreachable} pairs without a way`)
  },
)

/** The steps are a legal chain from start to goal whose own costs add up to the leg's. */
function checkSteps(graph: Graph, world: World, leg: Leg, start: Spot, goal: Spot): void {
  const drives = leg.steps.map((step): Drive => {
    const [low, high] = stepRange(graph, step)
    return (step.link & 1) === 0
      ? { link: step.link, fromMm: low, toMm: high }
      : { link: step.link, fromMm: high, toMm: low }
  })
  const sumMs = drives.reduce((sum, drive, i) => sum + driveCost(world, drive) + leg.steps[i]!.turnMs, 0)
  if (sumMs !== leg.costMs) throw new Error(`steps cost ${sumMs} ms, the leg says ${leg.costMs}`)
  for (const { link, from, turnMs } of leg.steps)
    if (from !== undefined && turnMs !== 0) throw new Error(`${turnMs} ms for entering ${link} on its way`)
  // parts of length 0 are left out, so a chain may miss its zero links: only chains without such roads are
  // checked
  if (world.lengthMm.includes(0)) return
  const isAtEnd = (spot: Spot) => spot.offsetMm === 0 || spot.offsetMm === world.lengthMm[spot.segment]
  if (isAtEnd(start) || isAtEnd(goal)) return
  const fault = faultOf(world, drives)
  if (fault !== null) throw new Error(fault)
  for (const [i, { link }] of drives.entries()) {
    const expectedMs = i === 0 ? 0 : enterCost(world, drives[i - 1]!.link, link)
    const { turnMs } = leg.steps[i]!
    if (turnMs !== expectedMs) throw new Error(`turn ${i} costs ${turnMs} ms, expected ${expectedMs}`)
  }
  const [first, last] = [drives[0], drives.at(-1)]
  if (first === undefined || last === undefined) {
    if (start.segment !== goal.segment || start.offsetMm !== goal.offsetMm) throw new Error('no steps')
    return
  }
  if (first.link >> 1 !== start.segment || first.fromMm !== start.offsetMm)
    throw new Error('begins elsewhere')
  if (last.link >> 1 !== goal.segment || last.toMm !== goal.offsetMm) throw new Error('ends elsewhere')
}

function legBetween(profile: Profile, search: LegSearch, start: Spot, goal: Spot): Leg | undefined {
  const { graph } = profile
  const control: Control = { maxSettledNodes: 1e9 }
  return findLeg(
    profile,
    search,
    endsOf(profile, placeAt(graph, start)),
    endsOf(profile, placeAt(graph, goal)),
    control,
  )
}
