import { deepStrictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import type { Test } from 'tap'
import { ALL_COLUMNS, type AnyRecord, anyRecord } from '../../any-record.js'
import { rejectsWith } from '../../rejects-with.js'
import { feature } from '../../tables.js'
import type { OpenTables } from './world.js'

/** As the wire carries it: -0 is 0 there. */
const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

function recordsOf(count: number): fc.Arbitrary<AnyRecord[]> {
  return fc.tuple(...Array.from({ length: count }, (_, index) => anyRecord(index + 1)))
}

/** Values of every type. @param numRuns of the properties */
export async function conformValues(t: Test, open: OpenTables, numRuns: number): Promise<void> {
  await t.test('property: any valid record comes back as it was put', async (t) => {
    const { register, put, read } = await open(t)
    let run = 0
    await fc.assert(
      fc.asyncProperty(recordsOf(4), async (records) => {
        const table = await register(`t${run++}`, ALL_COLUMNS, ['id'])
        const counters = await put(
          table,
          records.map((record) => asJson(record.feature)),
        )
        deepStrictEqual(counters, { upload: 4, duplicate: 0, insert: 4, update: 0 })
        deepStrictEqual(
          (await read(table)).map(({ geometry, properties }) => asJson({ geometry, properties })),
          records.map(({ geometry, properties }) => asJson({ geometry, properties })),
        )
      }),
      { numRuns },
    )
  })

  await t.test('property: a record that overrides another leaves nothing of it', async (t) => {
    const { register, put, read } = await open(t)
    let run = 0
    await fc.assert(
      fc.asyncProperty(anyRecord(1), anyRecord(1), async (first, second) => {
        const table = await register(`t${run++}`, ALL_COLUMNS, ['id'])
        await put(table, [asJson(first.feature)])
        const counters = await put(table, [asJson(second.feature)], 'override')
        deepStrictEqual(counters, { upload: 1, duplicate: 1, insert: 0, update: 1 })
        deepStrictEqual(
          (await read(table)).map(({ geometry, properties }) => asJson({ geometry, properties })),
          [asJson({ geometry: second.geometry, properties: second.properties })],
        )
      }),
      { numRuns: Math.ceil(numRuns / 2) },
    )
  })

  await t.test('values: the ends of the types, and text that means something to a database', async (t) => {
    const { register, put, read } = await open(t)
    const columns = [
      { name: 'k', udtName: 'int4' as const },
      { name: 'big', udtName: 'int8' as const },
      { name: 'x', udtName: 'float8' as const },
      { name: 'single', udtName: 'float4' as const },
      { name: 'at', udtName: 'timestamptz' as const },
      { name: 'day', udtName: 'date' as const },
      { name: 'hour', udtName: 'timetz' as const },
      { name: 'note', udtName: 'text' as const },
      { name: 'raw', udtName: 'bytea' as const },
    ]
    const table = await register('x', columns, ['k'])
    const texts = [
      '',
      'NULL',
      'null',
      '"',
      '\\',
      '\\x00',
      '{a,b}',
      '{"a"}',
      ' ',
      "'",
      '\u0001',
      '\u{10ffff}',
      'a\r\nb\t',
    ]
    const rows = [
      { big: '9223372036854775807', x: 1.7976931348623157e308, single: 3.4028234663852886e38 },
      { big: '-9223372036854775808', x: 5e-324, single: 1.401298464324817e-45 },
      { x: 'NaN', single: 'Infinity', at: 'infinity', day: '-infinity', hour: '24:00:00+18:00' },
      { x: 0.1, single: 0.1, at: '0001-01-01T00:00:00Z', day: '0001-01-01', hour: '00:00:00-18:00' },
      { x: -1e-7, at: '9999-12-31T23:59:59.999999Z', day: '9999-12-31', raw: '' },
      ...texts.map((note) => ({ note, raw: Buffer.from(note).toString('base64') })),
    ]
    await put(
      table,
      rows.map((row, k) => feature(null, { k, ...row })),
    )
    const back = (await read(table)).map(({ properties }) => properties)
    t.match(back[0], { big: '9223372036854775807', x: 1.7976931348623157e308, single: 3.4028235e38 })
    t.match(back[1], { big: '-9223372036854775808', x: 5e-324, single: 1e-45 })
    t.match(back[2], {
      x: 'NaN',
      single: 'Infinity',
      at: 'infinity',
      day: '-infinity',
      hour: '24:00:00+18:00',
    })
    t.match(back[3], { x: 0.1, single: 0.1, at: '0001-01-01T09:00:00+09:00', hour: '00:00:00-18:00' })
    t.match(back[4], { x: -1e-7, at: /^9999-12-31T|^10000/, raw: '' })
    t.same(
      back.slice(5).map(({ note }) => note),
      texts,
    )
    t.same(
      back.slice(5).map(({ raw }) => Buffer.from(String(raw), 'base64').toString()),
      texts,
    )
  })

  await t.test(
    'values: out of range, or not to be held, is refused by name and changes nothing',
    async (t) => {
      const { reader, register, put, read } = await open(t)
      const columns = [
        { name: 'k', udtName: 'int4' as const },
        { name: 'small', udtName: 'int2' as const },
        { name: 'big', udtName: 'int8' as const },
        { name: 'single', udtName: 'float4' as const },
        { name: 'note', udtName: 'text' as const },
      ]
      const table = await register('x', columns, ['k'])
      await put(table, [feature(null, { k: 1 })])
      const version = await reader.dataVersion(table)
      for (const [column, value] of [
        ['k', 2 ** 31],
        ['small', 32_768],
        ['big', '9223372036854775808'],
        ['single', 3.5e38],
        ['single', 1e-50],
        ['note', 'a\0b'],
        ['note', '\ud800'],
        ['start_datetime', '10000-01-01'],
      ] as const)
        await rejectsWith(
          t,
          put(table, [feature(null, { k: 2 }), feature(null, { k: 3, [column]: value })]),
          'BAD_RECORD',
          {
            data: { index: 1, column },
          },
        )
      t.equal((await read(table)).length, 1)
      t.equal(await reader.dataVersion(table), version)
    },
  )

  await t.test('values: encrypted ones are read with their key only', async (t) => {
    const { register, put, values, changes } = await open(t)
    const table = await register(
      'x',
      [
        { name: 'k', udtName: 'int4' },
        { name: 'secret', isEncrypted: true },
      ],
      ['k'],
    )
    await put(table, [
      feature(null, { k: 1, secret: 'name of a witness' }),
      feature(null, { k: 2, secret: '' }),
      feature(null, { k: 3 }),
    ])
    t.same(await values(table, 'secret'), ['name of a witness', '', null])
    const [first] = await changes.after(table, 0, 1)
    const stored = first?.values.at(-1)
    t.ok(stored instanceof Uint8Array)
    t.notMatch(Buffer.from(stored as Uint8Array).toString('latin1'), /witness/)
  })

  await t.test('values: large ones among small ones, in order', async (t) => {
    const { register, put, read, values } = await open(t)
    const columns = [
      { name: 'k', udtName: 'int4' as const },
      { name: 'note' },
      { name: 'raw', udtName: 'bytea' as const },
    ]
    const table = await register('x', columns, ['k'])
    const sizes = [0, 300_000, 10, 100_000, 100_000, 2_000_000, 5]
    const text = (size: number) => 'ä'.repeat(size / 2)
    await put(
      table,
      sizes.map((size, k) =>
        feature(null, { k, note: text(size), raw: Buffer.alloc(size, k).toString('base64') }),
      ),
    )
    const rows = await values(table, 'k')
    t.same(
      rows,
      sizes.map((_, k) => k),
    )
    const back = await read(table, { conds: { '<>': ['k', 1] } })
    t.same(
      back.map(({ properties }) => properties.note),
      [0, 2, 3, 4, 5, 6].map((k) => text(sizes[k] ?? 0)),
    )
    t.same((await read(table, { order: '-k', limit: 1 }))[0]?.properties.note, text(5))
  })

  await t.test('values: more than the limit of a record is refused, and not read', async (t) => {
    const { register, put, read } = await open(t, { valueBytes: 1_000_000 })
    const table = await register('x', [{ name: 'k', udtName: 'int4' }, { name: 'note' }], ['k'])
    await put(table, [feature(null, { k: 1, note: 'x'.repeat(1_000_000) })])
    await rejectsWith(t, put(table, [feature(null, { k: 2, note: 'x'.repeat(1_000_001) })]), 'BAD_RECORD', {
      data: { index: 0, column: 'note' },
    })
    t.equal((await read(table)).length, 1)
  })
}
