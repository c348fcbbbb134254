import t from 'tap'
import { findProfile } from '../../../src/mapbuild/profile/profiles.js'

type Tags = Record<string, string>

const tagsOf = (tags: Tags) => new Map(Object.entries(tags))

t.test('wayRule: notes, name, and the time that a ferry takes', async (t) => {
  const car = findProfile('car')
  const road = car.wayRule(tagsOf({ highway: 'residential', access: 'private', ref: 'K 5' }), null)
  t.equal(road?.name, 'K 5')
  t.same(road?.forward.notes, ['private or destination only'])
  t.equal(car.wayRule(tagsOf({ highway: 'residential', ref: 'K 5', name: '桜通り' }), null)?.name, '桜通り')
  t.equal(car.wayRule(tagsOf({ route: 'ferry', duration: 'PT20M' }), null)?.durationS, 1200)
  t.equal(car.wayRule(tagsOf({ highway: 'residential', duration: 'PT20M' }), null)?.durationS, undefined)
})
