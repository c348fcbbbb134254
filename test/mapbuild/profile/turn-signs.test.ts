import t from 'tap'
import { carTurnTags, SIGN } from '../../../src/mapbuild/profile/turn-signs.js'

const signOf = (tags: Record<string, string>) => carTurnTags.signOf(new Map(Object.entries(tags)))

t.test('signOf: what makes cars slow down, and for which direction', async (t) => {
  const cases: [Record<string, string>, number][] = [
    [{ highway: 'crossing' }, 0],
    [{ highway: 'traffic_signals' }, SIGN.SIGNALS],
    [{ highway: 'crossing; traffic_signals' }, SIGN.SIGNALS],
    [{ highway: 'crossing', crossing: 'traffic_signals' }, 0],
    [{ highway: 'traffic_signals', 'traffic_signals:direction': 'forward' }, SIGN.SIGNALS | SIGN.FORWARD],
    [{ highway: 'traffic_signals', direction: 'backward' }, SIGN.SIGNALS | SIGN.BACKWARD],
    [{ highway: 'traffic_signals', 'traffic_signals:direction': 'both', direction: 'forward' }, SIGN.SIGNALS],
    [{ highway: 'stop' }, SIGN.STOP],
    [{ highway: 'stop', stop: 'minor' }, SIGN.STOP | SIGN.MINOR],
    [{ highway: 'stop', stop: 'all' }, SIGN.STOP],
    [{ highway: 'stop', direction: '90' }, SIGN.STOP],
    [{ highway: 'give_way', direction: 'forward' }, SIGN.GIVE_WAY | SIGN.FORWARD],
    [{ barrier: 'gate' }, SIGN.GATE],
    [{ barrier: 'swing_gate', highway: 'stop' }, SIGN.GATE | SIGN.STOP],
    [{ barrier: 'toll_booth' }, SIGN.TOLL],
    [{ barrier: 'cattle_grid' }, 0],
    [{ barrier: 'entrance' }, 0],
    [{ barrier: 'constructor' }, 0],
  ]
  for (const [tags, expected] of cases) t.equal(signOf(tags), expected, JSON.stringify(tags))
})
