import { deepStrictEqual, ok } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import type { Bbox } from '../../../../src/geo/types.js'
import { transaction } from '../../../../src/storage/sqlite/connection/database.js'
import { findCandidatesNow } from '../../../../src/storage/sqlite/tables/candidates.js'
import { indexSql } from '../../../../src/storage/sqlite/tables/ddl.js'
import {
  addEntry,
  appendPacked,
  createEntries,
  createPackBuffer,
  packEntries,
  readPacked,
  roundDown,
  roundUp,
} from '../../../../src/storage/sqlite/tables/entries.js'
import { cutRuns, RUN_ROWS } from '../../../../src/storage/sqlite/tables/runs.js'
import { mergeSegments } from '../../../../src/storage/sqlite/tables/segment-index.js'
import type { LoaderTable, Span } from '../../../../src/storage/tables.js'
import { feature, openTables, type Tables } from '../../../support/tables.js'

const DAY_US = 86_400_000_000n

interface Place {
  box: Bbox | undefined
  start: bigint | null
  end: bigint | null
}

const degree = fc.double({ min: -10, max: 10, noNaN: true })
const anyPlace: fc.Arbitrary<Place> = fc.record({
  box: fc.option(
    fc
      .tuple(degree, degree, degree, degree)
      .map(([a, b, c, d]): Bbox => [Math.min(a, c), Math.min(b, d), Math.max(a, c), Math.max(b, d)]),
    { nil: undefined, freq: 6 },
  ),
  start: fc.option(fc.bigInt({ min: 20_000n * DAY_US, max: 20_010n * DAY_US })),
  end: fc.option(fc.bigInt({ min: 20_010n * DAY_US, max: 20_020n * DAY_US })),
})

const anySpan: fc.Arbitrary<Span> = fc
  .tuple(fc.bigInt({ min: 20_000n * DAY_US, max: 20_020n * DAY_US }), fc.bigInt({ min: 1n, max: DAY_US }))
  .map(([fromUs, length]) => ({ fromUs, untilUs: fromUs + length }))

function touches(place: Place, box: Bbox | undefined, span: Span | undefined): boolean {
  const inBox =
    box === undefined ||
    (place.box !== undefined &&
      place.box[0] <= box[2] &&
      place.box[2] >= box[0] &&
      place.box[1] <= box[3] &&
      place.box[3] >= box[1])
  const inSpan =
    span === undefined ||
    ((place.start ?? -(10n ** 20n)) <= span.untilUs && (place.end ?? 10n ** 20n) >= span.fromUs)
  return inBox && inSpan
}

/** A Feature at a place; its geometry has the place's box. */
function featureAt(k: number, { box, start, end }: Place): unknown {
  const geometry =
    box === undefined
      ? null
      : {
          type: 'LineString',
          coordinates: [
            [box[0], box[1]],
            [box[2], box[3]],
          ],
        }
  return feature(geometry, { k, start_datetime: iso(start), end_datetime: iso(end) })
}

function iso(us: bigint | null): string | null {
  if (us === null) return null
  return `${new Date(Number(us / 1_000_000n) * 1000).toISOString().slice(0, 19)}.${String(us % 1_000_000n).padStart(6, '0')}Z`
}

function segments(tables: Tables): number[] {
  return tables.data.writer
    .prepare('SELECT row_count FROM loader_segment ORDER BY row_count')
    .pluck()
    .all() as number[]
}

/** Each row has at least one entry, and no search misses a row. */
function checkIndex(
  tables: Tables,
  table: LoaderTable,
  places: Place[],
  box: Bbox | undefined,
  span: Span | undefined,
): void {
  const found = findCandidatesNow(tables.data.reader, table, box, span)
  const sorted = [...found]
  deepStrictEqual(
    sorted,
    [...new Set(sorted)].sort((a, b) => a - b),
    'ascending, each once',
  )
  const expected = places.flatMap((place, at) => (touches(place, box, span) ? [at + 1] : []))
  const missed = expected.filter((id) => !sorted.includes(id))
  deepStrictEqual(missed, [])
}

