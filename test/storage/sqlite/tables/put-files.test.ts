import t from 'tap'
import { rejectsWith } from '../../../support/rejects-with.js'
import { feature, openTables } from '../../../support/tables.js'

const FILE_COLUMNS = [
  { name: 'id', udtName: 'int4' as const },
  { name: 'name', udtName: 'varchar' as const },
  { name: 'type', udtName: 'varchar' as const },
  { name: 'prefix', udtName: 'int4' as const },
  { name: 'path', udtName: 'varchar' as const, length: 20 },
  {
    name: 'photo',
    udtName: 'file' as const,
    length: 4,
    file: {
      nameColumn: 'name',
      typeColumn: 'type',
      prefixIdColumn: 'prefix',
      pathIdColumn: 'path',
      relativePathProperty: 'where',
    },
  },
]

t.test('put: a file goes under its digest, and its companions are filled', async (t) => {
  const tables = openTables()
  const table = tables.register('x', FILE_COLUMNS, ['id'])
  await tables.put(table, [
    feature(null, { id: 1, photo: 'AAEC', name: 'a.jpg', type: 'image/jpeg' }),
    feature(null, { id: 2, photo: 'AAEC', name: 'b.jpg', path: 'given', prefix: 1 }),
    feature(null, { id: 3, photo: '/w==', where: 'trip/day 1/c.jpg' }),
    feature(null, { id: 4, where: 'trip/day 1/c.jpg' }),
    feature(null, { id: 5 }),
    feature(null, { id: 6, photo: null, name: 'none.jpg' }),
  ])
  const rows = (await tables.read(table)).map(({ properties: p }) => [
    p.id,
    p.name,
    p.type,
    p.prefix,
    p.path,
    p.photo,
  ])
  t.same(rows, [
    [1, 'a.jpg', 'image/jpeg', 1, 'path1', 'AAEC'],
    [2, 'b.jpg', null, 1, 'given', 'AAEC'],
    [3, 'c.jpg', null, 1, 'trip/day 1', '/w=='],
    [4, 'c.jpg', null, 1, 'trip/day 1', '/w=='],
    [5, null, null, null, null, null],
    [6, 'none.jpg', null, null, null, null],
  ])
  t.equal(tables.files.size, 2, 'the same bytes are kept once')
})

t.test('put: files that do not fit', async (t) => {
  const tables = openTables()
  const table = tables.register('x', FILE_COLUMNS, ['id'])
  const cases: [Record<string, unknown>, string, RegExp][] = [
    [{ photo: 'AAE' }, 'photo', /base64/],
    [{ photo: 'AAECAwQ=', name: 'a' }, 'photo', /5 bytes, expected at most 4/],
    [{ photo: 'AAEC' }, 'name', /the file's name/],
    [{ photo: 'AAEC', name: 'a', prefix: 2 }, 'prefix', /found 2, expected 1/],
    [{ photo: 'AAEC', where: '../a' }, 'where', /relative path/],
    [{ photo: 'AAEC', where: '/etc/a' }, 'where', /relative path/],
    [{ photo: 'AAEC', where: 'a\\b' }, 'where', /relative path/],
    [{ photo: 'AAEC', where: 5 }, 'where', /relative path/],
    [{ photo: 'AAEC', where: `${'a'.repeat(21)}/b` }, 'path', /at most 20/],
    [{ where: 'trip/none.jpg' }, 'where', /no file is stored/],
  ]
  for (const [properties, column, reason] of cases) {
    await rejectsWith(t, tables.put(table, [feature(null, { id: 1, ...properties })]), 'BAD_RECORD', {
      data: { column, reason },
    })
  }
  t.same(await tables.read(table), [])
})
