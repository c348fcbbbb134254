import t from 'tap'
import {
  EMERGENCY,
  holdsAt,
  holdsFor,
  isTimed,
  parseCondition,
} from '../../../src/routing/conditions/condition.js'
import type { Vehicle } from '../../../src/routing/conditions/vehicle.js'

/** Days of January 2026 begin at this number; the 5th is a Monday. */
const DAY_0_OF_2026 = Date.UTC(2026, 0, 1) / 86_400_000
const WEEK = ['Mo', 'Tu', 'We', 'Th', 'Fr', 'Sa', 'Su']

/** Returns true when a condition holds at `Mo 07:30` of a week in January 2026, or at `2026-03-01 07:30`. */
function holds(text: string, at: string): boolean | undefined {
  const condition = parseCondition(text)
  if (condition === undefined) return undefined
  const [day = '', time = ''] = at.split(' ')
  const [hour = 0, minute = 0] = time.split(':').map(Number)
  const weekday = WEEK.indexOf(day)
  const dayNumber = weekday >= 0 ? DAY_0_OF_2026 + 4 + weekday : Date.parse(day) / 86_400_000
  return holdsAt(condition, dayNumber, hour * 60 + minute)
}

/** Condition → instants at which it holds, and at which it does not. */
const TIMES: [text: string, on: string[], off: string[]][] = [
  ['Mo-Fr 07:00-19:00', ['Mo 07:00', 'Fr 18:59'], ['Mo 06:59', 'Fr 19:00', 'Sa 12:00']],
  ['07:00-19:00', ['Su 07:00'], ['Su 19:00', 'Mo 00:00']],
  ['24/7', ['Su 00:00', 'We 23:59'], []],
  ['Mo-Su', ['Su 12:00', 'Mo 00:00'], []],
  ['Sa', ['Sa 00:00', 'Sa 23:59'], ['Fr 23:59', 'Su 00:00']],
  ['Sa,Su,PH 07:00-20:00', ['Sa 07:00', 'Su 19:59'], ['Fr 12:00', 'Su 20:00']],
  ['Sa, Su 10:00-12:00', ['Sa 10:00', 'Su 11:59'], ['Sa 09:00', 'Mo 10:00']],
  ['Sa-Mo 10:00-12:00', ['Sa 10:00', 'Su 10:00', 'Mo 10:00'], ['Tu 10:00', 'Fr 10:00']],
  ['20:00-06:00', ['Mo 20:00', 'Mo 00:00', 'Mo 05:59'], ['Mo 06:00', 'Mo 19:59']],
  // the hours after midnight belong to the day before
  ['Fr 22:00-04:00', ['Fr 22:00', 'Sa 03:59'], ['Fr 03:00', 'Sa 04:00', 'Sa 22:00']],
  ['Su 22:00-02:00', ['Su 23:00', 'Mo 01:59'], ['Su 01:00', 'Mo 02:00', 'Mo 23:00']],
  ['Fr 22:00-28:00', ['Fr 22:00', 'Sa 03:59'], ['Fr 03:00', 'Sa 04:00']],
  ['Mo 19:00-00:00', ['Mo 19:00', 'Mo 23:59'], ['Tu 00:00', 'Mo 00:00']],
  ['Mo 00:00-24:00', ['Mo 00:00', 'Mo 23:59'], ['Tu 00:00']],
  ['Mo 00:00-00:00', ['Mo 00:00', 'Mo 23:59'], ['Tu 00:00']],
  ['Mo-Fr 07:00-09:00,16:00-18:00', ['Mo 08:00', 'Mo 17:00'], ['Mo 09:00', 'Mo 12:00', 'Sa 08:00']],
  ['Mo-Fr 7:00 - 9:00 , 16:00–18:00', ['Mo 08:00', 'Mo 17:00'], ['Mo 12:00']],
  [
    'Su 00:00-24:00; Mo-Fr 00:00-09:00,19:00-00:00; Sa 00:00-10:00',
    ['Su 12:00', 'Mo 08:59', 'Fr 23:59', 'Sa 09:59'],
    ['Mo 09:00', 'Fr 18:59', 'Sa 10:00'],
  ],
  // all seven days in parts, the last as a range: two rules
  ['Su, Mo-Sa 20:00-06:00', ['Su 12:00', 'Mo 20:00', 'Tu 05:00', 'Su 05:00'], ['Mo 12:00', 'Sa 19:59']],
  ['Su, Mo-Sa', ['Su 12:00', 'Mo 12:00'], []],
  ['Mo-Sa, Su 10:00-12:00', ['Su 10:00', 'Mo 10:00'], ['Su 12:00', 'Mo 09:00']],
  // the last rule for a day holds
  ['Mo-Su 08:00-20:00; Sa,Su 10:00-18:00', ['Mo 09:00', 'Sa 10:00'], ['Sa 09:00', 'Su 19:00']],
  ['Mo-Fr 08:00-20:00; We off', ['Tu 12:00', 'Th 12:00'], ['We 12:00', 'Sa 12:00']],
  ['Mo-Fr 08:00-20:00; 12:00-13:00 off', ['Mo 11:59', 'Mo 13:00'], ['Mo 12:00', 'Fr 12:59']],
  ['Mo-Fr 22:00-04:00; We off', ['We 03:00', 'Tu 23:00'], ['We 23:00', 'Th 03:00']],
  ['Mo-Su 07:00-09:00; PH off; Sa 10:00-12:00', ['Mo 08:00', 'Sa 11:00'], ['Sa 08:00']],
  // unless an earlier one would never hold
  ['Mo-Fr 07:00-09:00; Mo-Fr 16:00-18:00', ['Mo 08:00', 'Mo 17:00'], ['Mo 12:00']],
  ['07:00-09:00; 16:00-18:00', ['Mo 08:00', 'Su 17:00'], ['Mo 12:00']],
  ['Mo-Fr 07:00-09:00, Sa 10:00-12:00', ['Mo 08:00', 'Sa 11:00'], ['Sa 08:00', 'Mo 11:00']],
  // dates
  ['Nov-Mar', ['2026-11-01 00:00', '2026-01-15 12:00', '2026-03-31 23:59'], ['2026-04-01 00:00']],
  ['Apr 15-Sep 30', ['2026-04-15 00:00', '2026-09-30 23:59'], ['2026-04-14 23:59', '2026-10-01 00:00']],
  ['Dec 24-Jan 6', ['2026-12-24 00:00', '2027-01-06 23:59'], ['2026-12-23 23:59', '2027-01-07 00:00']],
  ['May 1-15', ['2026-05-01 00:00', '2026-05-15 23:59'], ['2026-05-16 00:00', '2026-04-30 12:00']],
  ['Jul,Sep-Oct', ['2026-07-01 00:00', '2026-10-31 23:59'], ['2026-08-01 00:00', '2026-11-01 00:00']],
  ['Dec 24,Dec 31', ['2026-12-24 12:00', '2026-12-31 12:00'], ['2026-12-25 12:00']],
  ['2026 Mar 1-2026 Apr 15', ['2026-03-01 00:00', '2026-04-15 23:59'], ['2027-03-01 00:00']],
  ['2026 Nov-Mar', ['2026-11-01 00:00', '2027-03-31 12:00'], ['2026-03-01 12:00', '2027-11-01 12:00']],
  ['2026-2027', ['2026-01-01 00:00', '2027-12-31 23:59'], ['2025-12-31 23:59', '2028-01-01 00:00']],
  ['2026 Mar-Oct', ['2026-03-01 00:00'], ['2027-03-01 00:00', '2026-11-01 00:00']],
  ['Nov-Mar: Mo-Fr 07:00-19:00', ['Mo 08:00'], ['Sa 08:00', '2026-06-01 08:00']],
  [
    'Nov-Mar Sa 22:00-02:00',
    ['2026-02-28 23:00', '2026-03-01 01:00'],
    ['2026-04-05 01:00', '2026-04-04 23:00'],
  ],
  ['Oct-Mar 18:00-08:00; Apr-Sep 21:00-06:00', ['Mo 07:00', '2026-06-01 22:00'], ['2026-06-01 07:00']],
  // AND
  ['Mo-Fr AND 07:00-09:00', ['Mo 08:00'], ['Sa 08:00', 'Mo 10:00']],
  // names of other languages and cases
  ['mo-fr 07:00-09:00', ['Mo 08:00'], ['Sa 08:00']],
  ['Monday-Friday 07:00-09:00', ['Mo 08:00'], ['Sa 08:00']],
  ['June-August', ['2026-06-01 00:00', '2026-08-31 12:00'], ['2026-09-01 00:00']],
  // holidays match no day
  ['PH', [], ['Mo 12:00', 'Su 12:00']],
  ['SH 07:00-09:00', [], ['Mo 08:00']],
]

