import t from 'tap'
import { drive } from '../../support/drives.js'
import { graphOfOsm, sketch } from '../../support/osm-fixture.js'

const street = { highway: 'residential' }
const named = (name: string) => ({ ...street, name })

t.test('map build: a via-way restriction is not evaded by turning round on the via way', async (t) => {
  const graph = await graphOfOsm(
    sketch(
      ['A B   C', '  E F', '  D  '],
      [
        ['AB', named('ab')],
        ['BC', named('bc')],
        ['BE', named('be')],
        ['ED', named('ed')],
        ['EF', named('ef')],
      ],
      { restrictions: [{ kind: 'no_right_turn', from: 0, via: [2], to: 3 }] },
    ),
  )
  t.equal(drive(graph, 'AB', 'ED'), 'ABEFED', 'round at the dead end F, not at B or E')
  t.equal(drive(graph, 'BC', 'ED'), 'CBED', 'the rule holds for traffic from A alone')
})

t.test('map build: a via-node restriction is not evaded at the next junction', async (t) => {
  // a cross at B whose arms end in crosses themselves
  const roads = ['AB', 'BC', 'BD', 'CE', 'CF', 'CG', 'EH', 'HG'] as const
  const data = sketch(
    ['  D  E H', '  |     ', 'A B  C G', '     F  '].map((row) => row.replace('|', ' ')),
    roads.map((letters) => [letters, named(letters)] as const),
    { restrictions: [{ kind: 'no_left_turn', from: 0, via: 'B', to: 2 }] },
  )
  const graph = await graphOfOsm(data)
  const found = drive(graph, 'AB', 'BD')
  t.notMatch(found, /BCB/, `not round at C: ${found}`)
  t.match(found, /^AB.*BD$/)
})

t.test('map build: traffic turns round at a dead end, and pays for it', async (t) => {
  const graph = await graphOfOsm(
    sketch(
      ['A B C', '  D  '],
      [
        ['AB', named('ab')],
        ['BC', named('bc')],
        ['BD', named('bd')],
      ],
      { restrictions: [{ kind: 'no_right_turn', from: 0, via: 'B', to: 2 }] },
    ),
  )
  t.equal(drive(graph, 'AB', 'BD'), 'ABCBD')
})

t.test('map build: where no other way leads back, traffic may turn round', async (t) => {
  // beyond B only a one-way street leads on, out of the map
  const data = sketch(
    ['A B Z', 'C    '],
    [
      ['AB', named('ab')],
      ['AC', named('ac')],
      ['BZ', { ...named('bz'), oneway: 'yes' }],
      ['CA', named('other')],
    ],
    { restrictions: [{ kind: 'only_straight_on', from: 1, via: 'A', to: 0 }] },
  )
  const graph = await graphOfOsm(data)
  t.equal(drive(graph, 'AC', 'AB', 'AC')?.startsWith('CAB'), true)
})

t.test('map build: a U-turn at a via point is fine', async (t) => {
  const graph = await graphOfOsm(
    sketch(
      ['A B C'],
      [
        ['AB', named('ab')],
        ['BC', named('bc')],
      ],
    ),
  )
  t.equal(drive(graph, 'AB', 'BC', 'AB'), 'ABCBA')
})
