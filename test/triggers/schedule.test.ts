import t from 'tap'
import { dueBetween, readSchedule, type Schedule } from '../../src/triggers/schedule.js'

const us = (text: string) => Date.parse(text) * 1000
const text = (at: number | undefined) => (at === undefined ? undefined : new Date(at / 1000).toISOString())

function scheduleOf(expression: string, timeZone = 'UTC'): Schedule {
  const read = readSchedule(expression, timeZone)
  if ('fault' in read) throw new Error(read.fault)
  return read
}

/** Times between two instants, one by one. */
function times(schedule: Schedule, from: string, until: string): (string | undefined)[] {
  const found: (string | undefined)[] = []
  for (let at = schedule.next(us(from)); at !== undefined && at <= us(until); at = schedule.next(at))
    found.push(text(at))
  return found
}

t.test('schedule: a time of day comes once on each day, whatever the clocks do', async (t) => {
  const lisbon = scheduleOf('30 1 * * *', 'Europe/Lisbon')
  t.same(times(lisbon, '2026-03-28T00:00:00Z', '2026-03-30T12:00:00Z'), [
    ...['2026-03-28T01:30:00.000Z', '2026-03-29T01:00:00.000Z', '2026-03-30T00:30:00.000Z'],
  ])
  t.same(times(lisbon, '2026-10-24T12:00:00Z', '2026-10-26T12:00:00Z'), [
    ...['2026-10-25T00:30:00.000Z', '2026-10-26T01:30:00.000Z'],
  ])
  const lordHowe = scheduleOf('45 1 * * *', 'Australia/Lord_Howe')
  t.equal(times(lordHowe, '2026-04-03T00:00:00Z', '2026-04-07T00:00:00Z').length, 4)
})

t.test('schedule: intervals run in both passes of an hour', async (t) => {
  const quarter = scheduleOf('*/30 * * * *', 'Europe/Lisbon')
  t.equal(times(quarter, '2026-10-24T23:59:00Z', '2026-10-25T02:00:00Z').length, 5)
})

t.test('schedule: faults say what is wrong', async (t) => {
  for (const [expression, zone, fault] of [
    ['0 0 30 2 *', 'UTC', /never comes/],
    ['61 * * * *', 'UTC', /61/],
    ['* * *', 'UTC', /part/i],
    ['@hourly x', 'UTC', /./],
    ['* * * * *', 'Mars/Olympus', /Mars\/Olympus/],
  ] as const)
    t.match(readSchedule(expression, zone), { fault }, `${expression} in ${zone}`)
})

t.test('schedule: times that have come, also of very many', async (t) => {
  const hourly = scheduleOf('0 * * * *')
  t.equal(dueBetween(hourly, us('2026-01-01T00:00:00Z'), us('2026-01-01T00:59:59Z')), undefined)
  t.same(dueBetween(hourly, us('2026-01-01T00:00:00Z'), us('2026-01-01T03:00:00Z')), {
    ...{ firstUs: us('2026-01-01T01:00:00Z'), beforeLastUs: us('2026-01-01T02:00:00Z') },
    ...{ lastUs: us('2026-01-01T03:00:00Z'), count: 3 },
  })
  for (const [expression, until, before, last] of [
    ['* * * * * *', '2026-06-01T00:00:00Z', '2026-05-31T23:59:59Z', '2026-06-01T00:00:00Z'],
    ['*/10 * * * *', '2027-01-01T00:05:00Z', '2026-12-31T23:50:00Z', '2027-01-01T00:00:00Z'],
    ['0 0 * * *', '2030-01-01T12:00:00Z', '2029-12-31T00:00:00Z', '2030-01-01T00:00:00Z'],
  ] as const) {
    const due = dueBetween(scheduleOf(expression), us('2026-01-01T00:00:00Z'), us(until))
    t.match(due, { count: 1000, beforeLastUs: us(before), lastUs: us(last) }, expression)
  }
})
