import t from 'tap'
import { shortTime } from '../../../src/console/grid/short-time.js'

t.test('shortTime: zeros at the end of a fraction are left out, and nothing else', async (t) => {
  const times: [text: string, expected: string][] = [
    ['2026-11-28T23:49:50.166000+09:00', '2026-11-28T23:49:50.166+09:00'],
    ['2026-11-28T23:49:50.000000+09:00', '2026-11-28T23:49:50+09:00'],
    ['2026-11-28T23:49:50.000100Z', '2026-11-28T23:49:50.0001Z'],
    ['2026-11-28T23:49:50.100000', '2026-11-28T23:49:50.1'],
    ['2026-11-28T23:49:50.123456+09:00', '2026-11-28T23:49:50.123456+09:00'],
    ['2026-11-28T23:49:50+09:00', '2026-11-28T23:49:50+09:00'],
    ['0.1000', '0.1000'],
    ['', ''],
  ]
  for (const [text, expected] of times) t.equal(shortTime(text), expected)
})
