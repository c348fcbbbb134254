import t from 'tap'
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

t.test('foot: walks everywhere but on motor roads, also against one-way streets', async (t) => {
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
