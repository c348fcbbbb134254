import t from 'tap'
import { accessOf, accessValue } from '../../src/mapbuild/profile/access.js'
import { countryCodes, limitsOf, UNLIMITED_KMH } from '../../src/mapbuild/profile/countries.js'
import { parseDuration } from '../../src/mapbuild/profile/duration.js'
import { maxspeedOf, parseMaxspeed } from '../../src/mapbuild/profile/maxspeed.js'
import { notesOf, splitClauses } from '../../src/mapbuild/profile/notes.js'
import { onewayOf } from '../../src/mapbuild/profile/oneway.js'
import type { ProfileName } from '../../src/mapbuild/profile/profile.js'
import { findProfile } from '../../src/mapbuild/profile/profiles.js'
import { LINK_FLAG } from '../../src/routing/graph/graph.js'

type Tags = Record<string, string>
const tagsOf = (tags: Tags) => new Map(Object.entries(tags))

/** `forward/backward` speeds in km/h, with * for private, ~ for ferry, o for roundabout; `closed` for neither. */
function drive(name: ProfileName, tags: Tags, country: string | null = null): string {
  const rule = findProfile(name).wayRule(tagsOf(tags), country)
  if (rule === undefined) return 'closed'
  const side = ({ speedDkmh, flags }: { speedDkmh: number; flags: number }) =>
    `${speedDkmh / 10}${(flags & LINK_FLAG.PRIVATE) === 0 ? '' : '*'}${(flags & LINK_FLAG.FERRY) === 0 ? '' : '~'}${(flags & LINK_FLAG.ROUNDABOUT) === 0 ? '' : 'o'}`
  return `${side(rule.forward)}/${side(rule.backward)}`
}

