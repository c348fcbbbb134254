import fc from 'fast-check'
import t from 'tap'
import { transaction } from '../../../../src/storage/sqlite/connection/database.js'
import { dropTable } from '../../../../src/storage/sqlite/tables/catalog.js'
import { changeTimes, MAX_CHANGES } from '../../../../src/storage/sqlite/tables/changes.js'
import { feature, openTables } from '../../../support/tables.js'

const minute = (n: number) => new Date(Date.UTC(2025, 0, 1) + n * 60_000).toISOString()
const minuteUs = (n: number) => BigInt(Date.parse(minute(n))) * 1000n
const COLUMNS = [{ name: 'k', udtName: 'int4' as const }]

const row = (k: number, start: number | null, end: number | null) =>
  feature([k % 90, 0], {
    k,
    start_datetime: start === null ? null : minute(start),
    end_datetime: end === null ? null : minute(end),
  })

t.test('property: changeTimes: every instant of a row that is there, and none that never was', async (t) => {
  const instant = fc.option(fc.nat({ max: 60 }))
  const rows = fc.array(fc.tuple(fc.nat({ max: 9 }), instant, instant), { maxLength: 8 })
  const tables = openTables()
  let made = 0
  await fc.assert(
    fc.asyncProperty(fc.array(rows, { maxLength: 5 }), async (calls) => {
      const table = tables.register(`x${made++}`, COLUMNS, ['k'])
      const ever = new Set<bigint>()
      const now = new Map<number, (number | null)[]>()
      for (const call of calls) {
        const list = call.map(([k, a, b]) => {
          const [start, end] = a !== null && b !== null && a > b ? [b, a] : [a, b]
          now.set(k, [start, end])
          for (const n of [start, end]) if (n !== null) ever.add(minuteUs(n))
          return row(k, start, end)
        })
        await tables.put(table, list, 'override')
        const found = changeTimes(tables.data.reader, table) as bigint[]
        t.same(
          found,
          found.toSorted((a, b) => (a < b ? -1 : 1)),
        )
        t.ok(found.every((us) => ever.has(us)))
        t.ok([...now.values()].flat().every((n) => n === null || found.includes(minuteUs(n))))
      }
    }),
    { numRuns: 30 },
  )
})

t.test(
  'changeTimes: undefined beyond the most that are kept, whether of one call or of several',
  async (t) => {
    const tables = openTables()
    const whole = tables.register('whole', COLUMNS, ['k'])
    const parts = tables.register('parts', COLUMNS, ['k'])
    const rows = Array.from({ length: MAX_CHANGES + 1 }, (_, k) => row(k, k, null))
    await tables.put(whole, rows)
    t.equal(changeTimes(tables.data.reader, whole), undefined)
    await tables.put(parts, rows.slice(0, MAX_CHANGES))
    t.equal(changeTimes(tables.data.reader, parts)?.length, MAX_CHANGES)
    await tables.put(parts, rows.slice(MAX_CHANGES))
    t.equal(changeTimes(tables.data.reader, parts), undefined)
    await tables.put(parts, [row(-1, 0, 1)])
    t.equal(changeTimes(tables.data.reader, parts), undefined)
    const kept = tables.data.reader.prepare('SELECT count(*) FROM loader_change').pluck()
    t.equal(kept.get(), 0)
  },
)

t.test('changeTimes: a table that had rows before is read along; a dropped one leaves nothing', async (t) => {
  const tables = openTables()
  const { writer, reader } = tables.data
  const table = tables.register('x', COLUMNS, ['k'])
  await tables.put(table, [row(1, 3, 5), row(2, 4, null)])
  writer.exec('DELETE FROM loader_change; UPDATE loader_table SET change_count = -1')
  await tables.put(table, [row(3, 9, 5000)])
  t.same(changeTimes(reader, table), [3, 4, 5, 9, 5000].map(minuteUs))
  const other = tables.register('y', COLUMNS, ['k'])
  await tables.put(other, [row(1, 3, 5)])
  t.same(changeTimes(reader, other), [3, 5].map(minuteUs))
  transaction(writer, () => dropTable(writer, other))
  t.equal(reader.prepare('SELECT count(*) FROM loader_change').pluck().get(), 0)
})

t.test('changeTimes: undefined for a table from before the log that has too many, too', async (t) => {
  const tables = openTables()
  t.teardown(() => tables.data.close())
  const table = tables.register('x', [{ name: 'k', udtName: 'int4' }], ['k'])
  const { writer } = tables.data
  writer.exec(`WITH RECURSIVE n (k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < ${MAX_CHANGES})
    INSERT INTO x_tbl_0 (k, start_datetime) SELECT k, k FROM n;
    UPDATE loader_table SET change_count = -1`)
  t.equal(changeTimes(writer, table)?.length, MAX_CHANGES)
  writer.exec('INSERT INTO x_tbl_0 (k, end_datetime) VALUES (0, 0)')
  t.equal(changeTimes(writer, table), undefined)
})

t.test('changeTimes: an infinity is no change, in the log and in a scan', async (t) => {
  const tables = openTables()
  t.teardown(() => tables.data.close())
  const table = tables.register('endless', COLUMNS, ['k'])
  await tables.put(table, [
    feature([0, 0], { k: 1, start_datetime: '-infinity', end_datetime: minute(5) }),
    feature([0, 0], { k: 2, start_datetime: minute(3), end_datetime: 'infinity' }),
  ])
  const { writer } = tables.data
  t.same(changeTimes(writer, table), [minuteUs(3), minuteUs(5)])
  writer.prepare('UPDATE loader_table SET change_count = -1').run() // rows that are older than the log
  t.same(changeTimes(writer, table), [minuteUs(3), minuteUs(5)])
})
