import t from 'tap'
import type { OsmRelation, OsmWay } from '../../src/demo/write-extract.js'
import { createMapStates } from '../../src/route-engine/map-states.js'
import type { Graph } from '../../src/routing/graph/graph.js'
import { snapNear } from '../../src/routing/graph/snap.js'
import { createDijkstraSearch } from '../../src/routing/search/leg-search.js'
import { createProfile } from '../../src/routing/search/profile.js'
import { findRoute, type Route } from '../../src/routing/search/route.js'
import { createSearchState } from '../../src/routing/search/search-state.js'
import { runToEnd } from '../../src/routing/search/sliced-task.js'
import { graphOfOsm } from '../support/osm-fixture.js'

/** Conditions, and when they hold on a day (0 = Monday), by a reading of their own. */
const CONDITIONS: [text: string, holds: (day: number, minute: number) => boolean][] = [
  ['Mo-Fr 07:00-09:00', (day, minute) => day < 5 && minute >= 420 && minute < 540],
  ['22:00-06:00', (_, minute) => minute >= 1320 || minute < 360],
  ['Sa,Su', (day) => day >= 5],
  ['Mo-Sa 06:00-20:00', (day, minute) => day < 6 && minute >= 360 && minute < 1200],
]
/** Monday, 5 January 2026, in the zone of the map, an hour east of UTC. */
const MONDAY_MS = Date.UTC(2026, 0, 5) - 3_600_000
const SIDE = 4

type Tags = Record<string, string>

/** A town of streets on a grid: each object with its tags under conditions, and a way to freeze them. */
interface Town {
  readonly nodes: { id: number; lng: number; lat: number; tags?: Tags }[]
  readonly ways: OsmWay[]
  readonly relations: OsmRelation[]
}

function randomTown(next: (below: number) => number): Town {
  const pick = <T>(items: readonly T[]): T => items[next(items.length)]!
  const clause = (values: readonly string[]) => `${pick(values)} @ (${pick(CONDITIONS)[0]})`
  const clauses = (values: readonly string[]) =>
    Array.from({ length: 1 + next(2) }, () => clause(values)).join('; ')
  const nodes = Array.from({ length: SIDE * SIDE }, (_, i) => {
    const barrier =
      next(12) === 0 ? { barrier: 'gate', ...(next(2) === 0 ? { access: 'no' } : {}) } : undefined
    const tags: Tags | undefined = barrier && { ...barrier, 'access:conditional': clauses(['yes', 'no']) }
    return {
      id: i + 1,
      lng: 10 + (i % SIDE) * 0.002,
      lat: 45 + Math.floor(i / SIDE) * 0.002,
      ...(tags && { tags }),
    }
  })
  const ways: OsmWay[] = []
  const street = (a: number, b: number) => {
    if (next(8) === 0) return
    const tags: Tags = { highway: pick(['residential', 'tertiary', 'service']) }
    if (next(6) === 0) tags.oneway = 'yes'
    if (next(6) === 0) tags.access = pick(['no', 'yes'])
    if (next(3) === 0) tags['access:conditional'] = clauses(['no', 'yes', 'yes'])
    if (next(5) === 0) tags['oneway:conditional'] = clauses(['yes', '-1', 'no'])
    if (next(4) === 0) tags['maxspeed:conditional'] = clauses(['10', '30', '70'])
    ways.push({ id: ways.length + 1, refs: next(2) === 0 ? [a, b] : [b, a], tags })
  }
  for (let y = 0; y < SIDE; y++) {
    for (let x = 0; x < SIDE; x++) {
      const at = y * SIDE + x + 1
      if (x + 1 < SIDE) street(at, at + 1)
      if (y + 1 < SIDE) street(at, at + SIDE)
    }
  }
  const relations = Array.from({ length: next(4) }, (_, i): OsmRelation | undefined => {
    const [from, to] = [pick(ways), pick(ways)]
    const via = from.refs.find((ref) => to.refs.includes(ref))
    if (from === to || via === undefined) return undefined
    const kinds = ['no_left_turn', 'only_straight_on', 'none']
    const tags: Tags = { type: 'restriction', 'restriction:conditional': clauses(kinds) }
    if (next(2) === 0) tags.restriction = pick(kinds.slice(0, 2))
    const members = [
      { type: 'way' as const, id: from.id, role: 'from' },
      { type: 'node' as const, id: via, role: 'via' },
      { type: 'way' as const, id: to.id, role: 'to' },
    ]
    return { id: i + 1, tags, members }
  }).filter((one) => one !== undefined)
  return { nodes, ways, relations }
}

