import t from 'tap'
import type { ProfileName } from '../../../src/mapbuild/profile/profile.js'
import { findProfile } from '../../../src/mapbuild/profile/profiles.js'

type Tags = Record<string, string>

/** Rule of a way that is open to cars. */
function ruleOf(tags: Tags) {
  const rule = findProfile('car').wayRule(new Map(Object.entries(tags)), null)
  if (typeof rule === 'string') throw new Error(`closed: ${rule}`)
  return rule
}

t.test('wayRule: notes, name, and the time that a ferry takes', async (t) => {
  const road = ruleOf({ highway: 'residential', access: 'private', ref: 'K 5' })
  t.equal(road.name, 'K 5')
  t.same(road.forward.notes, ['private or destination only'])
  t.equal(ruleOf({ highway: 'residential', ref: 'K 5', name: '桜通り' }).name, '桜通り')
  t.equal(ruleOf({ route: 'ferry', duration: 'PT20M' }).durationS, 1200)
  t.equal(ruleOf({ highway: 'residential', duration: 'PT20M' }).durationS, undefined)
})

t.test('wayRule: the cause when a way is closed', async (t) => {
  const closure = (name: ProfileName, tags: Tags) =>
    findProfile(name).wayRule(new Map(Object.entries(tags)), null)
  const rows: [ProfileName, Tags, string][] = [
    ['car', { highway: 'footway' }, 'class'],
    ['car', { highway: 'footway', access: 'no' }, 'class'],
    ['car', { highway: 'construction' }, 'class'],
    ['car', { highway: 'residential', access: 'no' }, 'access'],
    ['car', { highway: 'residential', oneway: 'yes', 'motor_vehicle:forward': 'no' }, 'access'],
    ['car', { highway: 'residential', construction: 'yes' }, 'construction'],
    ['car', { highway: 'residential', area: 'yes' }, 'unusable'],
    ['car', { highway: 'residential', oneway: 'reversible' }, 'reversible'],
    ['bicycle', { highway: 'motorway' }, 'class'],
    ['bicycle', { highway: 'residential', vehicle: 'no' }, 'access'],
    ['foot', { highway: 'motorway' }, 'class'],
    ['foot', { highway: 'path', foot: 'no' }, 'access'],
  ]
  for (const [name, tags, cause] of rows)
    t.equal(closure(name, tags), cause, `${name} ${JSON.stringify(tags)}`)
})
