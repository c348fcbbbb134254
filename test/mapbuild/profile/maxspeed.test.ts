import t from 'tap'
import { UNLIMITED_KMH } from '../../../src/mapbuild/profile/countries.js'
import { maxspeedOf, parseMaxspeed } from '../../../src/mapbuild/profile/maxspeed.js'

type Tags = Record<string, string>

const tagsOf = (tags: Tags) => new Map(Object.entries(tags))

t.test('parseMaxspeed: every form of the OSM wiki, and values that are no limit', async (t) => {
  const rows: [string, number | undefined][] = [
    ['50', 50],
    ['50 ', 50],
    ['7.5', 7.5],
    ['50 km/h', 50],
    ['50kmh', 50],
    ['50 kph', 50],
    ['30 mph', 48.28032],
    ['30mph', 48.28032],
    ['5 knots', 9.26],
    ['none', UNLIMITED_KMH],
    ['walk', 7],
    ['RU:urban', 60],
    ['RU:rural', 90],
    ['DE:motorway', UNLIMITED_KMH],
    ['DE:living_street', 7],
    ['GB:nsl_single', 96.56064],
    ['UK:nsl_dual', 112.65408000000001],
    ['BE-VLG:rural', 70],
    ['DE:zone30', 30],
    ['DE:zone:30', 30],
    ['IT:30', 30],
    ['GB:20mph', 32.18688],
    ['DE:walk', 7],
    ['XX:urban', 50],
    ['50;30', 30],
    ['60|50', 50],
    ['signals;80', 80],
    ['signals', undefined],
    ['variable', undefined],
    ['', undefined],
    ['0', undefined],
    ['-50', undefined],
    ['999', undefined],
    ['500', undefined],
    ['50 furlongs', undefined],
    ['fifty', undefined],
    ['DE:flight', undefined],
    ['1e2', undefined],
  ]
  for (const [text, kmh] of rows) t.equal(parseMaxspeed(text), kmh, JSON.stringify(text))
  t.equal(parseMaxspeed(undefined), undefined)
})

t.test(
  'maxspeedOf: the most specific tag of the direction wins; lanes and conditions do not count',
  async (t) => {
    const rows: [Tags, number | undefined, number | undefined][] = [
      [{ maxspeed: '50' }, 50, 50],
      [{ maxspeed: '50', 'maxspeed:forward': '30' }, 30, 50],
      [{ 'maxspeed:forward': '30', 'maxspeed:backward': '40 mph' }, 30, 64.37376],
      [{ maxspeed: '80', 'maxspeed:motorcar': '60' }, 60, 60],
      [{ maxspeed: '80', 'maxspeed:hgv': '60' }, 80, 80],
      [{ 'maxspeed:lanes': '80|60', 'maxspeed:conditional': '30 @ (22:00-06:00)' }, undefined, undefined],
      [{ 'maxspeed:type': 'DE:urban' }, 50, 50],
      [{ 'source:maxspeed': 'RU:urban' }, 60, 60],
      [{ 'source:maxspeed': 'sign' }, undefined, undefined],
      [{ 'zone:maxspeed': 'DE:30' }, 30, 30],
      [{ 'zone:maxspeed': '30' }, 30, 30],
      [{ maxspeed: 'signals', 'maxspeed:type': 'FR:rural' }, 80, 80],
    ]
    for (const [tags, forward, backward] of rows) {
      const modes = ['motorcar', 'motor_vehicle']
      t.equal(maxspeedOf(tagsOf(tags), 'forward', modes), forward, JSON.stringify(tags))
      t.equal(maxspeedOf(tagsOf(tags), 'backward', modes), backward, JSON.stringify(tags))
    }
  },
)
