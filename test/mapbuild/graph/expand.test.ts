import fc from 'fast-check'
import t from 'tap'
import type { OsmData, OsmRelation } from '../../../src/demo/write-extract.js'
import { type Graph, type GraphInMemory, isBannedUTurn, LINK_FLAG } from '../../../src/routing/graph/graph.js'
import { verifyGraph } from '../../../src/routing/graph/graph-verify.js'
import { graphOfOsm, linksOf, nameOf } from '../../support/osm-fixture.js'

interface Town {
  data: OsmData
  /** a rule as ways in the order of travel, from, via …, to; and its node when it has one */
  rules: { kind: 'no' | 'only'; ways: number[]; node: number | undefined }[]
}

/** Small random towns: every road between two nodes with a name of its own, so that none are joined. */
const towns: fc.Arbitrary<Town> = fc
  .record({
    size: fc.integer({ min: 3, max: 7 }),
    roads: fc.array(
      fc.record({
        from: fc.nat(6),
        to: fc.nat(6),
        oneway: fc.nat(3),
        mine: fc.nat(4),
      }),
      { minLength: 3, maxLength: 11 },
    ),
    walks: fc.array(
      fc.record({
        start: fc.nat(30),
        turns: fc.array(fc.nat(5), { minLength: 1, maxLength: 3 }),
        only: fc.boolean(),
      }),
      {
        maxLength: 4,
      },
    ),
  })
  .map(({ size, roads, walks }) => {
    const nodes = Array.from({ length: size }, (_, i) => ({
      id: i + 1,
      lng: 10 + ((i * 7) % 5) * 0.001,
      lat: 45 + ((i * 3) % 4) * 0.001,
    }))
    // a road back to where it begins goes round by a node of its own
    const corners = roads.map((_, i) => ({ id: 100 + i, lng: 10.01 + i * 0.001, lat: 45.002 }))
    const ways = roads.map(({ from, to, oneway, mine }, i) => ({
      id: i + 1,
      refs:
        from % size === to % size
          ? [(from % size) + 1, 100 + i, (to % size) + 1]
          : [(from % size) + 1, (to % size) + 1],
      tags: {
        highway: 'residential',
        name: `w${i + 1}`,
        ...(oneway === 0 ? { oneway: 'yes' } : {}),
        ...(mine === 0 ? { access: 'private' } : {}),
      },
    }))
    const usable = ways.filter(({ refs }) => refs.length === 2)
    const rules: Town['rules'] = []
    for (const { start, turns, only } of walks) {
      const first = usable[start % Math.max(1, usable.length)]
      if (first === undefined) continue
      let at = first.refs[1]
      const path = [first.id]
      const firstNode = at
      for (const turn of turns) {
        const onward = usable.filter(
          ({ refs, tags }) => refs[0] === at || (refs[1] === at && !('oneway' in tags)),
        )
        const next = onward[turn % Math.max(1, onward.length)]
        if (next === undefined) break
        path.push(next.id)
        at = next.refs[0] === at ? next.refs[1] : next.refs[0]
      }
      if (path.length > 1)
        rules.push({
          kind: only ? 'only' : 'no',
          ways: path,
          node: path.length === 2 ? firstNode : undefined,
        })
    }
    const relations = rules.map(
      ({ kind, ways: path, node }, i): OsmRelation => ({
        id: i + 1,
        tags: { type: 'restriction', restriction: `${kind}_left_turn` },
        members: [
          { type: 'way', id: path[0] ?? 0, role: 'from' },
          ...(node !== undefined
            ? [{ type: 'node' as const, id: node, role: 'via' }]
            : path.slice(1, -1).map((id) => ({ type: 'way' as const, id, role: 'via' }))),
          { type: 'way', id: path[path.length - 1] ?? 0, role: 'to' },
        ],
      }),
    )
    return { data: { nodes: [...nodes, ...corners], ways, relations }, rules }
  })

