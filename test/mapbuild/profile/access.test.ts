import t from 'tap'
import { accessOf, accessValue } from '../../../src/mapbuild/profile/access.js'

type Tags = Record<string, string>

const tagsOf = (tags: Tags) => new Map(Object.entries(tags))

t.test('accessOf: the most specific key with a known value wins', async (t) => {
  const keys = ['motorcar', 'motor_vehicle', 'vehicle', 'access']
  const rows: [Tags, string | undefined][] = [
    [{}, undefined],
    [{ access: 'no' }, 'no'],
    [{ access: 'no', motor_vehicle: 'yes' }, 'yes'],
    [{ access: 'yes', vehicle: 'no' }, 'no'],
    [{ vehicle: 'no', motorcar: 'destination' }, 'restricted'],
    [{ access: 'private' }, 'restricted'],
    [{ access: 'customers' }, 'restricted'],
    [{ access: 'delivery' }, 'restricted'],
    [{ access: 'permissive' }, 'yes'],
    [{ access: 'designated' }, 'yes'],
    [{ motor_vehicle: 'agricultural' }, 'no'],
    [{ motor_vehicle: 'forestry' }, 'no'],
    [{ motor_vehicle: 'agricultural;forestry' }, 'no'],
    [{ motor_vehicle: 'agricultural;destination' }, 'restricted'],
    [{ access: 'emergency' }, 'no'],
    [{ access: 'minibus' }, 'no'],
    [{ access: 'share_taxi;emergency_vehicle' }, 'no'],
    [{ access: 'unknown' }, undefined],
    [{ motorcar: 'unknown', access: 'no' }, 'no'],
    [{ foot: 'yes', access: 'no' }, 'no'],
    [{ 'motor_vehicle:forward': 'no' }, 'no'],
    [{ 'motor_vehicle:backward': 'no' }, undefined],
    [{ motor_vehicle: 'no', 'motor_vehicle:forward': 'yes' }, 'yes'],
  ]
  for (const [tags, expected] of rows)
    t.equal(accessOf(tagsOf(tags), keys, 'forward'), expected, JSON.stringify(tags))
  t.equal(accessValue(undefined), undefined)
})
