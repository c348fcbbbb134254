import t from 'tap'
import { countryCodes, limitsOf } from '../../../src/mapbuild/profile/countries.js'
import type { ProfileName } from '../../../src/mapbuild/profile/profile.js'
import { findProfile } from '../../../src/mapbuild/profile/profiles.js'
import { LINK_FLAG } from '../../../src/routing/graph/graph.js'

type Tags = Record<string, string>

const tagsOf = (tags: Tags) => new Map(Object.entries(tags))

/**
 * `forward/backward` speeds in km/h, with * for private, ~ for ferry, o for roundabout; `closed` for neither.
 */
function drive(name: ProfileName, tags: Tags, country: string | null = null): string {
  const rule = findProfile(name).wayRule(tagsOf(tags), country)
  if (typeof rule === 'string') return 'closed'
  const side = ({ speedDkmh, flags }: { speedDkmh: number; flags: number }) =>
    `${speedDkmh / 10}${(flags & LINK_FLAG.PRIVATE) === 0 ? '' : '*'}${(flags & LINK_FLAG.FERRY) === 0 ? '' : '~'}${(flags & LINK_FLAG.ROUNDABOUT) === 0 ? '' : 'o'}`
  return `${side(rule.forward)}/${side(rule.backward)}`
}

t.test('car: classes, limits, and ways that are not roads', async (t) => {
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
    [{ highway: 'service', service: 'driveway' }, '20/20'],
    [{ highway: 'service', service: 'alley', maxspeed: '30' }, '15/15'],
    [{ highway: 'service', service: 'emergency_access' }, 'closed'],
    [{ highway: 'residential', access: 'private' }, '30*/30*'],
    [{ highway: 'residential', motor_vehicle: 'destination', oneway: '-1' }, '0/30*'],
    [{ highway: 'residential', access: 'no' }, 'closed'],
    [{ highway: 'residential', access: 'no', motorcar: 'yes' }, '30/30'],
    [{ highway: 'residential', 'vehicle:backward': 'no' }, '30/0'],
    [{ highway: 'residential', area: 'yes' }, 'closed'],
    [{ highway: 'residential', oneway: 'reversible' }, 'closed'],
    [{ highway: 'residential', smoothness: 'impassable' }, 'closed'],
    [{ highway: 'unclassified', surface: 'gravel', maxspeed: '80' }, '50/50'],
    [{ highway: 'tertiary', surface: 'mud' }, '12.5/12.5'],
    [{ highway: 'construction' }, 'closed'],
    [{ highway: 'residential', construction: 'yes' }, 'closed'],
    [{ highway: 'residential', construction: 'minor' }, '30/30'],
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
    [{ highway: 'pedestrian', 'vehicle:forward': 'yes' }, '12/0'],
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