t.test('holdsAt: days, hours, months and dates', async (t) => {
  for (const [text, on, off] of TIMES) {
    for (const at of on) t.equal(holds(text, at), true, `${text}: on at ${at}`)
    for (const at of off) t.equal(holds(text, at), false, `${text}: off at ${at}`)
  }
})

const UNREAD = [
  ...['', ' ', 'wet', 'destination', 'CAM', 'level 0', 'delivery', 'snow AND Mo-Fr', 'Mo-Fr AND', 'AND'],
  ...['Mo-', '-Mo', 'Mo-Fr 07:00', '07:00-', '7-19', '07:00+', '25:00-49:00', '07:60-09:00', '0700-0900'],
  ...['sunset-sunrise', 'dawn-dusk', 'week 10-20', 'easter', 'Mo[1] 07:00-09:00', '"school days"'],
  ...[
    'Mar 32',
    'Mar 0',
    'Apr 15-1',
    'Mar-2026',
    '2026-Mar',
    'Mar 1-2026 Apr 15',
    '2026 Apr-2026 Mar',
    '25:00-26:00',
    '1999',
    'Mo-Xx',
    'Mo Tu',
    '07:00-09:00 10:00-11:00',
  ],
  ...['Mo-Fr,', ',Mo', ';', 'Mo;;Tu', 'Mar:', ':07:00-09:00', 'weight>', '>7.5', 'weight>7.5 elephants'],
  ...[
    'axles>2',
    'weight>7,5',
    'weight=>7',
    'constructor>1',
    'weight>1 valueOf',
    '月-金 07:00-19:00',
    'Mo\u0000',
  ],
  ...[
    'Мо-Пт 07:00-19:00',
    '07:00-09:00 || 10:00-11:00',
    '((Mo))',
    '24/8',
    '24/',
    '2026+',
    'Mo-Fr 07:00-09:00 x',
  ],
]

