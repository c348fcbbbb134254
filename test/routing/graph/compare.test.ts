import t from 'tap'
import { compareMaps } from '../../../src/routing/graph/compare.js'
import { graphOfOsm, sketch } from '../../support/osm-fixture.js'

const street = { highway: 'residential', name: 'Long Street' }
const ROWS = ['A B C D', '  E    ']

t.test('compareMaps: where segments are cut does not matter', async (t) => {
  const whole = await graphOfOsm(sketch(ROWS, [['ABCD', street]]))
  // the side street cuts the long one at B
  const cut = await graphOfOsm(sketch(ROWS, [['ABCD', street], ['BE', { highway: 'service' }]])) // biome-ignore format: one line
  const { sameM, differences } = compareMaps(cut, whole)
  t.equal(Math.round(sameM / 10), 118, 'three times 197 m, both ways')
  t.match(differences, [{ kind: 'only here', examples: [{ name: '' }, {}] }])
  t.same(
    compareMaps(whole, cut).differences.map(({ kind }) => kind),
    ['only there'],
  )
})

t.test('compareMaps: speeds, access, names and notes', async (t) => {
  const rows = [
    [{ ...street, maxspeed: '50' }, 'speed'],
    [{ ...street, access: 'private' }, 'access'],
    [{ ...street, name: 'Short Street' }, 'name'],
    [{ ...street, maxheight: '3' }, 'notes'],
  ] as const
  const before = await graphOfOsm(sketch(ROWS, [['ABCD', street]]))
  for (const [tags, kind] of rows) {
    const after = await graphOfOsm(sketch(ROWS, [['ABCD', tags]]))
    const { sameM, differences } = compareMaps(before, after)
    t.equal(sameM, 0)
    t.match(differences, [{ kind, examples: [{ name: 'Long Street', lng: 10, lat: 45 }, {}] }])
  }
  t.same(compareMaps(before, before).differences, [])
})

t.test('compareMaps: of two equal roads at one place each counts once', async (t) => {
  const one = await graphOfOsm(sketch(['A B'], [['AB', street]]))
  const two = await graphOfOsm(sketch(['A B'], [['AB', street], ['AB', street]])) // biome-ignore format: one line
  t.match(compareMaps(two, one).differences, [{ kind: 'only here' }])
  t.match(compareMaps(one, two).differences, [{ kind: 'only there' }])
})
