import t from 'tap'
import { isFault, type ValueRules } from '../../../src/storage/columns/column-type.js'
import { LOADER_TYPES, typeOf, UDT_NAMES, type UdtName } from '../../../src/storage/columns/column-types.js'
import { timetzSortKey } from '../../../src/storage/columns/time-types.js'

const ENV = { timeZoneMin: 540, nowUs: 1_735_787_045_678_901n } // 2025-01-02T03:04:05.678901Z
const ANY: ValueRules = { length: null, srid: 4326 }

/** What is read, and how that prints. */
const GOOD: [UdtName, unknown, unknown, Partial<ValueRules>?][] = [
  ['int2', 32_767, 32_767],
  ['int2', '-32768', -32_768],
  ['int4', ' 42 ', 42],
  ['int4', -0, 0],
  ['int4', 1e3, 1000],
  ['int8', 9_007_199_254_740_991, 9_007_199_254_740_991],
  ['int8', '9223372036854775807', '9223372036854775807'],
  ['int8', '-9223372036854775808', '-9223372036854775808'],
  ['int8', '9007199254740993', '9007199254740993'],
  ['int8', '+17', 17],
  ['float8', 0.1, 0.1],
  ['float8', '1e-300', 1e-300],
  ['float8', '.5', 0.5],
  ['float8', 'nan', 'NaN'],
  ['float8', '-inf', '-Infinity'],
  ['float8', 'Infinity', 'Infinity'],
  ['float8', -0, 0],
  ['float8', '-0.0', 0],
  ['float4', -0, 0],
  ['float4', 0.1, 0.1],
  ['float4', 16_777_217, 16_777_216],
  ['float4', 3.4028234e38, 3.4028235e38],
  ['float4', 1000.00006, 1000.00006], // as many digits as a single can need
  ['bool', true, true],
  ['bool', 'off', false],
  ['bool', 'T', true],
  ['text', '', ''],
  ['text', '𝒳é日', '𝒳é日'],
  ['varchar', '日本語', '日本語', { length: 3 }],
  ['varchar', '𝒳𝒳𝒳', '𝒳𝒳𝒳', { length: 3 }],
  ['varchar', 'abc   ', 'abc', { length: 3 }],
  ['varchar', 'ab  ', 'ab ', { length: 3 }],
  ['bpchar', 'ab', 'ab   ', { length: 5 }],
  ['bpchar', '𝒳', '𝒳 ', { length: 2 }],
  ['bpchar', 'ab  ', 'ab  '],
  ['bytea', 'AAEC', 'AAEC'],
  ['bytea', '', ''],
  ['raster', '/w==', '/w=='],
  ['date', '0001-01-01', '0001-01-01'],
  ['date', '9999-12-31', '9999-12-31'],
  ['date', '2024-02-29', '2024-02-29'],
  ['date', '2025-01-02 23:59:59+09', '2025-01-02'],
  ['date', { _type: 'datetime', val: '2025-01-02T00:00:00.000000+09:00' }, '2025-01-02'],
  ['date', 'now()', '2025-01-02'],
  ['date', '20250102', '2025-01-02'],
  ['date', '2025-1-2', '2025-01-02'],
  ['date', '2025/01/02', '2025-01-02'],
  ['date', '20250102T030405', '2025-01-02'],
  ['date', 'infinity', 'infinity'],
  ['date', '-Infinity', '-infinity'],
  ['date', 'epoch', '1970-01-01'],
  ['time', '3:04', '03:04:00'],
  ['time', '03:04:05.678901', '03:04:05.678901'],
  ['time', '03:04:05.1234567', '03:04:05.123457'],
  ['time', '24:00:00', '24:00:00'],
  ['time', '23:59:59.9999999', '24:00:00'],
  ['time', '3:4:5', '03:04:05'],
  ['time', '030405.5', '03:04:05.5'],
  ['time', '03:04 PM', '15:04:00'],
  ['time', '12:04am', '00:04:00'],
  ['time', '23:59:60', '24:00:00'],
  ['time', '03:04:60.5', '03:05:00.5'],
  ['time', '03:04:05+09', '03:04:05'],
  ['time', 'now()', '12:04:05.678901'],
  ['timetz', '03:04:05Z', '03:04:05+00:00'],
  ['timetz', '03:04:05', '03:04:05+09:00'],
  ['timetz', '03:04:05.5-0330', '03:04:05.5-03:30'],
  ['timetz', '3:4:5+9', '03:04:05+09:00'],
  ['timetz', '030405-08', '03:04:05-08:00'],
  ['timetz', '23:59:60 UTC', '24:00:00+00:00'],
  ['timetz', 'now()', '12:04:05.678901+09:00'],
  ['timestamp', '2025-01-02 03:04:05+05', '2025-01-02T03:04:05'],
  ['timestamp', '2025-01-02', '2025-01-02T00:00:00'],
  ['timestamp', '0001-01-01T00:00:00', '0001-01-01T00:00:00'],
  ['timestamp', '9999-12-31 23:59:59.999999', '9999-12-31T23:59:59.999999'],
  ['timestamp', '20250102', '2025-01-02T00:00:00'],
  ['timestamp', '20250102T030405.25', '2025-01-02T03:04:05.250000'],
  ['timestamp', '2025-1-2 3:4:5', '2025-01-02T03:04:05'],
  ['timestamp', '2025-01-02 03:04:60', '2025-01-02T03:05:00'],
  ['timestamp', '2025-12-31 24:00:00', '2026-01-01T00:00:00'],
  ['timestamp', 'infinity', 'infinity'],
  ['timestamp', '-infinity', '-infinity'],
  ['timestamp', 'epoch', '1970-01-01T00:00:00'],
  ['timestamp', 'now()', '2025-01-02T12:04:05.678901'],
  ['timestamptz', '2025-01-02 03:04:05', '2025-01-02T03:04:05+09:00'],
  ['timestamptz', '2025-01-02T03:04:05Z', '2025-01-02T12:04:05+09:00'],
  ['timestamptz', '2025-01-02T03:04:05.5+0530', '2025-01-02T06:34:05.500000+09:00'],
  ['timestamptz', '0001-01-01 09:00:00+09', '0001-01-01T09:00:00+09:00'],
  ['timestamptz', '9999-12-31T23:59:59.999999Z', '9999-12-31T23:59:59.999999+00:00'],
  ['timestamptz', 'now()', '2025-01-02T12:04:05.678901+09:00'],
  ['timestamptz', 'infinity', 'infinity'],
  ['timestamptz', ' +Infinity ', 'infinity'],
  ['timestamptz', { _type: 'datetime', val: '-infinity' }, '-infinity'],
  ['timestamptz', '20250102', '2025-01-02T00:00:00+09:00'],
  ['timestamptz', '20250102T030405Z', '2025-01-02T12:04:05+09:00'],
  ['timestamptz', '2025-1-2 3:4:5+9', '2025-01-02T03:04:05+09:00'],
  ['timestamptz', '2025-01-02 3:04 PM -0330', '2025-01-03T03:34:00+09:00'],
  ['timestamptz', '2016-12-31 23:59:60Z', '2017-01-01T09:00:00+09:00'],
  ['timestamptz', '2025-01-02 24:00:00', '2025-01-03T00:00:00+09:00'],
  ['timestamptz', 'epoch', '1970-01-01T09:00:00+09:00'],
  ['geometry', 'POINT EMPTY', { type: 'Point', coordinates: [] }],
  ['geometry', { type: 'Point', coordinates: [] }, { type: 'Point', coordinates: [] }],
  ['geometry', '0101000000000000000000F87F000000000000F87F', { type: 'Point', coordinates: [] }],
  ['geometry', { type: 'Point', coordinates: [1, 2, 3] }, { type: 'Point', coordinates: [1, 2, 3] }],
  ['geometry', 'POINT(1 2)', { type: 'Point', coordinates: [1, 2] }],
  ['geometry', 'SRID=0;POINT (1 2)', { type: 'Point', coordinates: [1, 2] }],
  ['geometry', 'SRID=3857;POINT (1000 2)', { type: 'Point', coordinates: [1000, 2] }, { srid: 3857 }],
  ['geometry', 'SRID=4326;POINT Z (1 2 3)', { type: 'Point', coordinates: [1, 2, 3] }],
  ['geometry', '0101000000000000000000F03F0000000000000040', { type: 'Point', coordinates: [1, 2] }],
  ['geometry', '{"type":"Point","coordinates":[1,2]}', { type: 'Point', coordinates: [1, 2] }],
  [
    'geometry',
    { type: 'Point', coordinates: [1e6, 2e6] },
    { type: 'Point', coordinates: [1e6, 2e6] },
    { srid: 3857 },
  ],
]

