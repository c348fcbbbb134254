import type { Test } from 'tap'
import type { IfExists } from '../../../../src/storage/tables.js'
import { rejectsWith } from '../../rejects-with.js'
import { feature } from '../../tables.js'
import type { OpenTables } from './world.js'

const KEYED = [{ name: 'k', udtName: 'int4' as const }, { name: 'v' }]

/** Storing records: counters, keys, origins, faults, staged and simultaneous calls. */
export async function conformPut(t: Test, open: OpenTables): Promise<void> {
  await t.test('put: counts rows by what became of them; duplicates within the call count too', async (t) => {
    const { register, put, read, reader, changes } = await open(t)
    const table = await register('x', KEYED, ['k'])
    const rows = (...pairs: [number | null, string][]) => pairs.map(([k, v]) => feature(null, { k, v }))
    const stored = async () => (await read(table)).map(({ rowId, properties: { k, v } }) => [rowId, k, v])
    const version = () => reader.dataVersion(table)

    t.equal(await version(), 0)
    t.same(await put(table, rows([1, 'a'], [2, 'b'], [1, 'c'])), {
      upload: 3,
      duplicate: 1,
      insert: 2,
      update: 0,
    })
    t.same(await stored(), [
      [1, 1, 'a'],
      [2, 2, 'b'],
    ])
    t.equal(await version(), 1)
    const mixed = rows([1, 'd'], [3, 'e'], [3, 'f'])
    t.same(await put(table, mixed, 'override'), { upload: 3, duplicate: 2, insert: 1, update: 2 })
    t.same(await stored(), [
      [1, 1, 'd'],
      [2, 2, 'b'],
      [3, 3, 'f'],
    ])
    t.equal(await version(), 2)
    t.same(await put(table, rows([1, 'x']), 'skip'), { upload: 1, duplicate: 1, insert: 0, update: 0 })
    t.equal(await version(), 2, 'no row was changed')
    t.same(await put(table, rows([4, 'g']), 'error'), { upload: 1, duplicate: 0, insert: 1, update: 0 })
    t.same(
      await put(table, rows([null, 'h'], [null, 'i']), 'error'),
      { upload: 2, duplicate: 0, insert: 2, update: 0 },
      'a null key equals none',
    )
    t.same(await put(table, [], 'error'), { upload: 0, duplicate: 0, insert: 0, update: 0 })
    t.equal(await version(), 4)
    t.same(
      (await changes.after(table, 0, 100)).map(({ change }) => change),
      [2, 3, 5, 6, 7, 8],
    )
    t.same(
      (await stored()).map(([rowId]) => rowId),
      [1, 2, 3, 4, 5, 6],
      'no id is left out or given again',
    )
  })

  await t.test(
    'put: the first record that does not fit is named, and nothing of the call stays',
    async (t) => {
      const { register, put, read, reader, changes } = await open(t)
      const table = await register(
        'x',
        [
          { ...(KEYED[0] ?? {}), isNullable: false },
          { name: 'v', udtName: 'varchar', length: 3 },
        ],
        ['k'],
      )
      await put(table, [feature([1, 2], { k: 1, v: 'a' })])
      const before = [await read(table), await reader.dataVersion(table), await changes.last(table)]
      const bad: [unknown, string | null, RegExp][] = [
        [null, null, /found null, expected a GeoJSON Feature/],
        [feature({ type: 'Point', coordinates: [200, 0] }, { k: 9 }), 'location', /longitude/],
        [feature(null, { k: 9, unknown: 1 }), 'unknown', /unknown property/],
        [feature(null, { k: 'x' }), 'k', /whole number/],
        [feature(null, {}), 'k', /found nothing/],
        [feature(null, { k: 9, v: 'four' }), 'v', /4 characters, expected at most 3/],
        [
          feature(null, { k: 9, start_datetime: '2025-01-02', end_datetime: '2025-01-01' }),
          'end_datetime',
          /start ≤ end/,
        ],
      ]
      for (const [record, column, reason] of bad)
        for (const ifExists of ['override', 'skip'] satisfies IfExists[]) {
          const records = [
            feature([3, 4], { k: 2 }),
            feature(null, { k: 1 }),
            record,
            feature(null, { k: 3 }),
          ]
          await rejectsWith(t, put(table, records, ifExists), 'BAD_RECORD', {
            data: { index: 2, column, reason },
            message: reason,
          })
        }
      const twoFaults = [feature(null, { k: 2 }), feature(null, { k: 1 }), feature(null, { k: 'x' })]
      await rejectsWith(t, put(table, twoFaults, 'error'), 'RECORD_EXISTS', { data: { index: 1 } })
      const otherOrder = [feature(null, { k: 2 }), feature(null, { k: 'x' }), feature(null, { k: 1 })]
      await rejectsWith(t, put(table, otherOrder, 'error'), 'BAD_RECORD', { data: { index: 1 } })
      t.same([await read(table), await reader.dataVersion(table), await changes.last(table)], before)
    },
  )

  await t.test(
    'put: if_exists error refuses the call at the first key that is there, in the table or the call',
    async (t) => {
      const { register, put, read } = await open(t)
      const columns = [
        { name: 'k', udtName: 'int4' as const },
        { name: 'b', udtName: 'bytea' as const },
        { name: 'day', udtName: 'timestamp' as const, columnDefault: '2025-01-01' },
      ]
      const table = await register('x', columns, ['k', 'b', 'day'])
      await put(table, [feature(null, { k: 1, b: 'AAE=' })])
      const at = (k: number, b: string) => feature(null, { k, b })
      await rejectsWith(t, put(table, [at(2, ''), at(1, 'AAE='), at(2, '')], 'error'), 'RECORD_EXISTS', {
        data: { index: 1, unique_columns: ['k', 'b', 'day'] },
        message: /k 1, b \(2 bytes\), day "2025-01-01T00:00:00"/,
      })
      await rejectsWith(t, put(table, [at(2, ''), at(2, ''), at(1, 'AAE=')], 'error'), 'RECORD_EXISTS', {
        data: { index: 1 },
      })
      t.equal((await read(table)).length, 1)
    },
  )

  await t.test(
    'put: keys that PostgreSQL takes for equal are equal: padding, NaN, -0; others are not',
    async (t) => {
      const { register, put, values } = await open(t)
      const columns = [
        { name: 'c', udtName: 'bpchar' as const },
        { name: 'x', udtName: 'float8' as const },
        { name: 'v' },
      ]
      const table = await register('x', columns, ['c', 'x'])
      const rows = [
        ['a', 'NaN'],
        ['a  ', 'nan'],
        ['a', 0],
        ['a', -0],
        ['A', 0],
        ['', 0],
        [null, 0],
        [null, 0],
      ]
      const features = rows.map(([c, x], v) => feature(null, { c, x, v: String(v) }))
      t.same(await put(table, features, 'override'), { upload: 8, duplicate: 2, insert: 6, update: 2 })
      t.same(await values(table, 'v'), ['1', '3', '4', '5', '6', '7'])
      t.same(await values(table, 'c'), ['a  ', 'a', 'A', '', null, null], 'as they were put last')
      t.same(await put(table, [feature(null, { c: 'a     ', x: 'NaN', v: 'new' })], 'override'), {
        ...{ upload: 1, duplicate: 1, insert: 0, update: 1 },
      })
      t.equal((await values(table, 'v'))[0], 'new')
      const texts = await register('texts', [{ name: 't' }, { name: 'u' }], ['t', 'u'])
      const pairs = [
        ['a', 'b:c'],
        ['a:b', 'c'],
        ['', ''],
        ['a ', ''],
        ['a', ''],
        ['ä', ''],
        ['Ä', ''],
      ]
      t.match(
        await put(
          texts,
          pairs.map(([one, two]) => feature(null, { t: one, u: two })),
          'error',
        ),
        { insert: 7 },
      )
      t.match(await put(texts, [feature(null, { t: '', u: '' })]), { duplicate: 1 })
    },
  )

  await t.test('put: origins have keys of their own', async (t) => {
    const { register, put, values, changes } = await open(t)
    const table = await register('x', KEYED, ['k'])
    const far = '6f9619ff-8b86-4d01-b42d-00cf4fc964ff'
    await put(table, [feature(null, { k: 1, v: 'here' })])
    t.match(await put(table, [feature(null, { k: 1, v: 'far' })], 'error', { origin: far }), { insert: 1 })
    t.match(await put(table, [feature(null, { k: 1, v: 'far again' })], 'override', { origin: far }), {
      update: 1,
    })
    t.match(await put(table, [feature(null, { k: 1, v: 'empty' })], 'override', { origin: '' }), {
      update: 1,
    })
    t.same(await values(table, 'v'), ['empty', 'far again'])
    t.same(await values(table, 'v', { conds: { '=': ['_origin', far] } }), ['far again'])
    t.same(await values(table, '_origin', { columns: ['_origin'], order: '-_origin' }), [far, ''])
    t.same(
      (await changes.after(table, 0, 9)).map(({ origin }) => origin),
      [far, ''],
    )
  })

  await t.test('put: a large call is stored whole, and one that is given up leaves nothing', async (t) => {
    const { register, put, reader } = await open(t)
    const table = await register('x', KEYED, ['k'])
    const rows = (from: number, count: number) =>
      Array.from({ length: count }, (_, n) => feature([n % 90, 35], { k: from + n, v: `${n}` }))
    t.match(await put(table, rows(0, 2600)), { upload: 2600, insert: 2600 })
    t.match(await put(table, rows(1300, 2600), 'override'), { insert: 1300, update: 1300 })
    t.equal(await reader.count(table, {}), 3900)
    let checks = 0
    const throwIfCancelled = () => {
      if (++checks === 3) throw new Error('given up')
    }
    await t.rejects(put(table, rows(10_000, 2000), 'skip', { throwIfCancelled }), /given up/)
    t.equal(await reader.count(table, {}), 3900)
    await rejectsWith(
      t,
      put(table, [...rows(20_000, 1200), feature(null, { k: 0 })], 'error'),
      'RECORD_EXISTS',
      {
        data: { index: 1200 },
      },
    )
    t.equal(await reader.count(table, {}), 3900)
  })

  await t.test('put: records that are read ahead are stored as others', async (t) => {
    const { register, store, options, values } = await open(t)
    const table = await register('x', KEYED, ['k'])
    function* records(bad?: number) {
      for (let k = 0; k < 700; k++) yield feature(null, { k: k === bad ? 'x' : k, v: `${k}` })
    }
    const staged = store.stage(table, records(), options('skip'))
    t.equal(
      staged.advance(() => true),
      false,
    )
    t.equal(
      staged.advance(() => false),
      true,
    )
    t.match((await staged.put()).counters, { insert: 700 })
    t.match((await store.stage(table, records(), options('override')).put()).counters, { update: 700 })
    const faulty = store.stage(table, records(650), options('override'))
    t.equal(
      faulty.advance(() => false),
      true,
      'the fault comes in its place',
    )
    await rejectsWith(t, faulty.put(), 'BAD_RECORD', { data: { index: 650, column: 'k' } })
    t.equal((await values(table, 'k')).length, 700)
    await store.drop(table)
    const late = async () => {
      const begun = store.stage(table, records(), options('skip'))
      begun.advance(() => false)
      await begun.put()
    }
    await rejectsWith(t, late(), 'UNKNOWN_TABLE')
  })

  await t.test(
    'put: calls at the same time are each whole, and a refused one leaves the others',
    async (t) => {
      const { register, put, read, changes } = await open(t)
      const table = await register('x', KEYED, ['k'])
      const one = (n: number) => [feature(null, { k: n, v: 'a' }), feature(null, { k: n + 1, v: 'b' })]
      const calls = Array.from({ length: 40 }, (_, n) =>
        n % 10 === 9
          ? put(table, [feature(null, { k: 1000 + n }), feature(null, { k: 0 })], n === 9 ? 'error' : 'skip')
          : put(table, one(n), n % 2 === 0 ? 'override' : 'skip', { owner: `key ${n % 3}` }),
      )
      const results = await Promise.allSettled(calls)
      const rows = await read(table)
      const inserted = results.reduce(
        (sum, one) => sum + (one.status === 'fulfilled' ? one.value.insert : 0),
        0,
      )
      t.equal(rows.length, inserted)
      t.same(
        rows.map(({ rowId }) => rowId),
        rows.map((_, at) => at + 1),
      )
      const found = await changes.after(table, 0, 1000)
      t.equal(found.length, rows.length)
      t.equal(new Set(found.map(({ change }) => change)).size, rows.length)
      t.ok(results.filter(({ status }) => status === 'rejected').length <= 1)
    },
  )
}
