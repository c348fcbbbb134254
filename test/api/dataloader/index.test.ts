import { createHash } from 'node:crypto'
import t from 'tap'
import { initRecord } from '../../../src/api/dataloader/init-record.js'
import { isAppError } from '../../../src/errors.js'
import { isMarked } from '../../../src/rpc/result.js'
import { openTestLoader, type TestLoader } from '../../support/loader.js'
import { rejectsWith } from '../../support/rejects-with.js'
import { feature } from '../../support/tables.js'

const RECORD_DEF = {
  k: { udt_name: 'int4' },
  name: { udt_name: 'varchar', is_nullable: true },
  type: { udt_name: 'text', is_nullable: true },
  prefix: { udt_name: 'int2', is_nullable: true },
  path: { udt_name: 'varchar', is_nullable: true },
  photo: {
    udt_name: 'file',
    is_nullable: true,
    file_name_column: 'name',
    file_type_column: 'type',
    file_prefixid_column: 'prefix',
    file_pathid_column: 'path',
    file_relativepath_property: 'where',
  },
}

async function openSample(t: Parameters<typeof openTestLoader>[0], settings = {}): Promise<TestLoader> {
  const opened = openTestLoader(t, settings)
  await opened.call('loaderwebapi.register_loader', {
    data_name: 'x',
    record_def: RECORD_DEF,
    unique_columns: ['k'],
  })
  return opened
}

const add = (opened: TestLoader, record_set: unknown, options?: unknown) =>
  opened.call('loaderwebapi.add_record', {
    data_name: 'x',
    record_set,
    ...(options === undefined ? {} : { options }),
  })

t.test('init_record: features with every column null, in order, in a FeatureCollection', async (t) => {
  const opened = await openSample(t)
  const result = await opened.call('loaderwebapi.init_record', { data_name: 'ddc:x', record_set_size: 2 })
  const empty = {
    type: 'Feature',
    geometry: null,
    properties: {
      start_datetime: null,
      end_datetime: null,
      k: null,
      name: null,
      type: null,
      prefix: null,
      path: null,
      photo: null,
    },
  }
  t.same(result, { type: 'FeatureCollection', features: [empty, empty] })
  t.same(Object.keys(result.features[0].properties), Object.keys(empty.properties))
  t.same((await opened.call('loaderwebapi.init_record', { data_name: 'x', record_set_size: 0 })).features, [])
  const many = await opened.call('loaderwebapi.init_record', { data_name: 'x', record_set_size: 10_000 })
  t.equal(many.features.length, 10_000)
})

t.test('init_record: a large one is sent in pieces', async (t) => {
  const opened = await openSample(t)
  const result = await initRecord.call({ data_name: 'x', record_set_size: 1000 }, opened.context)
  let longest = 0
  if (!isMarked(result) || result.kind !== 'streamedJson') return t.fail('it is not streamed')
  for await (const chunk of result.chunks) longest = Math.max(longest, chunk.length)
  t.ok(longest < 20_000, `${longest}`)
})

t.test('add_record: counters and message', async (t) => {
  const opened = await openSample(t)
  t.same(await add(opened, [feature([139, 35], { k: 1 }), feature(null, { k: 2 })]), {
    count_upload: 2,
    count_duplicate: 0,
    count_insert: 2,
    count_update: 0,
    count: 2,
    message: 'Of the 2 records uploaded, 0 were overwritten and 2 were inserted.',
  })
  t.same(await add(opened, [feature(null, { k: 2 }), feature(null, { k: 3 })], { if_exists: 'override' }), {
    count_upload: 2,
    count_duplicate: 1,
    count_insert: 1,
    count_update: 1,
    count: 2,
    message: 'Of the 2 records uploaded, 1 were overwritten and 1 were inserted.',
  })
  t.match(
    await add(opened, [feature(null, { k: 2 })], {}),
    { count: 0, count_duplicate: 1 },
    'skip is the default',
  )
  t.match(await add(opened, []), { count_upload: 0, count: 0 })
})

t.test('add_record: many records go to the job worker, with the same result', async (t) => {
  const opened = await openSample(t)
  const records = Array.from({ length: 2000 }, (_, k) => feature([139 + k / 1e4, 35], { k, name: `n${k}` }))
  t.match(await add(opened, [...records, feature(null, { k: 7 })]), {
    count_upload: 2001,
    count_insert: 2000,
    count_duplicate: 1,
  })
  t.same([...new Set(opened.jobNames)], ['loader.stage', 'loader.store'])
  await rejectsWith(
    t,
    add(opened, [...records, feature(null, { k: 'x' })], { if_exists: 'override' }),
    'BAD_RECORD',
    { data: { index: 2000, column: 'k' } },
  )
  t.equal(opened.data.reader.prepare('SELECT count(*) FROM x_tbl_0').pluck().get(), 2000)
})