/** What is refused; the expectation is matched against `expected`. */
const BAD: [UdtName, unknown, RegExp, Partial<ValueRules>?][] = [
  ['int2', 32_768, /-32768 to 32767/],
  ['int2', '-32769', /-32768 to 32767/],
  ['int4', 1.5, /whole number/],
  ['int4', 2_147_483_648, /2147483647/],
  ['int4', '1.5', /whole number/],
  ['int4', '', /whole number/],
  ['int4', true, /whole number/],
  ['int4', [1], /whole number/],
  ['int8', 9_007_199_254_740_992, /a whole number from/],
  ['int8', '9223372036854775808', /9223372036854775807/],
  ['int8', '0x10', /whole number/],
  ['float8', '-0.1e-400', /double precision/],
  ['timestamptz', '', /a datetime/],
  ['float8', Number.POSITIVE_INFINITY, /double precision/],
  ['float8', 'abc', /double precision/],
  ['float8', '1e999', /double precision/],
  ['float8', '', /double precision/],
  ['float8', {}, /double precision/],
  ['float4', 1e39, /single precision/],
  ['float4', 1e-50, /single precision/],
  ['bool', 1, /true or false/],
  ['bool', 'maybe', /true or false/],
  ['text', 5, /a string/],
  ['text', 'a\0b', /without it/],
  ['text', 'a\ud800b', /whole characters/],
  ['text', 'abcd', /at most 3/, { length: 3 }],
  ['text', 'abc ', /at most 3/, { length: 3 }],
  ['varchar', 'abcd', /at most 3/, { length: 3 }],
  ['varchar', '𝒳𝒳𝒳𝒳', /at most 3/, { length: 3 }],
  ['bpchar', 'abcd', /at most 3/, { length: 3 }],
  ['bytea', 'AAE', /groups of 4/],
  ['bytea', 'AA=A', /base64/],
  ['bytea', 'AAEC\n', /base64/],
  ['bytea', 'AA_-', /base64/],
  ['bytea', '/x==', /base64/],
  ['bytea', 7, /base64/],
  ['bytea', 'AAEC', /at most 2/, { length: 2 }],
  ['file', 'AAEC', /at most 2/, { length: 2 }],
  ['date', '2025-02-30', /exists/],
  ['date', '2025-13-01', /exists/],
  ['date', '10000-01-01', /exists/],
  ['date', '0000-12-31', /exists/],
  ['date', '2025-01-02 25:00:00', /exists/],
  ['date', 20_250_102, /exists/],
  ['date', '20250230', /exists/],
  ['date', '2025-01/02', /exists/],
  ['date', '2025-01-02T', /exists/],
  ['date', '1/2/2025', /exists/],
  ['time', '24:00:01', /a time/],
  ['time', '03:60', /a time/],
  ['time', '03:04:61', /a time/],
  ['time', '23:59:60.5', /a time/],
  ['time', '13:04 PM', /a time/],
  ['time', 'infinity', /a time/],
  ['time', '3', /a time/],
  ['time', 30_405, /a time/],
  ['timetz', '03:04:05+19', /a time with offset/],
  ['timetz', 30_405, /a time with offset/],
  ['timestamp', '9999-12-31 23:59:59.9999999+01', /^a datetime from year 0001 to 9999$/],
  ['timestamp', 20_250_102, /a datetime/],
  ['timestamp', '2025-02-29 00:00:00', /exists/],
  ['timestamp', '2025-01-02 03:04:61', /seconds 00 to 59/],
  ['timestamp', '9999-12-31 23:59:60', /year 0001 to 9999|seconds/],
  ['timestamp', '20250102T', /a datetime/],
  ['timestamptz', '2025-01-02 03:04:61+09', /seconds 00 to 59/],
  ['timestamptz', '2025-01-02 24:00:01', /hours 00 to 23/],
  ['timestamptz', '9999-12-31 23:59:60Z', /./],
  ['timestamptz', '2025-01-02 03:04:05 JST', /a datetime/],
  ['timestamptz', '0001-01-01 00:00:00+09', /year 0001 to 9999/],
  ['timestamptz', 'inf', /a datetime/],
  ['timestamptz', 1_735_787_045, /a datetime/],
  ['timestamptz', { _type: 'date', val: '2025-01-02' }, /a datetime/],
  ['timestamptz', { _type: 'datetime', val: '2025-01-02', more: 1 }, /a datetime/],
  ['geometry', { type: 'Point', coordinates: [181, 0] }, /longitude/],
  [
    'geometry',
    {
      type: 'Polygon',
      coordinates: [
        [
          [0, 0],
          [1, 1],
          [0, 0],
        ],
      ],
    },
    /ring/,
  ],
  ['geometry', 'POINT(1)', /position/],
  ['geometry', '{"type":', /GeoJSON/],
  ['geometry', 5, /geometry/],
  ['geometry', 'SRID=3857;POINT(1 2)', /SRID 4326, or none/],
  ['geometry', '0101000020110F0000000000000000F03F0000000000000040', /SRID 4326, or none/],
  ['geometry', '002000000100000F113FF00000000000004000000000000000', /SRID 4326, or none/],
  ['geometry', 'SRID=4326;POINT(1 2)', /SRID 3857, or none/, { srid: 3857 }],
  ['geometry', 'SRID=3857;POINT(1 2)', /SRID 4326, or none/, { srid: null }],
]

