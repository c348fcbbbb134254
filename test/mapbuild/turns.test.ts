import fc from 'fast-check'
import t from 'tap'
import type { OsmData, OsmRelation } from '../../src/demo/write-extract.js'
import { buildAutomaton, ROOT } from '../../src/mapbuild/graph/automaton.js'
import { type Graph, LINK_FLAG } from '../../src/routing/graph/graph.js'
import { verifyGraph } from '../../src/routing/graph/graph-verify.js'
import { readNotes } from '../../src/routing/graph/strings.js'
import { driveBetween, graphOfOsm, linkBetween, linksOf, nameOf, sketch } from '../support/osm-fixture.js'

const street = { highway: 'residential' }
const CROSS = [' A ', 'BXC', ' D ']
const ROADS = [
  ['AX', { ...street, name: 'a' }],
  ['BX', { ...street, name: 'b' }],
  ['CX', { ...street, name: 'c' }],
  ['DX', { ...street, name: 'd' }],
] as const

type Restrictions = NonNullable<NonNullable<Parameters<typeof sketch>[2]>['restrictions']>

/** Drives over the crossing that are as direct as the letters say, such as `AXC`. */
async function drivesOver(
  restrictions: Restrictions,
  roads: Parameters<typeof sketch>[1] = ROADS,
): Promise<string> {
  const graph = await graphOfOsm(sketch(CROSS, roads, { restrictions }))
  const drives: string[] = []
  for (const from of 'ABCD') {
    for (const to of 'ABCD') {
      const drive = driveBetween(graph, linkBetween(graph, from, 'X'), linkBetween(graph, 'X', to))
      if (drive === `${from}X${to}`) drives.push(from + to)
    }
  }
  return drives.join(' ')
}

const ALL = 'AA AB AC AD BA BB BC BD CA CB CC CD DA DB DC DD'
const without = (...drives: string[]) =>
  ALL.split(' ')
    .filter((drive) => !drives.includes(drive))
    .join(' ')

t.test('restrictions: no_ takes a turn away, only_ leaves one', async (t) => {
  t.equal(await drivesOver([]), ALL)
  t.equal(await drivesOver([{ kind: 'no_left_turn', from: 0, via: 'X', to: 2 }]), without('AC'))
  t.equal(await drivesOver([{ kind: 'no_u_turn', from: 0, via: 'X', to: 0 }]), without('AA'))
  t.equal(
    await drivesOver([{ kind: 'only_straight_on', from: 0, via: 'X', to: 3 }]),
    without('AA', 'AB', 'AC'),
  )
  const two: Restrictions = [
    { kind: 'only_straight_on', from: 0, via: 'X', to: 3 },
    { kind: 'only_right_turn', from: 0, via: 'X', to: 1 },
  ]
  t.equal(await drivesOver(two), without('AA', 'AC'), 'two only_ leave two turns')
  t.equal(await drivesOver([{ kind: 'no_entry', from: [0, 1], via: 'X', to: 2 }]), without('AC', 'BC'))
  t.equal(await drivesOver([{ kind: 'no_exit', from: 0, via: 'X', to: [1, 2] }]), without('AB', 'AC'))
})

t.test('restrictions: who they are for', async (t) => {
  const turn = { from: 0, via: 'X', to: 2 }
  const kinds = async (kind: string, tags: Record<string, string>) =>
    await drivesOver([{ kind, ...turn, tags }])
  t.equal(await kinds('no_left_turn', { except: 'psv' }), without('AC'))
  t.equal(await kinds('no_left_turn', { except: 'psv;motorcar' }), ALL)
  t.equal(await kinds('', { 'restriction:motorcar': 'no_left_turn' }), without('AC'))
  t.equal(await kinds('', { 'restriction:motor_vehicle': 'no_left_turn', except: 'motorcar' }), without('AC'))
  t.equal(await kinds('', { 'restriction:hgv': 'no_left_turn' }), ALL)
  t.equal(await kinds('', { 'restriction:bicycle': 'no_left_turn' }), ALL)
  const osm = sketch(CROSS, ROADS, {
    restrictions: [
      { kind: '', ...turn, tags: { 'restriction:bicycle': 'no_left_turn' } },
      { kind: 'no_right_turn', from: 0, via: 'X', to: 1, tags: { except: 'bicycle' } },
    ],
  })
  const bicycle = await graphOfOsm(osm, { profile: 'bicycle' })
  const ride = (to: string) =>
    driveBetween(bicycle, linkBetween(bicycle, 'A', 'X'), linkBetween(bicycle, 'X', to))
  t.not(ride('C'), 'AXC')
  t.equal(ride('B'), 'AXB')
  const foot = await graphOfOsm(osm, { profile: 'foot' })
  t.equal(foot.nodeCount, foot.junctionCount, 'nobody restricts where people on foot turn')
})

