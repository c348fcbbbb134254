import { deepStrictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import {
  addDigest,
  createRowDigest,
  type DigestSum,
  noRows,
  sumHex,
} from '../../../../src/storage/exchange/row-digest.js'
import { createTableDigests } from '../../../../src/storage/postgres/feeds/table-digests.js'
import { readSumNumber, sumNumber } from '../../../../src/storage/postgres/tables/digest-sums.js'
import {
  beginCounting,
  countingOf,
  countRows,
  restartCounting,
} from '../../../../src/storage/postgres/tables/row-digests.js'
import type { LoaderTable } from '../../../../src/storage/tables.js'
import { noPostgres } from '../../../support/postgres.js'
import { type PostgresTables, postgresTables } from '../../../support/postgres-tables.js'
import { columnOf, feature, NOW_US } from '../../../support/tables.js'

const FAR = '6f9619ff-8b86-4d01-b42d-00cf4fc964ff'
const DAY_US = 86_400_000_000n

t.test('sums as numbers and bytes', async (t) => {
  const sum = noRows()
  addDigest(sum, `${'\x00'.repeat(31)}\xff`)
  t.same(readSumNumber(1, String(sumNumber(sum))), sum)
  t.same(readSumNumber(0, '0'), noRows())
  t.equal(sumNumber({ rows: 2, limbs: new Uint32Array([5, 0, 0, 0, 0, 0, 0, 1]) }), 5n + 2n ** 224n)
})

/** Sums of a table as its upstream is told of them. */
async function daysOf({ context }: PostgresTables, table: LoaderTable, origins: readonly string[] | null) {
  return (await createTableDigests(context).read(table, origins))?.days ?? []
}

/** Sums of all rows, straight from the rows. */
async function expected({ changes }: PostgresTables, table: LoaderTable) {
  const digest = createRowDigest(table.columns)
  const days = new Map<string, { origin: string; day: number; sum: DigestSum }>()
  for (const { origin, day, values } of await changes.after(table, 0, 100_000)) {
    const at = `${origin} ${day}`
    const known = days.get(at) ?? { origin, day, sum: noRows() }
    days.set(at, known)
    addDigest(known.sum, digest(values))
  }
  return shown(
    [...days.values()].sort((a, b) => (a.origin < b.origin ? -1 : a.origin > b.origin ? 1 : a.day - b.day)),
  )
}

function shown(days: readonly { origin: string; day: number; sum: DigestSum }[]) {
  return days.map(({ origin, day, sum }) => [origin, day, sum.rows, sumHex(sum)])
}

t.test('sums of loader tables', { skip: noPostgres() }, async (t) => {
  const open = await postgresTables(t)
  const columns = [
    { name: 'k', udtName: 'int4' as const },
    { name: 'v', udtName: 'float8' as const },
  ]

  await t.test('property: sums are those of the rows, whatever was written when', async (t) => {
    const world = await open(t)
    const { db, register, put } = world
    let run = 0
    const call = fc.record({
      kind: fc.constantFrom('skip' as const, 'override' as const, 'begin' as const, 'count' as const),
      keys: fc.array(fc.nat({ max: 9 }), { minLength: 1, maxLength: 6 }),
      day: fc.nat({ max: 2 }),
      isFar: fc.boolean(),
      limit: fc.constantFrom(1, 3, 600),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(call, { maxLength: 12 }), async (calls) => {
        const table = await register(`t${run++}`, columns, ['k'])
        for (const [at, { kind, keys, day, isFar, limit }] of calls.entries()) {
          if (kind === 'begin') await db.write((rows) => beginCounting(rows, table))
          else if (kind === 'count') await db.write((rows) => countRows(rows, table, limit))
          else {
            const env = { ...world.env, nowUs: BigInt(NOW_US) + BigInt(day) * DAY_US }
            const rows = keys.map((k) => feature(null, { k, v: at }))
            await put(table, rows, kind, { env, origin: isFar ? FAR : '' })
          }
        }
        await db.write((rows) => beginCounting(rows, table))
        await db.write((rows) => countRows(rows, table, 1000))
        deepStrictEqual(shown(await daysOf(world, table, null)), await expected(world, table))
        const counting = await countingOf(db.read, table)
        deepStrictEqual(counting?.counted, counting?.last)
      }),
      { numRuns: 25 },
    )
  })

  await t.test('sums: counted in parts, restarted, and counted again with new columns', async (t) => {
    const world = await open(t)
    const { db, register, put, addColumns } = world
    const table = await register('x', columns, ['k'])
    t.equal(await countingOf(db.read, table), undefined)
    t.equal(await db.write((rows) => countRows(rows, table, 10)), true, 'a table that is not counted')
    await put(
      table,
      Array.from({ length: 2300 }, (_, k) => feature(null, { k })),
    )
    await db.write((rows) => beginCounting(rows, table))
    t.same(await countingOf(db.read, table), { counted: 1000, last: 2300 })
    await put(table, [feature(null, { k: 5, v: 1 }), feature(null, { k: 2000, v: 1 })], 'override')
    t.equal(await db.write((rows) => countRows(rows, table, 700)), false)
    t.equal(await db.write((rows) => countRows(rows, table, 700)), true)
    t.same(shown(await daysOf(world, table, null)), await expected(world, table))
    await put(table, [feature(null, { k: 5, v: 2 }), feature(null, { k: 9999 })], 'override', { origin: FAR })
    t.same(shown(await daysOf(world, table, null)), await expected(world, table))
    t.equal((await daysOf(world, table, [''])).length, 1)
    t.equal((await daysOf(world, table, [FAR, 'other'])).length, 1)
    t.same(await daysOf(world, table, []), [])
    const grown = await addColumns(table, [columnOf({ name: 'more' })])
    t.same(await countingOf(db.read, table), { counted: 0, last: 2304 })
    t.equal(await db.write((rows) => countRows(rows, grown, 10_000)), true)
    t.same(shown(await daysOf(world, grown, null)), await expected(world, grown))
    await db.write((rows) => restartCounting(rows, grown))
    t.same(await daysOf(world, grown, null), [])
  })
})
