import fc from 'fast-check'
import { formatDatetime, formatDatetimeShort, MAX_US, MIN_US } from '../../src/datetime.js'
import type { UdtName } from '../../src/storage/columns/column-types.js'
import type { Column } from '../../src/storage/tables.js'
import { anyGeometry, earthPosition } from './geometries.js'

/** A value as a caller may write it, and as it must come back. */
export interface Written {
  json: unknown
  back: unknown
}

const US_PER_DAY = 86_400_000_000n
const OFFSETS = [0, 540, 330, -210, -720, 840, 1080, -1080]

const instant = fc.oneof(
  fc.constantFrom(MIN_US, MAX_US, 0n, -1n, 253_402_300_799_999_999n),
  fc.bigInt({ min: MIN_US, max: MAX_US }),
  fc.bigInt({ min: 1_700_000_000n, max: 1_800_000_000n }).map((seconds) => seconds * 1_000_000n),
)

/** Text of an instant in one of the forms that callers use. */
function datetimeText(us: bigint): fc.Arbitrary<unknown> {
  return fc
    .record({
      offset: fc.constantFrom(...OFFSETS),
      separator: fc.constantFrom('T', ' '),
      zone: fc.constantFrom('colon', 'plain', 'short'),
      isObject: fc.boolean(),
    })
    .map(({ offset, separator, zone, isObject }) => {
      const text = formatDatetime(us, offset)
      const at = text.length - 6
      const hours = text.slice(at, at + 3)
      const minutes = text.slice(-2)
      const shortZone = minutes === '00' ? hours : hours + minutes
      const zoneText = zone === 'colon' ? text.slice(at) : zone === 'plain' ? hours + minutes : shortZone
      const whole = text.slice(0, at).replace('T', separator) + zoneText
      return isObject ? { _type: 'datetime', val: whole } : whole
    })
}

function timeText(us: number): string {
  const pad = (value: number) => String(value).padStart(2, '0')
  const second = Math.floor(us / 1e6)
  const fraction = us % 1e6
  const head = `${pad(Math.floor(second / 3600))}:${pad(Math.floor(second / 60) % 60)}:${pad(second % 60)}`
  return fraction === 0 ? head : `${head}.${String(fraction).padStart(6, '0').replace(/0+$/, '')}`
}

const inDay = fc.oneof(
  fc.constantFrom(0, 86_400_000_000, 86_399_999_999, 1),
  fc.nat({ max: 86_399_999 }).map((ms) => ms * 1000),
)
const offsetText = fc.constantFrom('+00:00', '+09:00', '-03:30', '+05:45', '-11:00')

const int8 = fc.oneof(
  fc.constantFrom(-(2n ** 63n), 2n ** 63n - 1n, 2n ** 53n, -(2n ** 53n), 2n ** 53n - 1n, 0n),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
)

function isExact(value: bigint): boolean {
  return BigInt(Number.MIN_SAFE_INTEGER) <= value && value <= BigInt(Number.MAX_SAFE_INTEGER)
}

const special = fc.constantFrom('NaN', 'Infinity', '-Infinity')

/** Characters that text can hold: everything but U+0000 and lone surrogates. */
export const anyText = fc
  .string({ unit: 'binary', maxLength: 12 })
  .map((text) => text.replaceAll('\0', '0').toWellFormed())

const base64 = fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes).toString('base64'))

const same = (json: unknown): Written => ({ json, back: json })

/** Any valid value of a type, by `udt_name`. */
export const ANY_VALUE: Record<Exclude<UdtName, 'file'>, fc.Arbitrary<Written>> = {
  timestamptz: instant.chain((us) =>
    datetimeText(us).map((json) => ({ json, back: formatDatetimeShort(us, 540) })),
  ),
  timestamp: instant.map((us) => {
    const text = formatDatetimeShort(us, 0).slice(0, -6)
    return { json: text.replace('T', ' '), back: text }
  }),
  date: instant.map((us) => same(formatDatetime((us / US_PER_DAY) * US_PER_DAY, 0).slice(0, 10))),
  time: inDay.map((us) => same(timeText(us))),
  timetz: fc.tuple(inDay, offsetText).map(([us, offset]) => same(timeText(us) + offset)),
  int8: int8.map((value) => ({
    json: isExact(value) ? Number(value) : String(value),
    back: isExact(value) ? Number(value) : String(value),
  })),
  int4: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }).map(same),
  int2: fc.oneof(fc.integer({ min: -32_768, max: 32_767 }), fc.constantFrom(-32_768, 32_767)).map(same),
  float8: fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), special).map(same),
  float4: fc.oneof(fc.float({ noNaN: true, noDefaultInfinity: true }).map(shortest), special).map(same),
  varchar: anyText.map(same),
  bpchar: anyText.map((text) => ({ json: text, back: padded(text) })),
  text: anyText.map(same),
  bool: fc.boolean().map(same),
  geometry: anyGeometry(earthPosition).map(same),
  raster: base64.map(same),
  bytea: base64.map(same),
}

