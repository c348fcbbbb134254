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
