import t from 'tap'
import { drive } from '../../support/drives.js'
import { graphOfOsm, sketch } from '../../support/osm-fixture.js'

const named = (name: string) => ({ highway: 'residential', name })
const CROSS = ['AB', 'BC', 'BD', 'BE'] as const
const ROWS = ['  D  ', 'A B C', '  E  ']

t.test('findRoute: a via point on a junction obeys the restriction there', async (t) => {
  const roads = CROSS.map((letters) => [letters, named(letters)] as const)
  const left = await graphOfOsm(
    sketch(ROWS, roads, { restrictions: [{ kind: 'no_left_turn', from: 0, via: 'B', to: 2 }] }),
  )
  t.equal(drive(left, 'AB', 'B', 'BD'), drive(left, 'AB', 'BD'), 'no left turn')
  t.equal(drive(left, 'AB', 'B', 'B', 'BD'), drive(left, 'AB', 'BD'), 'nor with the point named twice')
  t.equal(drive(left, 'AB', 'B', 'BE'), 'ABE')
  t.equal(drive(left, 'AB', 'B', 'AB'), 'ABA', 'turning round at a via point is fine')
  t.equal(drive(left, 'B', 'BD'), 'BD', 'a route that begins there is free')
  const only = await graphOfOsm(
    sketch(ROWS, roads, { restrictions: [{ kind: 'only_straight_on', from: 0, via: 'B', to: 1 }] }),
  )
  t.equal(drive(only, 'AB', 'B', 'BD'), drive(only, 'AB', 'BD'), 'only straight on')
})

t.test('findRoute: a via point inside a via way obeys the restriction over it', async (t) => {
  const data = sketch(
    ['A B   C', '  E F', '  D  '],
    ['AB', 'BC', 'BE', 'ED', 'EF'].map((letters) => [letters, named(letters)] as const),
    { restrictions: [{ kind: 'no_right_turn', from: 0, via: [2], to: 3 }] },
  )
  const graph = await graphOfOsm(data)
  t.equal(drive(graph, 'AB', 'BE', 'ED'), 'ABEFED')
  t.equal(drive(graph, 'AB', 'E', 'ED'), 'ABEFED', 'nor a point at its end')
  t.equal(drive(graph, 'AB', 'BE', 'EF'), 'ABEF')
})