t.test('column types: what each accepts and how it prints', async (t) => {
  for (const [udtName, json, back, rules] of GOOD) {
    const type = typeOf(udtName)
    const stored = type.read(json, { ...ANY, ...rules }, ENV)
    if (stored === null || isFault(stored))
      t.fail(`${udtName} ${JSON.stringify(json)}: ${JSON.stringify(stored)}`)
    else
      t.same(
        type.print(typeof stored === 'number' && type.kind === 'integer' ? BigInt(stored) : stored, ENV),
        back,
        `${udtName} ${JSON.stringify(json)}`,
      )
  }
})

t.test('column types: what each refuses, and what it expected instead', async (t) => {
  for (const [udtName, json, expected, rules] of BAD) {
    const fault = typeOf(udtName).read(json, { ...ANY, ...rules }, ENV)
    t.ok(
      isFault(fault) && expected.test(fault.expected) && fault.found !== '',
      `${udtName} ${JSON.stringify(json)}: ${JSON.stringify(fault, (_, value) => (typeof value === 'bigint' ? `${value}n` : value))}`,
    )
  }
})

t.test('column types: defaults print as PostgreSQL prints them in its catalogue', async (t) => {
  const rendered = (udtName: UdtName, text: string) => {
    const stored = typeOf(udtName).read(text, ANY, ENV)
    if (stored === null || isFault(stored)) throw new Error(`${udtName} ${text}`)
    return typeOf(udtName).renderDefault(text, stored)
  }
  t.equal(rendered('varchar', ''), "''::character varying")
  t.equal(rendered('varchar', "it's"), "'it''s'::character varying")
  t.equal(rendered('bpchar', 'a'), "'a'::bpchar")
  t.equal(rendered('text', 'a'), "'a'::text")
  t.equal(rendered('int4', '5'), '5')
  t.equal(rendered('int4', '-5'), "'-5'::integer")
  t.equal(rendered('int2', '5'), "'5'::smallint")
  t.equal(rendered('int8', '5'), "'5'::bigint")
  t.equal(rendered('float8', '1.5'), "'1.5'::double precision")
  t.equal(rendered('float4', 'NaN'), "'NaN'::real")
  t.equal(rendered('bool', 'yes'), 'true')
  t.equal(rendered('bool', 'no'), 'false')
  t.equal(rendered('date', '2025-01-02'), "'2025-01-02'::date")
  t.equal(
    rendered('timestamptz', '2025-01-02 03:04:05+09'),
    "'2025-01-02 03:04:05+09'::timestamp with time zone",
  )
  t.equal(rendered('timestamptz', 'CURRENT_TIMESTAMP'), 'now()')
  t.equal(rendered('bytea', 'AAEC'), "'\\x000102'::bytea")
  t.equal(rendered('geometry', 'POINT(1 2)'), "'0101000000000000000000F03F0000000000000040'::geometry")
})