t.test('restrictions: what cannot be used is left out and counted', async (t) => {
  const counts = async (restrictions: Restrictions, change: (data: OsmData) => OsmData = (data) => data) =>
    (await graphOfOsm(change(sketch(CROSS, ROADS, { restrictions })))).meta.counts
  const good = { kind: 'no_left_turn', from: 0, via: 'X', to: 2 }
  t.match(await counts([good]), { restrictionsUsed: 1, restrictionsLeftOut: 0 })
  t.match(await counts([{ ...good, from: 77 }]), { restrictionsUsed: 0, restrictionsLeftOut: 1 })
  t.match(await counts([{ ...good, via: 'Q' }]), { restrictionsLeftOut: 1 })
  t.match(await counts([{ ...good, via: [77] }]), { restrictionsLeftOut: 1 })
  t.match(await counts([{ ...good, via: 'A' }]), { restrictionsLeftOut: 1 })
  t.match(await counts([{ ...good, kind: 'give_way' }]), { restrictionsUnreadable: 1 })
  t.match(await counts([{ ...good, from: [] }]), { restrictionsUnreadable: 1 })
  t.match(await counts([{ ...good, kind: '' }]), { restrictionsUsed: 0, restrictionsUnreadable: undefined })
  const noVia = (data: OsmData): OsmData => ({
    ...data,
    relations: (data.relations ?? []).map((relation): OsmRelation => {
      return { ...relation, members: relation.members.filter(({ role }) => role !== 'via') }
    }),
  })
  t.match(await counts([good], noVia), { restrictionsUnreadable: 1 })
})

t.test('restrictions: a way that runs on through the node does not tell which side it means', async (t) => {
  const roads = [
    ['AXD', street],
    ['BXC', { ...street, oneway: 'yes' }],
  ] as const
  const osm = (from: number, to: number) =>
    sketch(CROSS, roads, { restrictions: [{ kind: 'no_left_turn', from, via: 'X', to }] })
  t.match((await graphOfOsm(osm(0, 1))).meta.counts, { restrictionsLeftOut: 1 })
  const oneway = sketch(CROSS, [['AXD', { ...street, oneway: 'yes' }], roads[1]], {
    restrictions: [{ kind: 'no_left_turn', from: 0, via: 'X', to: 1 }],
  })
  const graph = await graphOfOsm(oneway)
  t.match(graph.meta.counts, { restrictionsUsed: 1 }, 'one-way streets leave one side only')
  t.equal(driveBetween(graph, linkBetween(graph, 'A', 'X'), linkBetween(graph, 'X', 'C')), undefined)
  const turn = sketch(
    CROSS,
    [
      ['AXD', street],
      ['BXC', street],
    ],
    {
      restrictions: [{ kind: 'no_u_turn', from: 0, via: 'X', to: 0 }],
    },
  )
  const both = await graphOfOsm(turn)
  for (const letter of ['A', 'D']) {
    const drive = driveBetween(both, linkBetween(both, letter, 'X'), linkBetween(both, 'X', letter))
    t.not(drive, `${letter}X${letter}`)
  }
})

t.test('restrictions: over via ways, whichever way round they lie', async (t) => {
  const rows = ['A B', 'X Y', 'C D']
  for (const via of ['XY', 'YX']) {
    const roads = ['AX', 'CX', via, 'BY', 'DY'].map(
      (letters) => [letters, { ...street, name: letters }] as const,
    )
    const restrictions = [{ kind: 'no_u_turn', from: 0, via: [2], to: 1 }]
    const none = await graphOfOsm(sketch(rows, roads, { restrictions }))
    t.match(none.meta.counts, { restrictionsLeftOut: 1 }, 'the last way must leave the far end')
    const graph = await graphOfOsm(
      sketch(rows, roads, {
        restrictions: [{ ...restrictions[0], kind: 'no_u_turn', from: 0, via: [2], to: 3 }],
      }),
    )
    const drive = (from: string, to: string) =>
      driveBetween(
        graph,
        linkBetween(graph, from, from < 'E' && 'AC'.includes(from) ? 'X' : 'Y'),
        linkBetween(graph, 'Y', to),
      )
    t.not(drive('A', 'B'), 'AXYB')
    t.equal(drive('A', 'D'), 'AXYD')
    t.equal(drive('C', 'B'), 'CXYB')
    t.same(verifyGraph(graph), [])
  }
})

t.test('restrictions: conditional ones are notes of the road they come from, and no rules', async (t) => {
  const notes = async (tags: Record<string, string>, kind = '') => {
    const restrictions = [{ kind, from: 0, via: 'X', to: 2, tags }]
    const graph = await graphOfOsm(sketch(CROSS, ROADS, { restrictions }))
    const isRule = driveBetween(graph, linkBetween(graph, 'A', 'X'), linkBetween(graph, 'X', 'C')) !== 'AXC'
    return {
      isRule,
      notes: readNotes(graph, linkBetween(graph, 'A', 'X')),
      back: readNotes(graph, linkBetween(graph, 'X', 'A')),
    }
  }
  t.same(await notes({ 'restriction:conditional': 'no_left_turn @ (Mo-Fr 07:00-09:00)' }), {
    isRule: false,
    notes: ['conditional turn restriction into c: no_left_turn at Mo-Fr 07:00-09:00 (not applied)'],
    back: [],
  })
  t.match(await notes({ hour_on: '07:00', hour_off: '09:00' }, 'no_left_turn'), {
    isRule: false,
    notes: [
      'conditional turn restriction into c: no_left_turn at hour_on 07:00, hour_off 09:00 (not applied)',
    ],
  })
  t.match(await notes({ 'restriction:conditional': 'none @ (22:00-06:00)' }, 'no_left_turn'), {
    isRule: true,
    notes: ['conditional turn restriction into c: none at 22:00-06:00 (not applied)'],
  })
})

