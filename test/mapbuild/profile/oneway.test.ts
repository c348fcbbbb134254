import t from 'tap'
import { onewayOf } from '../../../src/mapbuild/profile/oneway.js'

type Tags = Record<string, string>

const tagsOf = (tags: Tags) => new Map(Object.entries(tags))

t.test('onewayOf: all values, implied ones, and those for a kind of vehicle', async (t) => {
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
