import t from 'tap'
import { csvFields } from '../../../src/ingest/mapping/csv.js'
import { flatten, parsePath, valueAt } from '../../../src/ingest/mapping/paths.js'
import { readPayload } from '../../../src/ingest/mapping/payload.js'
import { placeOf } from '../../../src/ingest/mapping/place.js'
import { boundsFault, readTime } from '../../../src/ingest/mapping/time.js'
import { levelsOf, topicTest } from '../../../src/ingest/mapping/topics.js'
import { parseExact } from '../../../src/json/exact-json.js'

t.test('topics: filters of MQTT 5, section 4.7', async (t) => {
  const cases: readonly [filter: string, topic: string, matches: boolean][] = [
    ['a/b', 'a/b', true],
    ['a/b', 'a/b/c', false],
    ['a/+', 'a/', true],
    ['a/+', 'a', false],
    ['+/b', '/b', true],
    ['#', 'a/b', true],
    ['a/#', 'a', true],
    ['a/#', 'a/b/c', true],
    ['a/#', 'ab', false],
    ['#', '$SYS/x', false],
    ['+/x', '$SYS/x', false],
    ['$SYS/#', '$SYS/x', true],
    ['$share/group/a/+', 'a/b', true],
    ['A/b', 'a/b', false],
  ]
  for (const [filter, topic, matches] of cases)
    t.equal(topicTest(filter)(topic, levelsOf(topic)), matches, `${filter} and ${topic}`)
})

t.test('paths: members, positions and quoted names; own members alone', async (t) => {
  const value = { a: { b: [{ 'x.y': 1 }, 2] }, 'mm/h': 3 }
  t.equal(valueAt(value, parsePath('a.b[0]["x.y"]')), 1)
  t.equal(valueAt(value, parsePath('a.b[1]')), 2)
  t.equal(valueAt(value, parsePath('mm/h')), 3)
  t.equal(valueAt(value, parsePath('["mm/h"]')), 3)
  for (const path of ['a.b[2]', 'a.c.d', 'a.b.length.x', 'constructor', '__proto__', 'toString.name'])
    t.equal(valueAt(value, parsePath(path)), undefined, path)
})

t.test('paths: inner objects in one level, numbers that keep their text whole', async (t) => {
  const flat = flatten(parseExact('{"a":{"b":{"c":1}},"d":[1,2],"e":9007199254740993,"n":null}'))
  t.same([...flat.keys()], ['a_b_c', 'd', 'e', 'n'])
  t.equal(JSON.stringify(flat.get('e')), '9007199254740993')
  t.equal(flatten([1]).size, 0)
  const wide = Object.fromEntries(Array.from({ length: 3000 }, (_, at) => [`m${at}`, at]))
  t.equal(flatten(wide).size, 1000)
  let deep: object = { end: 1 }
  for (let level = 0; level < 50; level++) deep = { in: deep }
  t.equal(flatten(deep).size, 1, 'deep objects stay whole')
})

t.test('csv: fields of RFC 4180', async (t) => {
  t.same(csvFields('a,b,c', ','), ['a', 'b', 'c'])
  t.same(csvFields('"a,1";"say ""x""";', ';'), ['a,1', 'say "x"', ''])
  t.same(csvFields('', ','), [''])
  t.same(csvFields('a,', ','), ['a', ''])
  t.equal(csvFields('"a', ','), undefined)
  t.equal(csvFields('"a"b,c', ','), undefined)
})

t.test('payload: JSON, CSV, number and text; what is none is named', async (t) => {
  const csv = { separator: ',', fields: ['t', 'mm'] }
  const read = (text: string | Buffer, form: Parameters<typeof readPayload>[1]) =>
    readPayload(Buffer.from(text), form, csv)
  t.same(read('{"a":1}', 'json'), { value: { a: 1 } })
  t.same(read('2026-01-01,\r\n', 'csv'), { value: { t: '2026-01-01', mm: null } })
  t.same(read(' -1.5e3 ', 'number'), { value: { value: '-1.5e3' } })
  t.same(read('on', 'text'), { value: { value: 'on' } })
  t.match(read('{"a":', 'json'), { misfit: /found "\{\\"a\\":", expected JSON/ })
  t.match(read('x', 'number'), { misfit: /found "x", expected a number/ })
  t.match(read('1,2,3', 'csv'), { misfit: /found 3 fields, expected 2: t, mm/ })
  t.match(read('1,2\n3,4', 'csv'), { misfit: /more than one line/ })
  t.match(read('"1,2', 'csv'), { misfit: /closed quotes/ })
  for (const form of ['json', 'csv', 'number', 'text'] as const)
    t.match(read(Buffer.from([0xff, 0xfe, 0]), form), { misfit: /not UTF-8/ }, form)
  t.match(read('['.repeat(100_000), 'json'), { misfit: /expected JSON/ }, 'deep nesting')
})

