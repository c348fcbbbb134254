import fc from 'fast-check'
import t from 'tap'
import {
  civilFromDays,
  datetimeObject,
  daysFromCivil,
  formatDatetime,
  formatDatetimeShort,
  formatOffset,
  MAX_US,
  MIN_US,
  parseDatetime,
  parseOffset,
} from '../src/datetime.js'

const TOKYO_MIN = 540
const instant = fc.bigInt({ min: MIN_US, max: MAX_US })
const offset = fc.integer({ min: -1080, max: 1080 })

t.test(
  'property: what is printed reads back as the same microsecond, year 1 to 9999, at any offset',
  async () => {
    fc.assert(
      fc.property(instant, offset, offset, (us, printed, assumed) => {
        return (
          parseDatetime(formatDatetime(us, printed), assumed) === us &&
          parseDatetime(formatDatetimeShort(us, printed), assumed) === us
        )
      }),
      { numRuns: 2000 },
    )
  },
)

t.test(
  'property: the microseconds about a midnight print on their own day, within and beyond doubles',
  async () => {
    const days = fc.oneof(
      fc.integer({ min: -719_161, max: 2_932_896 }),
      fc.integer({ min: 104_240, max: 104_260 }), // 2^53 µs
      fc.integer({ min: -104_260, max: -104_240 }),
    )
    fc.assert(
      fc.property(days, (day) => {
        const midnight = BigInt(day) * 86_400_000_000n
        const dateOf = (days: number) => new Date(days * 86_400_000).toISOString().slice(0, 10)
        return (
          formatDatetime(midnight, 0) === `${dateOf(day)}T00:00:00.000000+00:00` &&
          formatDatetime(midnight - 1n, 0) === `${dateOf(day - 1)}T23:59:59.999999+00:00`
        )
      }),
      { numRuns: 2000 },
    )
  },
)

t.test('property: printing agrees with Date to the millisecond', async () => {
  const ms = fc.integer({ min: -62_135_596_800_000, max: 253_402_300_799_999 })
  fc.assert(
    fc.property(
      ms,
      (ms) => formatDatetime(BigInt(ms) * 1000n, 0) === `${new Date(ms).toISOString().slice(0, -1)}000+00:00`,
    ),
    { numRuns: 1000 },
  )
})

t.test('property: days and civil dates are inverse, and agree with Date', async () => {
  fc.assert(
    fc.property(fc.integer({ min: -719_162, max: 2_932_896 }), (days) => {
      const { year, month, day } = civilFromDays(days)
      const iso = new Date(days * 86_400_000).toISOString().slice(0, 10)
      const ours = `${String(year).padStart(4, '0')}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`
      return daysFromCivil(year, month, day) === days && ours === iso
    }),
    { numRuns: 2000 },
  )
})

t.test('datetime: the ends of the range', async (t) => {
  t.equal(MIN_US, BigInt(Date.parse('0001-01-01T00:00:00Z')) * 1000n)
  t.equal(MAX_US, BigInt(Date.parse('9999-12-31T23:59:59.999Z')) * 1000n + 999n)
  t.equal(formatDatetime(MIN_US, 0), '0001-01-01T00:00:00.000000+00:00')
  t.equal(formatDatetime(MAX_US, 0), '9999-12-31T23:59:59.999999+00:00')
  t.equal(parseDatetime('0001-01-01 00:00:00Z', 0), MIN_US)
  t.equal(parseDatetime('9999-12-31 23:59:59.999999Z', 0), MAX_US)
})

t.test('datetime: an instant whose local year would leave the range is printed in UTC', async (t) => {
  t.equal(formatDatetime(MIN_US, -60), '0001-01-01T00:00:00.000000+00:00')
  t.equal(formatDatetime(MAX_US, TOKYO_MIN), '9999-12-31T23:59:59.999999+00:00')
  t.equal(formatDatetime(MIN_US, TOKYO_MIN), '0001-01-01T09:00:00.000000+09:00')
})

t.test('parseDatetime: every accepted spelling', async (t) => {
  const utc = (text: string) => BigInt(Date.parse(text)) * 1000n
  const table: [text: string, us: bigint][] = [
    ['2025-01-02 03:04:05', utc('2025-01-01T18:04:05Z')],
    ['2025-01-02T03:04:05', utc('2025-01-01T18:04:05Z')],
    ['2025-01-02t03:04:05z', utc('2025-01-02T03:04:05Z')],
    ['2025-01-02 03:04:05Z', utc('2025-01-02T03:04:05Z')],
    ['2025-01-02 03:04:05+09', utc('2025-01-01T18:04:05Z')],
    ['2025-01-02 03:04:05+0900', utc('2025-01-01T18:04:05Z')],
    ['2025-01-02 03:04:05+09:00', utc('2025-01-01T18:04:05Z')],
    ['2025-01-02 03:04:05 +09:00', utc('2025-01-01T18:04:05Z')],
    ['2025-01-02 03:04:05-03:30', utc('2025-01-02T06:34:05Z')],
    ['2025-01-02 03:04:05-18:00', utc('2025-01-02T21:04:05Z')],
    ['2025-01-02 03:04:05.6Z', utc('2025-01-02T03:04:05.600Z')],
    ['2025-01-02 03:04:05,678901Z', utc('2025-01-02T03:04:05.678Z') + 901n],
    ['2025-01-02 03:04:05.6789014Z', utc('2025-01-02T03:04:05.678Z') + 901n],
    ['2025-01-02 03:04:05.678901999Z', utc('2025-01-02T03:04:05.678Z') + 902n],
    ['2025-01-02 03:04:05.999999500Z', utc('2025-01-02T03:04:06Z')],
    ['2025-01-02 03:04Z', utc('2025-01-02T03:04:00Z')],
    ['2025-01-02', utc('2025-01-01T15:00:00Z')],
    [' 2025-01-02 03:04:05Z ', utc('2025-01-02T03:04:05Z')],
    ['2024-02-29 00:00:00Z', utc('2024-02-29T00:00:00Z')],
    ['2000-02-29 00:00:00Z', utc('2000-02-29T00:00:00Z')],
    ['2025-01-02 00:00:00+00:00', utc('2025-01-02T00:00:00Z')],
    ['1969-12-31 23:59:59.999999Z', -1n],
  ]
  for (const [text, us] of table) t.equal(parseDatetime(text, TOKYO_MIN), us, text)
})