t.test('parseCondition: text that is not read', async (t) => {
  for (const text of UNREAD) t.equal(parseCondition(text), undefined, JSON.stringify(text))
})

t.test('parseCondition: hostile text takes linear time and is refused beyond 1000 characters', async (t) => {
  const units = [
    'Mo,',
    '(',
    'Mo-Fr 07:00-09:00;',
    ' ',
    'AND ',
    '-',
    '24/7 ',
    '9',
    'a',
    '\u{1f4a9}',
    'weight>1 AND ',
  ]
  for (const unit of units) {
    t.equal(parseCondition(unit.repeat(1_000_000 / unit.length)), undefined, JSON.stringify(unit))
    const short = unit.repeat(Math.floor(1000 / unit.length))
    t.doesNotThrow(() => parseCondition(short), JSON.stringify(unit))
  }
  t.ok(parseCondition('Mo 07:00-09:00;'.repeat(60)))
})

t.test('property: random text of the characters of conditions never throws', async (t) => {
  const pieces = ['Mo', 'Fr', '-', ',', ' ', ';', ':', '07:00', '24:00', '24/7', 'Mar', '15', '2026', 'off']
  let seed = 1
  const next = (below: number) => {
    seed = Math.imul(seed, 1103515245) + 12345
    return ((seed >>> 8) & 0xffff) % below
  }
  let read = 0
  for (let round = 0; round < 5000; round++) {
    const text = Array.from({ length: next(9) }, () => pieces[next(pieces.length)]).join('')
    const condition = parseCondition(text)
    if (condition === undefined) continue
    read++
    holdsAt(condition, DAY_0_OF_2026 + next(400), next(1440))
  }
  t.ok(read > 100, `${read} of them are conditions`)
})

/** Condition → vehicles for which it holds, and for which it does not. */
const VEHICLES: [text: string, yes: Vehicle[], no: Vehicle[]][] = [
  ['weight>7.5', [{ weightT: 7.6 }], [{ weightT: 7.5 }, {}, { heightM: 9 }]],
  ['weight >= 7.5 t', [{ weightT: 7.5 }], [{ weightT: 7.4 }]],
  ['weight<3500 kg', [{ weightT: 3 }], [{ weightT: 3.5 }, {}]],
  ['maxweightrating>3.5', [{ weightT: 4 }], [{ weightT: 3 }]],
  ['height>3.5 m', [{ heightM: 4 }], [{ heightM: 3.5 }]],
  ['length>12', [{ lengthM: 13 }], [{ lengthM: 12 }, {}]],
  ['width<=2', [{ widthM: 2 }], [{ widthM: 2.1 }]],
  ['axleload=10', [{ axleLoadT: 10 }], [{ axleLoadT: 11 }]],
  ['hazmat', [{ isHazmat: true }], [{}, { isHazmat: false }]],
  [EMERGENCY, [{ isEmergency: true }], [{}, { isEmergency: false }]],
  ['weight>7.5 AND length>10', [{ weightT: 8, lengthM: 11 }], [{ weightT: 8 }, { weightT: 7, lengthM: 11 }]],
  ['Mo-Fr 07:00-09:00 AND weight>7.5', [{ weightT: 8 }], [{}]],
]

t.test('holdsFor: sizes of the vehicle; what is not known holds for no comparison', async (t) => {
  for (const [text, yes, no] of VEHICLES) {
    const condition = parseCondition(text)
    if (condition === undefined) throw new Error(text)
    for (const vehicle of yes)
      t.equal(holdsFor(condition, vehicle), true, `${text} ${JSON.stringify(vehicle)}`)
    for (const vehicle of no)
      t.equal(holdsFor(condition, vehicle), false, `${text} ${JSON.stringify(vehicle)}`)
  }
})

t.test('parseCondition: tells times and holidays', async (t) => {
  t.match(parseCondition('Sa,Su,PH 07:00-20:00'), { hasHolidays: true })
  t.match(parseCondition('Sa,Su 07:00-20:00'), { hasHolidays: false })
  const isTimedText = (text: string) => {
    const condition = parseCondition(text)
    return condition && isTimed(condition)
  }
  t.equal(isTimedText('Mo AND weight>3'), true)
  t.equal(isTimedText('weight>3'), false)
})
