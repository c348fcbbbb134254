import t from 'tap'
import { parseDuration } from '../../../src/mapbuild/profile/duration.js'

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
    ['00:59:59', 3599],
    ['00:60', undefined],
    ['00:00:60', undefined],
    ['00:99', undefined],
    ['10 min', undefined],
    ['', undefined],
    [undefined, undefined],
  ]
  for (const [text, seconds] of rows) t.equal(parseDuration(text), seconds, JSON.stringify(text))
})
