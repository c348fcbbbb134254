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

t.test('compareMaps: speeds, access, names, conditions and notes', async (t) => {
  const rows = [
    [{ ...street, 'motor_vehicle:conditional': 'no @ (Mo-Fr 07:00-09:00)' }, 'conditions'],
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

t.test('compareMaps: conditions are compared by what they say', async (t) => {
  const closed = (hours: string) =>
    graphOfOsm(sketch(ROWS, [['ABCD', { ...street, 'motor_vehicle:conditional': `no @ (Mo-Fr ${hours})` }]]))
  const morning = await closed('07:00-09:00')
  t.same(compareMaps(morning, await closed('07:00-09:00')).differences, [])
  t.match(compareMaps(morning, await closed('07:00-10:00')).differences, [{ kind: 'conditions' }])
})

t.test('compareMaps: turns that are forbidden at times are banned turns with their times', async (t) => {
  const ways = [['AB', street], ['BCD', street], ['BE', street]] as const // biome-ignore format: one line
  const forbidden = (hours: string) => {
    const tags = { 'restriction:conditional': `no_right_turn @ (Mo-Fr ${hours})` }
    return graphOfOsm(
      sketch(['A B C D', '  E    '], ways, { restrictions: [{ kind: '', from: 2, via: 'B', to: 0, tags }] }),
    )
  }
  const morning = await forbidden('07:00-09:00')
  t.same(compareMaps(morning, await forbidden('07:00-09:00')), { ...compareMaps(morning, morning) })
  const { turnsOnlyHere, turnsOnlyThere } = compareMaps(morning, await forbidden('07:00-10:00'))
  t.ok(turnsOnlyHere > 0 && turnsOnlyThere > 0)
})

t.test('compareMaps: prices of turns beside a one-way street', async (t) => {
  const one = await graphOfOsm(
    sketch(ROWS, [['ABCD', { ...street, oneway: 'yes' }], ['BE', street]]), // biome-ignore format: one line
  )
  const priced = (ms: number) => ({
    ...one,
    turnPrices: Uint32Array.of(0, ms),
    arcTurn: new Uint8Array(one.arcCount).fill(1),
  })
  t.equal(compareMaps(priced(500), priced(500)).turnsWithOtherPrice, 0)
  t.ok(compareMaps(priced(500), priced(700)).turnsWithOtherPrice > 0)
})