t.test('property: the nearest singles are never on the wrong side', async () => {
  fc.assert(
    fc.property(fc.double({ min: -1e9, max: 1e9, noNaN: true }), (value) => {
      ok(roundDown(value) <= value && roundUp(value) >= value)
      ok(Math.fround(roundDown(value)) === roundDown(value))
      ok(Math.abs(roundUp(value) - roundDown(value)) <= Math.abs(value) * 3e-7 + 1e-44)
    }),
  )
})

t.test('property: packed entries come back as they were', async () => {
  fc.assert(
    fc.property(fc.array(anyPlace, { maxLength: 20 }), (places) => {
      const entries = createEntries(1)
      for (const [at, { box, start, end }] of places.entries())
        addEntry(entries, at + 2 ** 40, box, start, end)
      const order = Uint32Array.from(places.keys())
      const packed = packEntries(createPackBuffer(places.length), entries, order, {
        from: 0,
        to: places.length,
      })
      const back = createEntries(1)
      appendPacked(back, packed)
      for (const name of ['ids', 'minLng', 'maxLng', 'minLat', 'maxLat', 'startDay', 'endDay'] as const) {
        deepStrictEqual(
          [...back[name].subarray(0, back.count)],
          [...entries[name].subarray(0, entries.count)],
        )
      }
    }),
  )
})

t.test('packed entries: damaged bytes are refused', async (t) => {
  const entries = createEntries(8)
  addEntry(entries, 1, [0, 0, 1, 1], null, null)
  const packed = packEntries(createPackBuffer(1), entries, Uint32Array.of(0), { from: 0, to: 1 })
  t.throws(() => readPacked(packed.subarray(0, packed.length - 1)), /damaged/)
  t.throws(() => readPacked(new Uint8Array(0)), /damaged/)
  t.throws(() => readPacked(packed.with(0, 0)), /damaged/)
  t.throws(() => readPacked(packed.with(4, 2)), /damaged/)
  t.equal(readPacked(packed).count, 1)
  const shifted = new Uint8Array(packed.length + 1)
  shifted.set(packed, 1)
  t.equal(readPacked(shifted.subarray(1)).count, 1, 'bytes that are not aligned')
})

t.test(
  'runs: every entry once, none too long; time spans with many rows have runs of their own',
  async (t) => {
    const entries = createEntries(8)
    for (let n = 0; n < 2000; n++) {
      const day = BigInt(20_000 + (n % 4)) * DAY_US
      addEntry(entries, n, [n % 50, n % 40, (n % 50) + 1, (n % 40) + 1], day, day + DAY_US)
    }
    const { order, cuts } = cutRuns(entries)
    t.same(
      [...order].sort((a, b) => a - b),
      Array.from({ length: 2000 }, (_, n) => n),
    )
    for (let run = 0; run + 1 < cuts.length; run++) {
      const members = [...order.subarray(cuts[run], cuts[run + 1])]
      t.ok(members.length <= RUN_ROWS && members.length > 0)
      t.equal(new Set(members.map((n) => n % 4)).size, 1, 'one span a run')
    }
  },
)