t.test('add_record: merges that are too large for the main thread go to the job worker', async (t) => {
  const opened = await openSample(t)
  for (let call = 0; call < 12; call++)
    await add(
      opened,
      Array.from({ length: 500 }, (_, n) => feature([139, 35], { k: call * 500 + n })),
    )
  const segments = () =>
    opened.data.reader.prepare('SELECT count(*) FROM loader_segment').pluck().get() as number
  for (let turn = 0; turn < 100 && segments() > 7; turn++)
    await new Promise((resolve) => setTimeout(resolve, 20))
  t.ok(segments() <= 7, `${segments()}`)
})

t.test('calls at once take turns', async (t) => {
  const opened = await openSample(t)
  const results = await Promise.all(
    Array.from({ length: 20 }, (_, call) =>
      add(
        opened,
        Array.from({ length: call % 2 === 0 ? 10 : 600 }, (_, n) => feature(null, { k: n })),
        { if_exists: 'override' },
      ),
    ),
  )
  t.equal(
    results.reduce((sum, { count_insert }) => sum + count_insert, 0),
    600,
  )
})

t.test('files: put with their record, read by get_file, swept when no row names them', async (t) => {
  const opened = await openSample(t)
  const bytes = Buffer.from('a photograph')
  const digest = createHash('sha256').update(bytes).digest('hex')
  const photo = bytes.toString('base64')
  await add(opened, [
    feature(null, { k: 1, photo, name: 'a.jpg', type: 'image/jpeg' }),
    feature(null, { k: 2, photo, where: 'trip/b.jpg' }),
  ])
  const { path } = opened.data.reader.prepare('SELECT path FROM x_tbl_0 WHERE k = 1').get() as {
    path: string
  }
  t.match(path, /^[0-9a-f]{16}$/)
  const get = (more: object) =>
    opened.call('getfileapi.get_file', {
      data_name: 'x',
      prefix_id: 1,
      path_id: path,
      file_name: 'a.jpg',
      ...more,
    })
  t.same(await get({}), { file_data: photo })
  t.same(await get({ path_id: 'trip', file_name: 'b.jpg' }), { file_data: photo })
  t.match(await opened.files.stat(digest), { sizeBytes: bytes.length }, 'bytes lie under their digest')
  for (const more of [
    { prefix_id: 2 },
    { path_id: 'x' },
    { file_name: 'b.jpg' },
    { path_id: '../trip' },
    { file_name: '' },
  ])
    await rejectsWith(t, get(more), 'UNKNOWN_FILE')
  await rejectsWith(t, get({ data_name: 'y' }), 'UNKNOWN_TABLE')

  t.equal(await opened.loader.sweepFiles(), 0)
  await add(opened, [feature(null, { k: 1 })], { if_exists: 'override' })
  t.equal(await opened.loader.sweepFiles(), 0, 'another row names it')
  await add(opened, [feature(null, { k: 2, photo: 'AAEC', name: 'c' })], { if_exists: 'override' })
  t.equal(await opened.loader.sweepFiles(), 1)
  t.equal(await opened.files.stat(digest), undefined)
  await rejectsWith(t, get({ path_id: 'trip', file_name: 'b.jpg' }), 'UNKNOWN_FILE')
})

t.test('files: of a call that failed no row is left, and the sweep takes the bytes', async (t) => {
  const opened = await openSample(t)
  await rejectsWith(
    t,
    add(opened, [feature(null, { k: 1, photo: 'AAEC', name: 'a' }), feature(null, { k: 'x' })]),
    'BAD_RECORD',
  )
  t.equal((await Array.fromAsync(opened.files.list())).length, 1)
  t.equal(await opened.loader.sweepFiles(), 1)
  t.same(await Array.fromAsync(opened.files.list()), [])
})

t.test('drop_loader: the entry that went; the name is free again', async (t) => {
  const opened = await openSample(t)
  await add(opened, [feature([1, 2], { k: 1 })])
  const gone = await opened.call('loaderwebapi.drop_loader', { data_name: 'x' })
  t.match(gone, { data_name: 'x', table_name: 'event.x_tbl_0', unique_columns: ['k'] })
  t.same(await opened.call('loaderwebapi.get_loader_list', {}), { data: [], data_num: 0, message: 'ok' })
  t.same(
    await opened.call('loaderwebapi.get_loader_list', []),
    await opened.call('loaderwebapi.get_loader_list', {}),
  )
  await rejectsWith(t, opened.call('loaderwebapi.drop_loader', { data_name: 'x' }), 'UNKNOWN_TABLE')
  await opened.call('loaderwebapi.register_loader', {
    data_name: 'x',
    record_def: { z: { udt_name: 'text' } },
    unique_columns: ['z'],
  })
  t.match(await add(opened, [feature(null, { z: 'a' })]), { count: 1 })
})