t.test(
  'property: drives cost what a search over whole histories finds, private roads and restrictions obeyed',
  async (t) => {
    let pairs = 0
    let restricted = 0
    await fc.assert(
      fc.asyncProperty(towns, async ({ data, rules }) => {
        const graph = await graphOfOsm(data)
        t.equal(verifyGraph(graph).join(), '')
        t.ok(hasRightMainFlags(graph), 'the main network is the largest one')
        t.ok(hasRightEnclosedFlags(graph), 'public roads behind private ones')
        const oracle = createOracle(graph, rules)
        for (let start = 0; start < graph.segmentCount; start++) {
          const expected = oracle.costsFrom(start)
          const found = costsFrom(graph, start)
          for (let goal = 0; goal < graph.segmentCount; goal++) {
            if (goal === start) continue
            pairs++
            if (found[goal] !== expected[goal]) {
              throw new Error(
                `${nameOf(graph, start)} to ${nameOf(graph, goal)}: ${found[goal]}, expected ${expected[goal]}; ${linksOf(graph)}`,
              )
            }
          }
        }
        if (rules.length > 0 && graph.nodeCount > graph.junctionCount) restricted++
      }),
      { numRuns: Number(process.env.TOWNS ?? 120), seed: 20261121 },
    )
    t.ok(restricted > 30, `${restricted} towns with restrictions, ${pairs} pairs of roads`)
  },
)

/**
 * Are the links flagged MAIN those that lead to and from a largest set of nodes that all reach each other?
 */
function hasRightMainFlags(graph: Graph): boolean {
  const { nodeCount, firstOut, head, arcLink, linkStartArc } = graph
  const nodes = Array.from({ length: nodeCount }, (_, node) => node)
  const reach = nodes.map((start) => {
    const reached = new Set([start])
    for (const node of reached) {
      for (let arc = firstOut[node] ?? 0; arc < (firstOut[node + 1] ?? 0); arc++) reached.add(head[arc] ?? 0)
    }
    return reached
  })
  const leads = (from: number, to: number) => reach[from]?.has(to) === true
  const groups = nodes.map((node) => nodes.filter((other) => leads(node, other) && leads(other, node)))
  const most = Math.max(...groups.map((group) => group.length))
  const flagged = [...graph.linkFlags.keys()].filter(
    (link) => ((graph.linkFlags[link] ?? 0) & LINK_FLAG.MAIN) !== 0,
  )
  return groups
    .filter((group) => group.length === most)
    .some(([member = 0]) => {
      const isMain = (link: number) => {
        const start = linkStartArc[link] ?? 0
        if (start >= graph.arcCount || !leads(head[start] ?? 0, member)) return false
        return nodes.some((node) => {
          const drives = arcLink.subarray(firstOut[node], firstOut[node + 1]).includes(link)
          return drives && leads(member, node)
        })
      }
      return [...graph.linkFlags.keys()].filter(isMain).join() === flagged.join()
    })
}

/**
 * Are the links flagged ENCLOSED those public ones that no public way joins to a largest public network in
 * both directions, but a group of such links and private ones does?
 */
function hasRightEnclosedFlags(graph: Graph): boolean {
  const links = [...graph.linkSpeed.keys()].filter((link) => (graph.linkSpeed[link] ?? 0) > 0)
  const headOf = (link: number) => ((link & 1) === 0 ? graph.segmentHead : graph.segmentTail)[link >>> 1] ?? 0
  const tailOf = (link: number) => headOf(link ^ 1)
  const hasFlag = (link: number, flag: number) => ((graph.linkFlags[link] ?? 0) & flag) !== 0
  const isPublic = (link: number) => !hasFlag(link, LINK_FLAG.PRIVATE)
  const junctions = [...Array(graph.junctionCount).keys()]
  const reach = junctions.map((start) => {
    const reached = new Set([start])
    for (const junction of reached) {
      for (const link of links) if (isPublic(link) && tailOf(link) === junction) reached.add(headOf(link))
    }
    return reached
  })
  const leads = (from: number, to: number) => reach[from]?.has(to) === true
  const groups = junctions.map((one) => junctions.filter((other) => leads(one, other) && leads(other, one)))
  const most = Math.max(...groups.map((group) => group.length))
  const flagged = links.filter((link) => hasFlag(link, LINK_FLAG.ENCLOSED))
  return groups
    .filter((group) => group.length === most)
    .some(([member = 0]) => {
      const isOuter = (link: number) =>
        isPublic(link) && leads(member, tailOf(link)) && leads(headOf(link), member)
      const inner = links.filter((link) => !isOuter(link))
      const isEnclosed = (link: number) => {
        const group = new Set([tailOf(link)])
        for (const junction of group) {
          for (const other of inner) {
            if (tailOf(other) === junction) group.add(headOf(other))
            if (headOf(other) === junction) group.add(tailOf(other))
          }
        }
        const touches = (other: number) => group.has(tailOf(other)) || group.has(headOf(other))
        return (
          links.some((other) => isOuter(other) && touches(other)) &&
          inner.some((other) => !isPublic(other) && touches(other))
        )
      }
      return inner.filter((link) => isPublic(link) && isEnclosed(link)).join() === flagged.join()
    })
}

