import t from 'tap'
import { decodeWkb } from '../../../../src/geo/wkb.js'
import { readTimedCells } from '../../../../src/storage/sqlite/tables/timed-cells.js'
import type { Span } from '../../../../src/storage/tables.js'
import { openTables } from '../../../support/tables.js'

/** 2026-01-01T00:00:00Z, µs */
const NEW_YEAR_US = 1_767_225_600_000_000n
/** 9999-12-31T23:59:59.999999Z, µs: more than a double holds */
const LAST_US = 253_402_300_799_999_999n

/** Text of a time, a number of microseconds after the new year. */
const after = (us: number) => `2026-01-01T00:00:00.${String(us).padStart(6, '0')}Z`

const square = (x: number) => ({
  type: 'Polygon',
  coordinates: [[[x, 0], [x + 1, 0], [x + 1, 1], [x, 1], [x, 0]]], // biome-ignore format: ring
})

interface Row {
  readonly k: number
  readonly risk?: number | null
  readonly start_datetime: string | null
  readonly end_datetime: string | null
  readonly geometry?: object | null
}

/** Cells of a table with some rows. @returns function that reads those of a span, by their level */
async function openCells(rows: readonly Row[]) {
  const tables = openTables()
  const columns = [
    { name: 'k', udtName: 'int4' as const },
    { name: 'risk', udtName: 'int8' as const, isNullable: true },
  ]
  const table = tables.register('risk', columns, ['k'])
  await tables.put(
    table,
    rows.map(({ geometry, ...properties }, i) => ({
      type: 'Feature',
      geometry: geometry === undefined ? square(i % 100) : geometry,
      properties: { risk: properties.k, ...properties },
    })),
  )
  return (span: Span) => {
    const found: [level: number, startUs: bigint | null, endUs: bigint | null, wkb: Uint8Array][] = []
    readTimedCells(tables.data.reader, table, 'risk', span, (wkb, level, startUs, endUs) => {
      found.push([level, startUs, endUs, wkb.slice()])
    })
    return found.sort(([a], [b]) => a - b)
  }
}

t.test('readTimedCells: cells that are valid at some time of a span, both half-open', async (t) => {
  const read = await openCells([
    { k: 1, start_datetime: after(0), end_datetime: after(1000) },
    { k: 2, start_datetime: after(0), end_datetime: after(1001) },
    { k: 3, start_datetime: after(1999), end_datetime: after(5000) },
    { k: 4, start_datetime: after(2000), end_datetime: after(5000) },
    { k: 5, start_datetime: null, end_datetime: after(1001) },
    { k: 6, start_datetime: null, end_datetime: after(1000) },
    { k: 7, start_datetime: after(1999), end_datetime: null },
    { k: 8, start_datetime: after(2000), end_datetime: null },
    { k: 9, start_datetime: null, end_datetime: null },
    { k: 10, start_datetime: after(0), end_datetime: after(9000) },
  ])
  const at = (us: bigint) => NEW_YEAR_US + us
  const cells = read({ fromUs: at(1000n), untilUs: at(2000n) })
  t.same(
    cells.map(([level, startUs, endUs]) => [level, startUs, endUs]),
    [
      [2, at(0n), at(1001n)],
      [3, at(1999n), at(5000n)],
      [5, null, at(1001n)],
      [7, at(1999n), null],
      [9, null, null],
      [10, at(0n), at(9000n)],
    ],
  )
  t.same(decodeWkb(cells[0]![3]), square(1))
})

t.test('readTimedCells: rows without a level or a geometry are skipped', async (t) => {
  const read = await openCells([
    { k: 1, risk: null, start_datetime: null, end_datetime: null },
    { k: 2, geometry: null, start_datetime: null, end_datetime: null },
    { k: 3, start_datetime: null, end_datetime: null },
  ])
  t.same(
    read({ fromUs: 0n, untilUs: 1n }).map(([level]) => level),
    [3],
  )
})

t.test('readTimedCells: times up to the year 9999 exactly, rows of several pages', async (t) => {
  const last = '9999-12-31T23:59:59.999999Z'
  const count = 9000
  const read = await openCells(
    Array.from({ length: count }, (_, k) => ({ k, start_datetime: after(k), end_datetime: last })),
  )
  const cells = read({ fromUs: NEW_YEAR_US, untilUs: NEW_YEAR_US + 1_000_000n })
  t.equal(cells.length, count)
  t.ok(cells.every(([level, startUs, endUs]) => startUs === NEW_YEAR_US + BigInt(level) && endUs === LAST_US))
})

t.test('readTimedCells: an infinite start or end is an open one', async (t) => {
  const read = await openCells([
    { k: 1, start_datetime: '-infinity', end_datetime: 'infinity' },
    { k: 2, start_datetime: 'infinity', end_datetime: 'infinity' },
  ])
  t.same(
    read({ fromUs: NEW_YEAR_US, untilUs: NEW_YEAR_US + 1n }).map(([, startUs, endUs]) => [startUs, endUs]),
    [[null, null]],
  )
})

t.test('timed cells: cells of every origin count, also those with one key', async (t) => {
  const tables = openTables()
  const columns = [
    { name: 'k', udtName: 'int4' as const },
    { name: 'risk', udtName: 'int8' as const },
  ]
  const table = tables.register('risk', columns, ['k'])
  const cell = (risk: number) => ({ type: 'Feature', geometry: square(1), properties: { k: 1, risk } })
  await tables.put(table, [cell(2)])
  await tables.put(table, [cell(9)], 'override', { origin: '11111111-1111-4111-8111-111111111111' })
  const levels: number[] = []
  const always = { fromUs: NEW_YEAR_US, untilUs: NEW_YEAR_US + 1n }
  readTimedCells(tables.data.reader, table, 'risk', always, (_, level) => levels.push(level))
  t.same(levels, [2, 9])
})