/** The tags that hold at a time, without conditions. */
function frozen(tags: Tags = {}, day: number, minute: number): Tags {
  const plain: Tags = {}
  for (const [key, value] of Object.entries(tags)) if (!key.endsWith(':conditional')) plain[key] = value
  for (const [key, value] of Object.entries(tags)) {
    if (!key.endsWith(':conditional')) continue
    for (const clause of value.split('; ')) {
      const [, word = '', text = ''] = /^(\S+) @ \((.*)\)$/.exec(clause) ?? []
      if (CONDITIONS.find(([known]) => known === text)?.[1](day, minute) === true)
        plain[key.slice(0, -':conditional'.length)] = word
    }
  }
  return plain
}

function freeze({ nodes, ways, relations }: Town, day: number, minute: number): Town {
  return {
    nodes: nodes.map((node) =>
      node.tags === undefined ? node : { ...node, tags: frozen(node.tags, day, minute) },
    ),
    ways: ways.map((way) => ({ ...way, tags: frozen(way.tags, day, minute) })),
    relations: relations.map((one) => ({ ...one, tags: frozen(one.tags, day, minute) })),
  }
}

/** Cheapest route between two nodes: its cost; undefined where it turns round, or an end is not on a road. */
function costOf(
  graph: Graph,
  from: Town['nodes'][number],
  to: Town['nodes'][number],
): number | 'turns' | 'none' {
  const snaps = [from, to].map(({ lng, lat }) => snapNear(graph, lng, lat, 1)?.nearest)
  const [start, goal] = snaps
  if (start === undefined || goal === undefined) return 'none'
  const profile = createProfile(graph)
  const search = createDijkstraSearch(graph, profile.weights, createSearchState(graph.nodeCount))
  const control = { maxSettledNodes: Number.POSITIVE_INFINITY }
  const route = runToEnd(findRoute({ profile, search, control }, [start, goal]))
  if ('blockedLeg' in route) return 'none'
  return turnsRound(route) ? 'turns' : route.costMs
}

function turnsRound({ legs }: Route): boolean {
  const links = legs.flat().map(({ link }) => link)
  return links.some((link, i) => links[i + 1] === (link ^ 1))
}

/** Roads that are joined to one are rounded once. */
const ROUNDING_MS = 10

function isAlike(a: number | string, b: number | string): boolean {
  return typeof a === 'number' && typeof b === 'number' ? Math.abs(a - b) <= ROUNDING_MS : a === b
}

t.test(
  'conditions: a map at a time has the routes of one that is built of the tags that hold then',
  async (t) => {
    let seed = 7
    const next = (below: number) => {
      seed = (Math.imul(seed, 1103515245) + 12345) >>> 0
      return (seed >>> 8) % below
    }
    const found = { compared: 0, turns: 0, none: 0, changed: 0 }
    for (let round = 0; round < 40; round++) {
      const town = randomTown(next)
      const graph = await graphOfOsm(town)
      const states = createMapStates(graph)
      for (const [day, minute] of [
        [0, 450],
        [2, 750],
        [3, 1400],
        [5, 300],
        [6, 800],
      ] as const) {
        const atUs = BigInt(MONDAY_MS + day * 86_400_000 + minute * 60_000) * 1000n
        const state = states.stateAt(atUs, undefined)
        const other = await graphOfOsm(freeze(town, day, minute)).catch((error: Error) => error)
        if (other instanceof Error) continue // no road is open then
        for (let pair = 0; pair < 20; pair++) {
          // a barrier that is closed is an end of each road there, of which one is chosen
          const places = town.nodes.filter(({ tags }) => tags === undefined)
          const [from, to] = [places[next(places.length)]!, places[next(places.length)]!]
          const [a, b] = [costOf(state.graph, from, to), costOf(other, from, to)]
          if (a === 'turns' || b === 'turns') {
            found.turns++
            continue
          }
          found.compared++
          if (b === 'none') found.none++
          if (!isAlike(a, costOf(graph, from, to))) found.changed++
          if (!isAlike(a, b))
            t.fail(
              `round ${round}, day ${day}, minute ${minute}: ${from.id} to ${to.id}: ${a}, expected ${b}`,
              { town },
            )
        }
      }
    }
    t.ok(found.compared > 2000 && found.changed > 200, JSON.stringify(found))
    t.comment(JSON.stringify(found))
  },
)