/**
 * Cheapest cost from the middle of a segment to every other, by the arcs; half segments are left out of the
 * sum. A state is the arc driven last, which tells U-turns.
 */
function costsFrom(graph: Graph, start: number): number[] {
  const { firstOut, head, arcLink, linkStartArc, segmentLengthMm } = graph
  const costs = Array.from({ length: graph.segmentCount }, () => Number.POSITIVE_INFINITY)
  const best = new Map<number, number>()
  const open: [cost: number, last: number][] = []
  for (const link of [start * 2, start * 2 + 1]) {
    const arc = linkStartArc[link] ?? graph.arcCount
    if (arc < graph.arcCount) open.push([0, arc])
  }
  while (open.length > 0) {
    open.sort(([a], [b]) => b - a)
    const [cost, last] = open.pop() ?? [0, 0]
    if ((best.get(last) ?? Number.POSITIVE_INFINITY) <= cost) continue
    best.set(last, cost)
    const node = head[last] ?? 0
    for (let arc = firstOut[node] ?? 0; arc < (firstOut[node + 1] ?? 0); arc++) {
      if (isBannedUTurn(graph, arcLink[last] ?? 0, arcLink[arc] ?? 0)) continue
      const segment = (arcLink[arc] ?? 0) >>> 1
      costs[segment] = Math.min(costs[segment] ?? 0, cost)
      open.push([cost + (segmentLengthMm[segment] ?? 0), arc])
    }
  }
  return costs
}

/**
 * The same by brute force: a state is the last links driven, rules are looked up in it as OSM writes them.
 */
function createOracle(graph: GraphInMemory, rules: Town['rules']) {
  const linkCount = graph.segmentCount * 2
  const endOf = (link: number) => ((link & 1) === 0 ? graph.segmentHead : graph.segmentTail)[link >>> 1] ?? 0
  const isOpen = (link: number) => (graph.linkSpeed[link] ?? 0) > 0
  // private, or enclosed by private roads
  const isPrivate = (link: number) => ((graph.linkFlags[link] ?? 0) & (2 | 64)) !== 0
  const links = Array.from({ length: linkCount }, (_, link) => link).filter(isOpen)
  const linksFrom = new Map<number, number[]>()
  for (const link of links) linksFrom.set(endOf(link ^ 1), [...(linksFrom.get(endOf(link ^ 1)) ?? []), link])
  const osmIdOf = (junction: number) => graph.junctionOsmId[junction] ?? 0
  const sequences = rules.flatMap(({ kind, ways, node }) => {
    let paths: number[][] = [[]]
    for (const way of ways) {
      const own = links.filter((link) => nameOf(graph, link >>> 1) === `w${way}`)
      paths = paths.flatMap((path) =>
        own
          .filter((link) => path.length === 0 || endOf(path[path.length - 1] ?? 0) === endOf(link ^ 1))
          .map((link) => [...path, link]),
      )
    }
    const fitting = paths.filter(([first = 0]) => node === undefined || osmIdOf(endOf(first)) === node)
    return fitting.map((path) => ({ kind, path }))
  })
  const longest = Math.max(1, ...sequences.map(({ path }) => path.length - 1))
  const endsWith = (history: readonly number[], path: readonly number[]) =>
    path.length <= history.length &&
    path.every((link, i) => history[history.length - path.length + i] === link)
  const isAllowed = (history: readonly number[], link: number): boolean => {
    const last = history[history.length - 1] ?? 0
    if (link === (last ^ 1) && !turns.has(last)) return false
    for (const { kind, path } of sequences) {
      if (kind === 'no' && endsWith([...history, link], path)) return false
      const begun = path.slice(0, -1)
      if (kind === 'no' || !endsWith(history, begun)) continue
      const same = sequences.filter(
        (other) => other.kind === 'only' && other.path.slice(0, -1).join() === begun.join(),
      )
      if (!same.some((other) => other.path[other.path.length - 1] === link)) return false
    }
    return true
  }
  const turns = turningPlaces({ links, endOf, isPrivate, linksFrom, sequences })
  return {
    costsFrom(start: number): number[] {
      const costs = Array.from({ length: graph.segmentCount }, () => Number.POSITIVE_INFINITY)
      const best = new Map<string, number>()
      const open: { cost: number; history: number[]; mode: number }[] = []
      for (const link of [start * 2, start * 2 + 1]) {
        if (isOpen(link)) open.push({ cost: 0, history: [link], mode: isPrivate(link) ? 0 : 1 })
      }
      while (open.length > 0) {
        open.sort((a, b) => b.cost - a.cost)
        const state = open.pop()
        if (state === undefined) break
        const key = `${state.history} ${state.mode}`
        if ((best.get(key) ?? Number.POSITIVE_INFINITY) <= state.cost) continue
        best.set(key, state.cost)
        const at = endOf(state.history[state.history.length - 1] ?? 0)
        for (const link of linksFrom.get(at) ?? []) {
          if (!isAllowed(state.history, link)) continue
          if (state.mode === 2 && !isPrivate(link)) continue
          const mode = isPrivate(link) ? (state.mode === 0 ? 0 : 2) : 1
          const segment = link >>> 1
          costs[segment] = Math.min(costs[segment] ?? 0, state.cost)
          const cost = state.cost + (graph.segmentLengthMm[segment] ?? 0)
          open.push({ cost, history: [...state.history, link].slice(-longest), mode })
        }
      }
      return costs
    },
  }
}

