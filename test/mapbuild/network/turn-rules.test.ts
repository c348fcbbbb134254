import t from 'tap'
import type { OsmData, OsmRelation } from '../../../src/demo/write-extract.js'
import { verifyGraph } from '../../../src/routing/graph/graph-verify.js'
import { readNotes } from '../../../src/routing/graph/strings.js'
import { driveBetween, graphOfOsm, linkBetween, sketch } from '../../support/osm-fixture.js'

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

/** Nobody turns round at a crossing. */
const ALL = 'AB AC AD BA BC BD CA CB CD DA DB DC'

const without = (...drives: string[]) =>
  ALL.split(' ')
    .filter((drive) => !drives.includes(drive))
    .join(' ')

t.test('restrictions: no_ takes a turn away, only_ leaves one', async (t) => {
  t.equal(await drivesOver([]), ALL)
  t.equal(await drivesOver([{ kind: 'no_left_turn', from: 0, via: 'X', to: 2 }]), without('AC'))
  t.equal(await drivesOver([{ kind: 'no_u_turn', from: 0, via: 'X', to: 0 }]), ALL)
  t.equal(await drivesOver([{ kind: 'only_straight_on', from: 0, via: 'X', to: 3 }]), without('AB', 'AC'))
  const two: Restrictions = [
    { kind: 'only_straight_on', from: 0, via: 'X', to: 3 },
    { kind: 'only_right_turn', from: 0, via: 'X', to: 1 },
  ]
  t.equal(await drivesOver(two), without('AC'), 'two only_ leave two turns')
  t.equal(await drivesOver([{ kind: 'no_entry', from: [0, 1], via: 'X', to: 2 }]), without('AC', 'BC'))
  t.equal(await drivesOver([{ kind: 'no_exit', from: 0, via: 'X', to: [1, 2] }]), without('AB', 'AC'))
})

t.test('restrictions: which travellers they apply to', async (t) => {
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

t.test('restrictions: unusable ones are left out and counted', async (t) => {
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

t.test('restrictions: a way that runs through the node is ambiguous', async (t) => {
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

t.test('restrictions: over via ways, in any direction of drawing', async (t) => {
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

t.test(
  'restrictions: conditional ones are notes of the road they come from, and no rules while none holds',
  async (t) => {
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
    const noteOf = (words: string) => [`conditional turn restriction into c: ${words}`]
    t.same(await notes({ 'restriction:conditional': 'no_left_turn @ (Mo-Fr 07:00-09:00)' }), {
      isRule: false,
      notes: noteOf('no_left_turn at Mo-Fr 07:00-09:00'),
      back: [],
    })
    t.match(await notes({ 'restriction:conditional': 'no_left_turn @ (school days)' }), {
      isRule: false,
      notes: noteOf('no_left_turn at school days (not applied)'),
    })
    t.match(await notes({ hour_on: '07:00', hour_off: '09:00' }, 'no_left_turn'), {
      isRule: false,
      notes: noteOf('no_left_turn at 07:00-09:00'),
    })
    t.match(await notes({ hour_on: '07:00' }, 'no_left_turn'), {
      isRule: false,
      notes: noteOf('no_left_turn at hour_on 07:00 (not applied)'),
    })
    t.match(await notes({ 'restriction:conditional': 'none @ (22:00-06:00)' }, 'no_left_turn'), {
      isRule: true,
      notes: noteOf('none at 22:00-06:00'),
    })
  },
)

t.test('restrictions: turning back in the middle of a road does not bypass one', async (t) => {
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
