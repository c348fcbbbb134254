import type { Test } from 'tap'
import { rejectsWith } from '../../rejects-with.js'
import { feature } from '../../tables.js'
import type { OpenTables } from './world.js'

const COLUMNS = [
  { name: 'k', udtName: 'int4' as const },
  { name: 'photo_name', udtName: 'varchar' as const },
  { name: 'photo_type', udtName: 'varchar' as const },
  { name: 'photo_prefix', udtName: 'int4' as const },
  { name: 'photo_path', udtName: 'bpchar' as const },
  {
    name: 'photo',
    udtName: 'file' as const,
    file: {
      nameColumn: 'photo_name',
      typeColumn: 'photo_type',
      prefixIdColumn: 'photo_prefix',
      pathIdColumn: 'photo_path',
      relativePathProperty: 'photo_at',
    },
  },
]

const base64 = (text: string) => Buffer.from(text).toString('base64')

/** Files of records: their bytes are kept by digest, rows have their places. */
export async function conformFiles(t: Test, open: OpenTables): Promise<void> {
  await t.test('files: bytes come back, by the row and by the place', async (t) => {
    const { register, put, values, store, files } = await open(t)
    const table = await register('x', COLUMNS, ['k'])
    const rows = [
      { k: 1, photo: base64('one'), photo_name: 'a.jpg', photo_path: 'p' },
      { k: 2, photo: base64('two'), photo_at: 'q/b.jpg' },
      { k: 3 },
      { k: 4, photo_at: 'q/b.jpg' },
      { k: 5, photo: base64('one'), photo_name: 'a.jpg', photo_path: 'r' },
    ]
    t.match(
      await put(
        table,
        rows.map((row) => feature(null, row)),
      ),
      { insert: 5 },
    )
    t.same(await values(table, 'photo'), [base64('one'), base64('two'), null, base64('two'), base64('one')])
    t.same(await values(table, 'photo_path'), ['p', 'q', null, 'q', 'r'])
    const place = { prefixId: 1, pathId: 'q', name: 'b.jpg' }
    const digest = await store.findFile(table, place)
    t.equal(Buffer.from(files.get(digest ?? '') ?? []).toString(), 'two')
    t.equal(await store.findFile(table, { ...place, pathId: 'q  ' }), digest, 'as bpchar compares')
    for (const other of [{ prefixId: 2 }, { pathId: 'x' }, { name: 'B.jpg' }, { name: 'b.jpg\0' }])
      t.equal(await store.findFile(table, { ...place, ...other }), undefined)
    const used = await store.withUsedFiles(async (digests) => new Set(digests))
    t.same([...used].sort(), [...files.keys()].sort())
  })

  await t.test('files: a path without a file, and the place of another file, are refused', async (t) => {
    const { register, put, values } = await open(t)
    const table = await register('x', COLUMNS, ['k'])
    await put(table, [feature(null, { k: 1, photo: base64('one'), photo_name: 'a', photo_path: 'p' })])
    await rejectsWith(
      t,
      put(table, [feature(null, { k: 2 }), feature(null, { k: 3, photo_at: 'p/b' })]),
      'BAD_RECORD',
      {
        data: { index: 1, column: 'photo_at' },
      },
    )
    const other = { photo: base64('two'), photo_name: 'a', photo_path: 'p' }
    await rejectsWith(t, put(table, [feature(null, { k: 2, ...other })]), 'BAD_RECORD', {
      data: { index: 0, column: 'photo_path' },
    })
    t.match(await put(table, [feature(null, { k: 1, ...other })], 'skip'), { duplicate: 1 })
    t.match(await put(table, [feature(null, { k: 1, ...other })], 'override'), { update: 1 })
    t.same(await values(table, 'photo'), [base64('two')])
  })
}