t.test('property: no search misses a row, whatever the calls and the rows that moved', async () => {
  let run = 0
  const tables = openTables()
  const action = fc.record({
    places: fc.array(anyPlace, { minLength: 1, maxLength: 12 }),
    isOverride: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(
      fc.array(action, { minLength: 1, maxLength: 14 }),
      fc.option(fc.tuple(degree, degree), { nil: undefined }),
      fc.option(anySpan, { nil: undefined }),
      async (actions, corner, span) => {
        const table = tables.register(`t${run++}`, [{ name: 'k', udtName: 'int4' }], ['k'])
        const box: Bbox | undefined =
          corner === undefined ? undefined : [corner[0], corner[1], corner[0] + 3, corner[1] + 3]
        const places: Place[] = []
        for (const { places: given, isOverride } of actions) {
          // an override goes over the first rows, the rest is new
          const from = isOverride ? 0 : places.length
          await tables.put(
            table,
            given.map((place, at) => featureAt(from + at, place)),
            'override',
          )
          for (const [at, place] of given.entries()) places[from + at] = place
          checkIndex(tables, table, places, box, span)
        }
      },
    ),
    { numRuns: 40 },
  )
})

t.test(
  'index: small calls are merged into few segments, and a moved row is found at its place alone',
  async (t) => {
    const tables = openTables()
    const table = tables.register('x', [{ name: 'k', udtName: 'int4' }], ['k'])
    for (let k = 0; k < 100; k++) await tables.put(table, [feature([k / 10, 0], { k })])
    t.ok(segments(tables).length <= 15, `${segments(tables)}`)
    t.equal(
      segments(tables).reduce((sum, rows) => sum + rows, 0),
      100,
    )

    for (let turn = 1; turn <= 20; turn++)
      await tables.put(table, [feature([5, turn], { k: 50 })], 'override')
    const at = (box: Bbox) => [...findCandidatesNow(tables.data.reader, table, box, undefined)]
    t.ok(at([5, 20, 5, 20]).includes(51))
    const entries = segments(tables).reduce((sum, rows) => sum + rows, 0)
    t.ok(entries <= 112, `entries of places it left go with merges: ${entries}`)
  },
)

t.test('index: a large merge is left to whoever may rewrite so many rows', async (t) => {
  const tables = openTables()
  const table = tables.register('x', [{ name: 'k', udtName: 'int4' }], ['k'])
  for (let call = 0; call < 8; call++) {
    const rows = Array.from({ length: 100 }, (_, n) => feature([n / 10, call / 10], { k: call * 100 + n }))
    await tables.put(table, rows, 'skip', { maxMergeRows: 300 })
  }
  t.equal(segments(tables).length, 8)
  transaction(tables.data.writer, () => t.ok(mergeSegments(tables.data.writer, table, 1_000_000)))
  t.same(segments(tables), [800])
  const runs = tables.data.writer
    .prepare(`SELECT count(*) FROM ${indexSql(table)}`)
    .pluck()
    .get()
  t.equal(runs, Math.ceil(800 / RUN_ROWS))
  t.notOk(transaction(tables.data.writer, () => mergeSegments(tables.data.writer, table, 1_000_000)))
})

t.test('index: cells valid at an instant are found in few runs of a table of many time slots', async (t) => {
  const tables = openTables()
  const table = tables.register(
    'risk',
    [
      { name: 'k', udtName: 'int4' },
      { name: 'risk', udtName: 'int2' },
    ],
    ['k'],
  )
  for (let slot = 0; slot < 20; slot++) {
    const start = 20_000n * DAY_US + BigInt(slot) * 3_600_000_000n
    const cells = Array.from({ length: 100 }, (_, n) =>
      featureAt(slot * 100 + n, { box: [n / 100, 0, n / 100, 1], start, end: start + 3_600_000_000n }),
    )
    await tables.put(table, cells)
  }
  const span = {
    fromUs: 20_000n * DAY_US + 1_800_000_000n * 3n,
    untilUs: 20_000n * DAY_US + 1_800_000_000n * 3n + 1n,
  }
  const found = findCandidatesNow(tables.data.reader, table, undefined, span)
  t.ok(found.length >= 100 && found.length <= 300, `${found.length} of 2000`)
})

t.test('index: a merge of a run that is missing is an error that names the table and the run', async (t) => {
  const tables = openTables()
  t.teardown(() => tables.data.close())
  const table = tables.register('x', [{ name: 'k', udtName: 'int4' }], ['k'])
  for (let k = 0; k < 8; k++) await tables.put(table, [feature([k, 0], { k })], 'error', { maxMergeRows: 0 })
  const { writer } = tables.data
  writer.exec(`DELETE FROM ${indexSql(table)} WHERE run_id = 3`)
  t.throws(() => transaction(writer, () => mergeSegments(writer, table, 1000)), {
    message: 'the spatial index of x_tbl_0 is damaged: found 0 entries from run 3 on, expected 1',
  })
  t.equal(writer.prepare('SELECT count(*) FROM loader_segment').pluck().get(), 8)
})