t.test('time: text with and without an offset, numbers by their size or unit', async (t) => {
  const us = 1_795_426_610_000_000n // 2026-11-23T09:36:50Z
  t.equal(readTime('2026-11-23T09:36:50Z', 'auto', 540), us)
  t.equal(readTime('2026-11-23T18:36:50', 'auto', 540), us)
  t.equal(readTime('2026-11-23T09:36:50.123456789Z', 'auto', 0), us + 123_457n)
  for (const [value, unit] of [
    [1_795_426_610, 'auto'],
    [1_795_426_610_000, 'auto'],
    ['1795426610000', 'auto'],
    [1_795_426_610_000_000, 'auto'],
    [parseExact('1795426610000000000'), 'auto'],
    [1_795_426_610, 's'],
    [1_795_426_610_000_000_000, 'ns'],
    [parseExact('1795426610.000'), 's'],
  ] as const)
    t.equal(readTime(value, unit, 0), us, `${JSON.stringify(value)} ${unit}`)
  for (const value of ['yesterday', '', null, true, {}, 1e30, '2026-13-01'])
    t.match(readTime(value, 'auto', 0), { misfit: /^found .*expected/ }, JSON.stringify(value))
})

t.test('time: bounds are compared with the clock of the gateway', async (t) => {
  const nowUs = 1_795_426_610_000_000
  const bounds = { maxAheadS: 60, maxAgeS: 3600 }
  t.equal(boundsFault(BigInt(nowUs), nowUs, bounds), undefined)
  t.match(boundsFault(BigInt(nowUs + 61e6), nowUs, bounds), /at most 60 s ahead/)
  t.match(boundsFault(BigInt(nowUs - 3601e6), nowUs, bounds), /at most 3600 s behind/)
  t.equal(boundsFault(0n, nowUs, { maxAheadS: null, maxAgeS: null }), undefined)
})

t.test('place: fixed, of two paths, a geometry, a device', async (t) => {
  const value = { gps: { lon: '8.5', lat: 41 }, shape: { type: 'Point', coordinates: [1, 2] } }
  const [lon, lat] = [parsePath('gps.lon'), parsePath('gps.lat')]
  t.same(placeOf({ kind: 'none' }, value, {}), { geometry: null })
  t.same(placeOf({ kind: 'fixed', position: [1, 2] }, value, {}), {
    geometry: { type: 'Point', coordinates: [1, 2] },
  })
  const two = { kind: 'lonLat', lon, lat, isRequired: false } as const
  t.same(placeOf(two, value, {}), { geometry: { type: 'Point', coordinates: [8.5, 41] } })
  t.same(placeOf(two, {}, {}), { geometry: null }, 'no fix yet')
  t.match(placeOf({ ...two, isRequired: true }, {}, {}), { misfit: /expected two numbers/ })
  t.match(placeOf(two, { gps: { lon: 'x', lat: 1 } }, {}), {
    misfit: /found "x" and 1, expected two numbers/,
  })
  t.match(placeOf(two, { gps: { lon: 1 } }, {}), { misfit: /expected two numbers/ })
  const geometry = { kind: 'geometry', path: parsePath('shape'), isRequired: true } as const
  t.same(placeOf(geometry, value, {}), { geometry: value.shape })
  t.match(placeOf(geometry, {}, {}), { misfit: /expected a geometry/ })
  t.same(placeOf({ ...geometry, isRequired: false }, {}, {}), { geometry: null })
  const device = { kind: 'device', table: 'sites', keyColumn: 'id', column: 'device' } as const
  t.same(placeOf(device, value, { device: 7 }), { table: 'sites', keyColumn: 'id', device: '7' })
  t.match(placeOf(device, value, {}), { misfit: /found nothing in device/ })
})