t.test('parseDatetime: what does not exist or fit is refused, and said', async (t) => {
  const table: [text: string, expected: RegExp][] = [
    ['2025-02-30 00:00:00', /date that exists/],
    ['2025-02-29 00:00:00', /date that exists/],
    ['1900-02-29 00:00:00', /date that exists/],
    ['2025-04-31', /date that exists/],
    ['2025-13-01', /date that exists/],
    ['2025-00-01', /date that exists/],
    ['2025-01-00', /date that exists/],
    ['2025-01-32', /date that exists/],
    ['0000-01-01', /date that exists/],
    ['2025-01-02 24:00:00', /hours 00 to 23/],
    ['2025-01-02 03:60:00', /minutes 00 to 59/],
    ['2016-12-31 23:59:60Z', /leap second/],
    ['2016-12-31 23:59:61Z', /seconds 00 to 59/],
    ['2025-01-02 03:04:05+19:00', /offset/],
    ['2025-01-02 03:04:05+18:01', /offset/],
    ['2025-01-02 03:04:05+09:60', /offset/],
    ['0001-01-01 00:00:00+00:01', /year 0001 to 9999 in UTC/],
    ['9999-12-31 23:59:59-00:01', /year 0001 to 9999 in UTC/],
    ['9999-12-31 23:59:59.9999995Z', /year 0001 to 9999 in UTC/],
    ['', /a datetime like/],
    ['now', /a datetime like/],
    ['2025', /a datetime like/],
    ['2025-1-2', /a datetime like/],
    ['10000-01-01', /a datetime like/],
    ['-0001-01-01', /a datetime like/],
    ['2025-01-02 3:04:05', /a datetime like/],
    ['2025-01-02  03:04:05', /a datetime like/],
    ['2025-01-02 03', /a datetime like/],
    ['2025-01-02Z', /a datetime like/],
    ['2025-01-02 03:04:05.', /a datetime like/],
    ['2025-01-02 03:04:05.1234567890', /a datetime like/],
    ['2025-01-02 03:04:05 JST', /a datetime like/],
    ['2025-01-02 03:04:05+9', /a datetime like/],
    ['2025/01/02', /a datetime like/],
    ['２０２５-01-02', /a datetime like/],
    ['2025-01-02 03:04:05Z\n2025', /a datetime like/],
    ['1735787045', /a datetime like/],
    ['x'.repeat(100_000), /a datetime like/],
  ]
  for (const [text, expected] of table) {
    const fault = parseDatetime(text, 0)
    if (typeof fault === 'bigint') t.fail(`${text} was read as ${fault}`)
    else {
      t.match(fault.expected, expected, text.slice(0, 40))
      t.ok(fault.found.length <= 65 && text.startsWith(fault.found.replace('…', '')), 'what was found')
    }
  }
})

t.test('property: parseDatetime never throws', async () => {
  const near = fc
    .array(fc.constantFrom(...'0123456789-:.+ TZ'), { maxLength: 40 })
    .map((parts) => parts.join(''))
  fc.assert(
    fc.property(fc.oneof(near, fc.string()), (text) => {
      const found = parseDatetime(text, 0)
      return typeof found === 'bigint' || typeof found.expected === 'string'
    }),
    { numRuns: 2000 },
  )
})

t.test('offsets: read and printed', async (t) => {
  const table: [text: string, minutes: number | undefined][] = [
    ['Z', 0],
    ['z', 0],
    ['+09', 540],
    ['+0900', 540],
    ['+09:00', 540],
    ['-03:30', -210],
    ['+18:00', 1080],
    ['-18:00', -1080],
    ['+18:01', undefined],
    ['+09:60', undefined],
    ['09:00', undefined],
    ['+9', undefined],
    ['', undefined],
    ['+09:00 ', undefined],
  ]
  for (const [text, minutes] of table) t.equal(parseOffset(text), minutes, text)
  t.equal(formatOffset(-210), '-03:30')
  t.equal(formatOffset(0), '+00:00')
})

t.test('property: offsets read back what is printed', async () => {
  fc.assert(fc.property(offset, (minutes) => parseOffset(formatOffset(minutes)) === minutes))
})

t.test('datetime: the wire forms', async (t) => {
  const us = parseDatetime('2025-01-02 03:04:05.678901+09:00', 0)
  if (typeof us !== 'bigint') return t.fail('not read')
  t.same(datetimeObject(us, TOKYO_MIN), { _type: 'datetime', val: '2025-01-02T03:04:05.678901+09:00' })
  t.equal(formatDatetimeShort(us, TOKYO_MIN), '2025-01-02T03:04:05.678901+09:00')
  t.equal(
    formatDatetimeShort(us - 678_901n, TOKYO_MIN),
    '2025-01-02T03:04:05+09:00',
    'no fraction when it is zero',
  )
  t.equal(formatDatetime(us - 678_901n, TOKYO_MIN), '2025-01-02T03:04:05.000000+09:00')
  t.equal(formatDatetime(Number(us), -210), '2025-01-01T14:34:05.678901-03:30', 'numbers do as well')
})