t.test('drop_loader: refused while a citation names the table', async (t) => {
  const opened = await openSample(t)
  const { writer, reader } = opened.data
  const { tableId } = await opened.loader.find('x')
  writer.prepare('INSERT INTO versioned_table (loader_table_id) VALUES (?)').run(tableId)
  writer
    .prepare(
      `INSERT INTO citation (short_form, long_form, created_at_us, versioned_id, tx, transaction_time_us, last_row_id, column_count)
       VALUES ('c', 'c_1', 0, 1, 1, 0, 0, 0)`,
    )
    .run()
  const before = opened.dump()
  await rejectsWith(t, opened.call('loaderwebapi.drop_loader', { data_name: 'x' }), 'TABLE_CITED', {
    data: { citations: ['c_1'] },
    message: /c_1; delete them first/,
  })
  t.same(opened.dump(), before)
  t.ok(reader.prepare('SELECT 1 FROM x_tbl_0').all())
})

/** Bad calls of each method, and the error that they get. */
const BAD: [string, unknown, string][] = [
  ['loaderwebapi.init_record', {}, 'INVALID_PARAMS'],
  ['loaderwebapi.init_record', { data_name: 'x' }, 'INVALID_PARAMS'],
  ['loaderwebapi.init_record', { data_name: 'x', record_set_size: -1 }, 'INVALID_PARAMS'],
  ['loaderwebapi.init_record', { data_name: 'x', record_set_size: 10_001 }, 'INVALID_PARAMS'],
  ['loaderwebapi.init_record', { data_name: 'x', record_set_size: 1.5 }, 'INVALID_PARAMS'],
  ['loaderwebapi.init_record', { data_name: 'x', record_set_size: '1' }, 'INVALID_PARAMS'],
  ['loaderwebapi.init_record', { data_name: 'nope', record_set_size: 1 }, 'UNKNOWN_TABLE'],
  ['loaderwebapi.add_record', {}, 'INVALID_PARAMS'],
  ['loaderwebapi.add_record', { data_name: 'x' }, 'INVALID_PARAMS'],
  ['loaderwebapi.add_record', { data_name: 'x', record_set: {} }, 'INVALID_PARAMS'],
  [
    'loaderwebapi.add_record',
    { data_name: 'x', record_set: [], options: { if_exists: 'replace' } },
    'INVALID_PARAMS',
  ],
  ['loaderwebapi.add_record', { data_name: 'x', record_set: [], options: { other: 1 } }, 'INVALID_PARAMS'],
  ['loaderwebapi.add_record', { data_name: 'x', record_set: [], options: null }, 'INVALID_PARAMS'],
  ['loaderwebapi.add_record', { data_name: 'x', record_set: [], more: 1 }, 'INVALID_PARAMS'],
  ['loaderwebapi.add_record', { data_name: 5, record_set: [] }, 'INVALID_PARAMS'],
  ['loaderwebapi.add_record', { data_name: 'y'.repeat(201), record_set: [] }, 'INVALID_PARAMS'],
  ['loaderwebapi.add_record', { data_name: 'nope', record_set: [] }, 'UNKNOWN_TABLE'],
  ['loaderwebapi.add_record', { data_name: '__proto__', record_set: [] }, 'UNKNOWN_TABLE'],
  ['loaderwebapi.add_record', { data_name: 'x', record_set: [null] }, 'BAD_RECORD'],
  [
    'loaderwebapi.add_record',
    { data_name: 'x', record_set: [feature(null, { k: 1 })], options: { if_exists: 'error' } },
    'RECORD_EXISTS',
  ],
  ['loaderwebapi.get_loader_list', { a: 1 }, 'INVALID_PARAMS'],
  ['loaderwebapi.drop_loader', {}, 'INVALID_PARAMS'],
  ['loaderwebapi.drop_loader', { data_name: 'nope' }, 'UNKNOWN_TABLE'],
  ['getfileapi.get_file', {}, 'INVALID_PARAMS'],
  ['getfileapi.get_file', { data_name: 'x', prefix_id: '1', path_id: 'p', file_name: 'f' }, 'INVALID_PARAMS'],
  ['getfileapi.get_file', { data_name: 'x', prefix_id: 1, path_id: 1, file_name: 'f' }, 'INVALID_PARAMS'],
  ['getfileapi.get_file', { data_name: 'x', prefix_id: 1, path_id: 'p', file_name: 'f' }, 'UNKNOWN_FILE'],
]

t.test('bad calls: each gets the error that the contract names, and nothing changes', async (t) => {
  const opened = await openSample(t)
  await add(opened, [feature([1, 2], { k: 1 })])
  const before = opened.dump()
  for (const [method, params, name] of BAD) {
    const error = await opened.call(method, params).catch((fault: unknown) => fault)
    t.equal(
      isAppError(error) ? error.errorName : error,
      name,
      `${method} ${JSON.stringify(params)?.slice(0, 80)}`,
    )
  }
  t.same(opened.dump(), before)
})