t.test('geometry: damaged bytes are an error, not another geometry', async (t) => {
  t.throws(
    () => LOADER_TYPES.geometry.print(Uint8Array.of(1, 1, 0, 0), ENV),
    /^a stored geometry is damaged: /,
  )
})

t.test('column types: words of the information schema for every type', async (t) => {
  t.same(Object.fromEntries(UDT_NAMES.map((name) => [name, LOADER_TYPES[name].dataType])), {
    timestamptz: 'timestamp with time zone',
    timestamp: 'timestamp without time zone',
    timetz: 'time with time zone',
    time: 'time without time zone',
    date: 'date',
    int8: 'bigint',
    int4: 'integer',
    int2: 'smallint',
    float8: 'double precision',
    float4: 'real',
    varchar: 'character varying',
    bpchar: 'character',
    text: 'text',
    bool: 'boolean',
    geometry: 'USER-DEFINED',
    file: 'USER-DEFINED',
    raster: 'USER-DEFINED',
    bytea: 'bytea',
  })
})

t.test('timetz: sorts by the instant in UTC, then from east to west', async (t) => {
  const sorted = [
    '00:00:00+09:00',
    '01:00:00+09:00',
    '00:00:00+08:00',
    '16:00:00+00:00',
    '12:00:00-05:00',
    '24:00:00-18:00',
  ]
  const keys = sorted.map(timetzSortKey)
  t.same(
    [...keys].sort((a, b) => a - b),
    [...keys],
  )
  t.ok(timetzSortKey('09:00:00+09:00') < timetzSortKey('00:00:00+00:00'), 'one instant, east first')
})