t.test('parseMaxspeed: every form that the wiki knows, and what is none', async (t) => {
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

t.test('onewayOf: all values, what is implied, and what is said for a kind of vehicle', async (t) => {
  const rows: [Tags, string][] = [
    [{}, 'both'],
    [{ oneway: 'yes' }, 'forward'],
    [{ oneway: 'true' }, 'forward'],
    [{ oneway: '1' }, 'forward'],
    [{ oneway: '-1' }, 'backward'],
    [{ oneway: 'reverse' }, 'backward'],
    [{ oneway: 'no' }, 'both'],
    [{ oneway: 'false' }, 'both'],
    [{ oneway: '0' }, 'both'],
    [{ oneway: 'reversible' }, 'closed'],
    [{ oneway: 'alternating' }, 'both'],
    [{ oneway: 'perhaps' }, 'both'],
    [{ junction: 'roundabout' }, 'forward'],
    [{ junction: 'circular' }, 'forward'],
    [{ junction: 'roundabout', oneway: 'no' }, 'both'],
    [{ junction: 'roundabout', oneway: '-1' }, 'backward'],
    [{ junction: 'jughandle' }, 'both'],
    [{ highway: 'motorway' }, 'forward'],
    [{ highway: 'motorway', oneway: 'no' }, 'both'],
    [{ highway: 'motorway_link' }, 'both'],
    [{ oneway: 'yes', 'oneway:motor_vehicle': 'no' }, 'both'],
    [{ oneway: 'yes', 'oneway:bicycle': 'no' }, 'forward'],
    [{ 'oneway:motorcar': '-1', oneway: 'yes' }, 'backward'],
  ]
  for (const [tags, expected] of rows) {
    t.equal(onewayOf(tagsOf(tags), ['motorcar', 'motor_vehicle', 'vehicle']), expected, JSON.stringify(tags))
  }
})

t.test('accessOf: the most specific key that says anything wins', async (t) => {
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

t.test('parseDuration: clock and ISO 8601, in seconds', async (t) => {
  const rows: [string | undefined, number | undefined][] = [
    ['20', 1200],
    ['00:20', 1200],
    ['1:05', 3900],
    ['01:05:30', 3930],
    ['26:00', 93_600],
    ['PT20M', 1200],
    ['PT1H30M', 5400],
    ['pt90s', 90],
    ['P1DT2H', 93_600],
    ['P1W', 604_800],
    ['PT1.5H', 5400],
    ['0', undefined],
    ['00:00', undefined],
    ['PT', undefined],
    ['P1M', undefined],
    ['00:99', undefined],
    ['10 min', undefined],
    ['', undefined],
    [undefined, undefined],
  ]
  for (const [text, seconds] of rows) t.equal(parseDuration(text), seconds, JSON.stringify(text))
})

t.test('notesOf: conditions in words, for the direction and the traveller that they concern', async (t) => {
  const car = ['motorcar', 'motor_vehicle', 'vehicle', 'access']
  const notes = (tags: Tags) => notesOf(tagsOf(tags), car, true)
  t.same(notes({ 'maxspeed:conditional': '30 @ (22:00-06:00); 50 @ wet' }).forward, [
    'conditional speed limit: 30 at 22:00-06:00 (not applied)',
    'conditional speed limit: 50 at wet (not applied)',
  ])
  t.same(notes({ 'motor_vehicle:conditional': 'no @ (Mo-Fr 07:00-09:00; Sa 10:00-12:00)' }).backward, [
    'conditional access for motor vehicles: no at Mo-Fr 07:00-09:00; Sa 10:00-12:00 (not applied)',
  ])
  t.same(notes({ 'maxspeed:forward:conditional': '30 @ 22:00-06:00' }), {
    forward: ['conditional speed limit: 30 at 22:00-06:00 (not applied)'],
    backward: [],
  })
  t.same(notes({ 'oneway:conditional': 'yes' }).forward, [
    'conditional one-way: yes under a condition (not applied)',
  ])
  t.same(notes({ 'hgv:conditional': 'no @ 22:00-06:00', 'maxspeed:hgv:conditional': '60 @ wet' }).forward, [])
  t.same(
    notes({ maxheight: '3.5', maxweight: '7.5 st', maxwidth: 'none', ford: 'yes', toll: 'yes' }).forward,
    ['height limit 3.5 m', 'weight limit 7.5 st', 'ford', 'toll'],
  )
  t.same(splitClauses('a @ (b; c); d @ e;; )f('), ['a @ (b; c)', 'd @ e', ')f('])
})

t.test('car: classes, limits, ways that are none', async (t) => {
  const rows: [Tags, string][] = [
    [{ highway: 'motorway' }, '110/0'],
    [{ highway: 'trunk' }, '105/105'],
    [{ highway: 'primary' }, '80/80'],
    [{ highway: 'residential' }, '30/30'],
    [{ highway: 'residential', maxspeed: '50' }, '50/50'],
    [{ highway: 'residential', maxspeed: 'RU:living_street' }, '20/20'],
    [{ highway: 'residential', junction: 'roundabout' }, '30o/0'],
    [{ highway: 'living_street' }, '10/10'],
    [{ highway: 'service' }, '20/20'],
    [{ highway: 'service', service: 'parking_aisle' }, '10/10'],
    [{ highway: 'service', service: 'driveway', maxspeed: '30' }, '15/15'],
    [{ highway: 'service', service: 'emergency_access' }, 'closed'],
    [{ highway: 'residential', access: 'private' }, '30*/30*'],
    [{ highway: 'residential', motor_vehicle: 'destination', oneway: '-1' }, '0/30*'],
    [{ highway: 'residential', access: 'no' }, 'closed'],
    [{ highway: 'residential', access: 'no', motorcar: 'yes' }, '30/30'],
    [{ highway: 'residential', 'vehicle:backward': 'no' }, '30/0'],
    [{ highway: 'residential', area: 'yes' }, 'closed'],
    [{ highway: 'residential', oneway: 'reversible' }, 'closed'],
    [{ highway: 'residential', smoothness: 'impassable' }, 'closed'],
    [{ highway: 'unclassified', surface: 'gravel', maxspeed: '80' }, '40/40'],
    [{ highway: 'tertiary', surface: 'mud' }, '10/10'],
    [{ highway: 'construction' }, 'closed'],
    [{ highway: 'proposed' }, 'closed'],
    [{ highway: 'footway' }, 'closed'],
    [{ highway: 'footway', access: 'yes' }, 'closed'],
    [{ highway: 'footway', motor_vehicle: 'yes' }, '12/12'],
    [{ highway: 'track' }, 'closed'],
    [{ highway: 'track', tracktype: 'grade1' }, '12/12'],
    [{ highway: 'track', tracktype: 'grade1', access: 'forestry' }, 'closed'],
    [{ highway: 'track', access: 'yes', tracktype: 'grade5' }, '12/12'],
    [{ highway: 'track', motor_vehicle: 'agricultural' }, 'closed'],
    [{ highway: 'pedestrian', motor_vehicle: 'delivery' }, '12*/12*'],
    [{ route: 'ferry' }, '6~/6~'],
    [{ route: 'ferry', motor_vehicle: 'no' }, 'closed'],
    [{ route: 'shuttle_train' }, '12~/12~'],
    [{ route: 'bus' }, 'closed'],
    [{ highway: 'constructor' }, 'closed'],
  ]
  for (const [tags, expected] of rows) t.equal(drive('car', tags), expected, JSON.stringify(tags))
})

t.test('car: default speeds follow the law of the country, tagged ones do not', async (t) => {
  t.equal(drive('car', { highway: 'trunk' }, 'JP'), '60/60')
  t.equal(drive('car', { highway: 'motorway' }, 'JP'), '100/0')
  t.equal(drive('car', { highway: 'primary' }, 'JP'), '60/60')
  t.equal(drive('car', { highway: 'residential' }, 'JP'), '30/30')
  t.equal(drive('car', { highway: 'primary', maxspeed: '80' }, 'JP'), '80/80')
  t.equal(drive('car', { highway: 'living_street' }, 'DE'), '7/7')
  t.equal(limitsOf('uk'), limitsOf('GB'))
  for (const code of countryCodes()) {
    const { urban = 0, rural = 0, trunk = 0, motorway = 0 } = limitsOf(code) ?? {}
    t.ok(urban >= 30 && urban <= rural && rural <= trunk && trunk <= motorway && motorway <= 140, code)
  }
})

t.test('car: barriers on nodes', async (t) => {
  const rows: [Tags, boolean][] = [
    [{ barrier: 'bollard' }, true],
    [{ barrier: 'bollard', bollard: 'rising' }, false],
    [{ barrier: 'bollard', motor_vehicle: 'yes' }, false],
    [{ barrier: 'gate' }, false],
    [{ barrier: 'gate', locked: 'yes' }, true],
    [{ barrier: 'gate', access: 'no' }, true],
    [{ barrier: 'gate', access: 'private' }, false],
    [{ barrier: 'lift_gate' }, false],
    [{ barrier: 'toll_booth' }, false],
    [{ barrier: 'cattle_grid' }, false],
    [{ barrier: 'cycle_barrier' }, true],
    [{ barrier: 'jersey_barrier' }, true],
    [{ barrier: 'something_new' }, true],
    [{ barrier: 'kerb' }, true],
    [{ barrier: 'kerb', kerb: 'lowered' }, false],
    [{ barrier: 'kerb', highway: 'crossing' }, false],
    [{ access: 'no' }, false],
  ]
  for (const [tags, isClosed] of rows) {
    t.equal(findProfile('car').isClosedNode(tagsOf(tags)), isClosed, JSON.stringify(tags))
  }
  t.equal(findProfile('bicycle').isClosedNode(tagsOf({ barrier: 'bollard' })), false)
  t.equal(findProfile('bicycle').isClosedNode(tagsOf({ barrier: 'stile' })), true)
  t.equal(findProfile('bicycle').isClosedNode(tagsOf({ barrier: 'gate', bicycle: 'no' })), true)
  t.equal(findProfile('foot').isClosedNode(tagsOf({ barrier: 'stile' })), false)
  t.equal(findProfile('foot').isClosedNode(tagsOf({ barrier: 'wall' })), true)
  t.equal(findProfile('foot').isClosedNode(tagsOf({ barrier: 'gate', foot: 'no' })), true)
  t.equal(findProfile('foot').isClosedNode(tagsOf({ highway: 'crossing' })), false)
})

t.test('foot: walks everywhere but on motor roads, one-way streets too', async (t) => {
  const rows: [Tags, string][] = [
    [{ highway: 'residential', oneway: 'yes' }, '5/5'],
    [{ highway: 'residential', 'oneway:foot': 'yes' }, '5/0'],
    [{ highway: 'footway' }, '5/5'],
    [{ highway: 'steps' }, '2/2'],
    [{ highway: 'path', surface: 'gravel' }, '3.8/3.8'],
    [{ highway: 'motorway' }, 'closed'],
    [{ highway: 'motorway', foot: 'yes' }, '5/5'],
    [{ highway: 'trunk', motorroad: 'yes' }, 'closed'],
    [{ highway: 'cycleway' }, 'closed'],
    [{ highway: 'cycleway', foot: 'yes' }, '5/5'],
    [{ highway: 'service', access: 'private' }, '5*/5*'],
    [{ highway: 'residential', foot: 'use_sidepath' }, 'closed'],
    [{ highway: 'pedestrian', area: 'yes' }, '5/5'],
    [{ man_made: 'pier' }, '5/5'],
    [{ railway: 'platform' }, '5/5'],
    [{ railway: 'rail' }, 'closed'],
    [{ route: 'ferry', duration: '00:10' }, '5~/5~'],
    [{ route: 'ferry', foot: 'no' }, 'closed'],
  ]
  for (const [tags, expected] of rows) t.equal(drive('foot', tags), expected, JSON.stringify(tags))
})

t.test('bicycle: rides, pushes, and goes against one-way streets where it may', async (t) => {
  const rows: [Tags, string][] = [
    [{ highway: 'residential' }, '15/15'],
    [{ highway: 'residential', oneway: 'yes' }, '15/0'],
    [{ highway: 'residential', oneway: 'yes', 'oneway:bicycle': 'no' }, '15/15'],
    [{ highway: 'residential', oneway: 'yes', cycleway: 'opposite' }, '15/15'],
    [{ highway: 'residential', oneway: 'yes', cycleway: 'opposite_lane' }, '15/15'],
    [{ highway: 'residential', oneway: 'yes', 'cycleway:left': 'opposite_track' }, '15/15'],
    [{ highway: 'residential', oneway: 'yes', 'cycleway:left:oneway': '-1' }, '15/15'],
    [{ highway: 'residential', oneway: 'yes', 'cycleway:right:oneway': 'yes' }, '15/0'],
    [{ highway: 'residential', oneway: '-1', 'cycleway:both:oneway': 'no' }, '15/15'],
    [{ highway: 'residential', oneway: 'no', 'oneway:bicycle': 'yes' }, '15/0'],
    [{ highway: 'living_street', maxspeed: '10' }, '10/10'],
    [{ highway: 'cycleway' }, '15/15'],
    [{ highway: 'footway' }, '4/4'],
    [{ highway: 'footway', bicycle: 'yes' }, '15/15'],
    [{ highway: 'footway', bicycle: 'dismount' }, '4/4'],
    [{ highway: 'residential', bicycle: 'dismount' }, '4/4'],
    [{ highway: 'steps', bicycle: 'yes' }, '2/2'],
    [{ highway: 'path', surface: 'sand' }, '3/3'],
    [{ highway: 'residential', bicycle: 'no' }, 'closed'],
    [{ highway: 'residential', bicycle: 'use_sidepath' }, 'closed'],
    [{ highway: 'residential', vehicle: 'destination' }, '15*/15*'],
    [{ highway: 'residential', vehicle: 'no', bicycle: 'yes' }, '15/15'],
    [{ highway: 'bridleway' }, 'closed'],
    [{ highway: 'bridleway', bicycle: 'yes' }, '15/15'],
    [{ highway: 'motorway' }, 'closed'],
    [{ highway: 'trunk', motorroad: 'yes' }, 'closed'],
    [{ highway: 'primary', oneway: 'reversible' }, 'closed'],
    [{ route: 'ferry' }, '5~/5~'],
  ]
  for (const [tags, expected] of rows) t.equal(drive('bicycle', tags), expected, JSON.stringify(tags))
})

t.test('wayRule: notes, name, and the time that a ferry takes', async (t) => {
  const car = findProfile('car')
  const road = car.wayRule(tagsOf({ highway: 'residential', access: 'private', ref: 'K 5' }), null)
  t.equal(road?.name, 'K 5')
  t.same(road?.forward.notes, ['private or destination only'])
  t.equal(car.wayRule(tagsOf({ highway: 'residential', ref: 'K 5', name: '桜通り' }), null)?.name, '桜通り')
  t.equal(car.wayRule(tagsOf({ route: 'ferry', duration: 'PT20M' }), null)?.durationS, 1200)
  t.equal(car.wayRule(tagsOf({ highway: 'residential', duration: 'PT20M' }), null)?.durationS, undefined)
})