/** Links at whose ends traffic may turn round, by definition and brute force. */
function turningPlaces(town: {
  links: number[]
  endOf: (link: number) => number
  isPrivate: (link: number) => boolean
  linksFrom: Map<number, number[]>
  sequences: { kind: 'no' | 'only'; path: number[] }[]
}): Set<number> {
  const { links, endOf, isPrivate, linksFrom, sequences } = town
  const onward = (link: number): number[] => {
    const turns = sequences.filter(({ path }) => path.length === 2 && path[0] === link)
    const must = turns.filter(({ kind }) => kind === 'only').map(({ path }) => path[1])
    const mustNot = turns.filter(({ kind }) => kind === 'no').map(({ path }) => path[1])
    return (linksFrom.get(endOf(link)) ?? []).filter(
      (next) => next !== (link ^ 1) && !mustNot.includes(next) && (must.length === 0 || must.includes(next)),
    )
  }
  const isDeadEnd = (link: number) => onward(link).every((next) => isPrivate(next) && !isPrivate(link))
  const reach = new Map(
    links.map((start) => {
      const reached = new Set([start])
      for (const link of reached) {
        for (const next of onward(link)) reached.add(next)
        if (isDeadEnd(link) && links.includes(link ^ 1)) reached.add(link ^ 1)
      }
      return [start, reached]
    }),
  )
  const leads = (a: number, b: number) => reach.get(a)?.has(b) === true
  const joined = (start: number) => {
    const junctions = new Set([endOf(start)])
    for (const junction of junctions) {
      for (const link of links) {
        if (endOf(link) === junction) junctions.add(endOf(link ^ 1))
        if (endOf(link ^ 1) === junction) junctions.add(endOf(link))
      }
    }
    return links.filter((link) => junctions.has(endOf(link)))
  }
  const leadsBack = (link: number) => {
    const part = joined(link)
    const groups = part.map((a) => part.filter((b) => leads(a, b) && leads(b, a)))
    const largest = groups.reduce((best, group) => (group.length > best.length ? group : best))
    return leads(link, largest[0] ?? 0)
  }
  return new Set(
    links.filter(
      (link) => links.includes(link ^ 1) && (isDeadEnd(link) || (!leadsBack(link) && leadsBack(link ^ 1))),
    ),
  )
}
