import t from 'tap'
import { clockText, momentText } from '../../../src/console/core/moment.js'

const DAYS: [iso: string, en: string, ja: string][] = [
  ['2026-11-28T14:05:00Z', '28 Nov 2026, 14:05', '2026/11/28 14:05'],
  ['2026-09-01T00:00:59Z', '1 Sep 2026, 00:00', '2026/09/01 0:00'],
  ['1999-12-31T23:59:00Z', '31 Dec 1999, 23:59', '1999/12/31 23:59'],
]

for (const [iso, en, ja] of DAYS)
  t.test(`momentText: ${iso}`, async (t) => {
    t.equal(momentText(new Date(iso), 'en', 'UTC'), en)
    t.equal(momentText(new Date(iso), 'ja', 'UTC'), ja)
  })

t.test('momentText: the time of a zone, across midnight', async (t) => {
  t.equal(momentText(new Date('2026-11-28T15:05:00Z'), 'en', 'Asia/Tokyo'), '29 Nov 2026, 00:05')
})

t.test('clockText: hours of a day, midnight included', async (t) => {
  t.equal(clockText(Date.parse('2026-11-28T14:05:00Z'), 'UTC'), '14:05')
  t.equal(clockText(Date.parse('2026-11-28T00:00:00Z'), 'UTC'), '00:00')
})