/** The shortest decimal of a single: what PostgreSQL prints, and what is therefore put. */
function shortest(value: number): number {
  for (let digits = 1; digits <= 9; digits++) {
    const short = Number(value.toPrecision(digits))
    if (Math.fround(short) === value) return short
  }
  return value
}

export const BPCHAR_LENGTH = 16

function padded(text: string): string {
  return text + ' '.repeat(Math.max(0, BPCHAR_LENGTH - [...text].length))
}

/** One column of every type, named after it, and what stands beside a file. */
export const ALL_COLUMNS: Partial<Column>[] = [
  { name: 'id', udtName: 'int8', isNullable: false },
  ...(Object.keys(ANY_VALUE) as (keyof typeof ANY_VALUE)[]).map((udtName) => ({
    name: `a ${udtName}`.replace(' ', '_'),
    udtName,
    length: udtName === 'bpchar' ? BPCHAR_LENGTH : null,
    srid: udtName === 'geometry' ? 4326 : null,
  })),
  { name: 'secret', udtName: 'varchar', isEncrypted: true },
  { name: 'photo_name', udtName: 'varchar' },
  { name: 'photo_type', udtName: 'varchar' },
  { name: 'photo_prefix', udtName: 'int4' },
  { name: 'photo_path', udtName: 'varchar' },
  {
    name: 'photo',
    udtName: 'file',
    file: {
      nameColumn: 'photo_name',
      typeColumn: 'photo_type',
      prefixIdColumn: 'photo_prefix',
      pathIdColumn: 'photo_path',
      relativePathProperty: 'photo_at',
    },
  },
]

/** A Feature for a table of `ALL_COLUMNS`, and how it must come back. */
export interface AnyRecord {
  feature: { type: 'Feature'; geometry: unknown; properties: Record<string, unknown> }
  geometry: unknown
  properties: Record<string, unknown>
}

/** Any valid record; columns are given, null, or left out. @param id value of the key */
export function anyRecord(id: number): fc.Arbitrary<AnyRecord> {
  const values = fc.record(
    Object.fromEntries(
      Object.entries(ANY_VALUE).map(([udtName, value]) => [
        `a_${udtName}`,
        fc.oneof({ weight: 5, arbitrary: value }, { weight: 1, arbitrary: fc.constant(same(null)) }),
      ]),
    ),
    { requiredKeys: [], noNullPrototype: true },
  ) as fc.Arbitrary<Record<string, Written>>
  const span = fc.tuple(instant, instant).map(([a, b]) => (a < b ? [a, b] : [b, a]) as [bigint, bigint])
  return fc
    .record({
      geometry: fc.option(anyGeometry(earthPosition)),
      values,
      secret: fc.option(anyText),
      photo: fc.option(
        fc.record({ bytes: base64, name: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }) }),
      ),
      span: fc.option(
        span.chain(([a, b]) => fc.tuple(fc.constant(a), fc.constant(b), datetimeText(a), datetimeText(b))),
      ),
    })
    .map((made) => toRecord(id, made))
}

interface Made {
  geometry: unknown
  values: Record<string, Written>
  secret: string | null
  photo: { bytes: string; name: string } | null
  span: [bigint, bigint, unknown, unknown] | null
}

function toRecord(id: number, { geometry, values, secret, photo, span }: Made): AnyRecord {
  const given: Record<string, unknown> = { id, secret }
  const back: Record<string, unknown> = {
    start_datetime: span === null ? null : formatDatetimeShort(span[0], 540),
    end_datetime: span === null ? null : formatDatetimeShort(span[1], 540),
    id,
  }
  for (const udtName of Object.keys(ANY_VALUE)) {
    const value = values[`a_${udtName}`]
    if (value !== undefined) given[`a_${udtName}`] = value.json
    back[`a_${udtName}`] = value === undefined ? null : value.back
  }
  if (span !== null) Object.assign(given, { start_datetime: span[2], end_datetime: span[3] })
  if (photo !== null)
    Object.assign(given, { photo: photo.bytes, photo_name: photo.name, photo_path: `p${id}` })
  Object.assign(back, {
    secret,
    photo_name: photo?.name ?? null,
    photo_type: null,
    photo_prefix: photo === null ? null : 1,
    photo_path: photo === null ? null : `p${id}`,
    photo: photo?.bytes ?? null,
  })
  return { feature: { type: 'Feature', geometry, properties: given }, geometry, properties: back }
}