t.test('restrictions: turning back in the middle of a road does not dodge one', async (t) => {
  // from A no turn to C; the road to D changes its speed at Y and Z, and ends at a dead end
  const rows = [' A  ', 'BXC ', ' Y  ', ' Z  ', ' D  ']
  const roads = [
    ['AX', street],
    ['BX', street],
    ['CX', street],
    ['XY', street],
    ['YZ', { ...street, maxspeed: '20' }],
    ['ZD', street],
  ] as const
  const rule = { kind: 'no_left_turn', from: 0, via: 'X', to: 2 }
  const graph = await graphOfOsm(sketch(rows, roads, { restrictions: [rule, { ...rule, to: 1 }] }))
  t.equal(
    driveBetween(graph, linkBetween(graph, 'A', 'X'), linkBetween(graph, 'X', 'C')),
    'AXAXC'.replace('AXAXC', 'AXYZDZYXC'),
  )
  t.same(verifyGraph(graph), [])
})

t.test('automaton: remembers the longest run that begins a rule', async (t) => {
  const automaton = buildAutomaton([
    { kind: 'no', links: [1, 2, 3] },
    { kind: 'no', links: [2, 4] },
    { kind: 'only', links: [5, 6] },
    { kind: 'only', links: [5, 7] },
  ])
  const after = (...links: number[]) => links.reduce((memory, link) => automaton.next(memory, link), ROOT)
  t.equal(after(9), ROOT)
  t.equal(automaton.isAllowed(after(1, 2), 3), false)
  t.equal(automaton.isAllowed(after(1, 2), 4), false, 'the shorter rule holds as well')
  t.equal(automaton.isAllowed(after(2), 3), true)
  t.equal(automaton.isAllowed(after(5), 6), true)
  t.equal(automaton.isAllowed(after(5), 7), true)
  t.equal(automaton.isAllowed(after(5), 8), false)
  t.equal(after(1, 1, 2), after(1, 2))
})

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

/** Are the links flagged MAIN those that lead to and from a largest set of nodes that all reach each other? */
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

/** Cheapest cost from the middle of a segment to every other, by the arcs; half segments are left out of the sum. */
function costsFrom(graph: Graph, start: number): number[] {
  const { firstOut, head, arcLink, linkStartArc, segmentLengthMm } = graph
  const costs = Array.from({ length: graph.segmentCount }, () => Number.POSITIVE_INFINITY)
  const best = new Map<number, number>()
  const open: [cost: number, node: number][] = []
  for (const link of [start * 2, start * 2 + 1]) {
    const arc = linkStartArc[link] ?? graph.arcCount
    if (arc < graph.arcCount) open.push([0, head[arc] ?? 0])
  }
  while (open.length > 0) {
    open.sort(([a], [b]) => b - a)
    const [cost, node] = open.pop() ?? [0, 0]
    if ((best.get(node) ?? Number.POSITIVE_INFINITY) <= cost) continue
    best.set(node, cost)
    for (let arc = firstOut[node] ?? 0; arc < (firstOut[node + 1] ?? 0); arc++) {
      const segment = (arcLink[arc] ?? 0) >>> 1
      costs[segment] = Math.min(costs[segment] ?? 0, cost)
      open.push([cost + (segmentLengthMm[segment] ?? 0), head[arc] ?? 0])
    }
  }
  return costs
}

/** The same by brute force: a state is the last links driven, rules are looked up in it as OSM writes them. */
function createOracle(graph: Graph, rules: Town['rules']) {
  const linkCount = graph.segmentCount * 2
  const endOf = (link: number) => ((link & 1) === 0 ? graph.segmentHead : graph.segmentTail)[link >>> 1] ?? 0
  const isOpen = (link: number) => (graph.linkSpeed[link] ?? 0) > 0
  const isPrivate = (link: number) => ((graph.linkFlags[link] ?? 0) & 2) !== 0
  const links = Array.from({ length: linkCount }, (_, link) => link).filter(isOpen)
  const linksFrom = new Map<number, number[]>()
  for (const link of links) linksFrom.set(endOf(link ^ 1), [...(linksFrom.get(endOf(link ^ 1)) ?? []), link])
  const osmIdOf = (junction: number) => graph.junctionOsmId[junction] ?? 0
  const degree = new Map<number, number>()
  for (let link = 0; link < linkCount; link++) degree.set(endOf(link), (degree.get(endOf(link)) ?? 0) + 1)
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
    const onward = (linksFrom.get(endOf(last)) ?? []).some((next) => next >>> 1 !== last >>> 1)
    if (link === (last ^ 1) && degree.get(endOf(last)) === 2 && onward) return false
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
