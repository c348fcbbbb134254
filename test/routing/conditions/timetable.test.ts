import t from 'tap'
import { parseCondition } from '../../../src/routing/conditions/condition.js'
import { createTimetable } from '../../../src/routing/conditions/timetable.js'

function timetable(zone: string, ...texts: string[]) {
  return createTimetable(
    zone,
    texts.map((text) => {
      const condition = parseCondition(text)
      if (condition === undefined) throw new Error(`not a condition: ${text}`)
      return condition
    }),
  )
}

/** Beginnings of the slots from one instant to another, as UTC and the bits that hold. */
function slots(table: ReturnType<typeof timetable>, from: string, to: string): string[] {
  const found: string[] = []
  let last = ''
  for (let ms = Date.parse(from); ms < Date.parse(to); ms = table.slotAt(ms).endMs) {
    const { startMs, holds } = table.slotAt(ms)
    if (holds.join('') !== last)
      found.push(`${new Date(startMs).toISOString().slice(5, 16)} ${holds.join('')}`)
    last = holds.join('')
  }
  return found
}

t.test('slotAt: a condition of days alone changes at midnight', async (t) => {
  const table = timetable('Europe/Lisbon', 'Su')
  t.strictSame(slots(table, '2026-01-03T00:00Z', '2026-01-06T00:00Z'), [
    '01-03T00:00 0',
    '01-04T00:00 1',
    '01-05T00:00 0',
  ])
})

t.test('slotAt: local time of the zone', async (t) => {
  const table = timetable('Europe/Lisbon', 'Mo-Fr 07:00-09:00', '22:00-06:00')
  t.strictSame(slots(table, '2026-01-05T00:00Z', '2026-01-06T00:00Z'), [
    '01-05T00:00 01',
    '01-05T06:00 00',
    '01-05T07:00 10',
    '01-05T09:00 00',
    '01-05T22:00 01',
  ])
  // summer time: one hour earlier in UTC
  t.strictSame(slots(table, '2026-07-06T00:00Z', '2026-07-07T00:00Z'), [
    '07-06T00:00 01',
    '07-06T05:00 00',
    '07-06T06:00 10',
    '07-06T08:00 00',
    '07-06T21:00 01',
  ])
})

t.test('slotAt: the hour that is left out in spring, and the one that is repeated in autumn', async (t) => {
  const table = timetable('Europe/Berlin', '02:00-03:00', '02:30-02:45')
  // 01:00 UTC: 02:00 becomes 03:00, so neither holds in that night
  t.strictSame(slots(table, '2026-03-28T12:00Z', '2026-03-29T12:00Z').slice(1), [])
  // 01:00 UTC: 03:00 becomes 02:00 again, so both hold twice
  t.strictSame(slots(table, '2026-10-25T00:00Z', '2026-10-25T12:00Z'), [
    '10-25T00:00 10',
    '10-25T00:30 11',
    '10-25T00:45 10',
    '10-25T01:30 11',
    '10-25T01:45 10',
    '10-25T02:00 00',
  ])
})

t.test('slotAt: zones east and west of UTC, with parts of hours', async (t) => {
  t.strictSame(
    slots(timetable('Asia/Kolkata', 'Mo 00:00-01:00'), '2026-01-04T12:00Z', '2026-01-05T12:00Z').slice(1),
    ['01-04T18:30 1', '01-04T19:30 0'],
  )
  t.strictSame(
    slots(timetable('America/Sao_Paulo', 'Su 23:00-01:00'), '2026-01-04T12:00Z', '2026-01-05T12:00Z').slice(
      1,
    ),
    ['01-05T02:00 1', '01-05T04:00 0'],
  )
})

t.test('slotAt: conditions without times always hold, in one slot without an end', async (t) => {
  const slot = timetable('UTC', 'weight>7.5').slotAt(0)
  t.equal(slot.endMs, Number.POSITIVE_INFINITY)
  t.strictSame([...slot.holds], [1])
})

t.test('slotAt: slots that follow each other agree with those asked for alone', async (t) => {
  const texts = [
    'Mo-Fr 07:15-09:05',
    'Sa 22:00-02:00',
    'Nov-Mar 18:00-08:00',
    '2026 Mar 29-2026 Oct 25 02:00-03:00',
  ]
  const table = timetable('America/New_York', ...texts)
  const direct = timetable('America/New_York', ...texts)
  let slot = table.slotAt(Date.parse('2026-01-01T00:00Z'))
  for (let ms = slot.startMs; ms < Date.parse('2028-01-01T00:00Z'); ms += 420_000) {
    while (ms >= slot.endMs) slot = table.slotAt(slot.endMs)
    if (direct.slotAt(ms).holds.join() !== slot.holds.join()) t.fail(new Date(ms).toISOString())
  }
  t.pass('all agree')
})

t.test('createTimetable: an unknown zone matters where times are asked for', async (t) => {
  t.throws(() => timetable('Atlantis/Capital', 'Mo').slotAt(0), RangeError)
  t.same([...timetable('Atlantis/Capital', 'weight > 3.5').slotAt(0).holds], [1])
})
