import t from 'tap'
import { DATASET, LOADER } from '../../support/dataproc.js'
import { startGateway } from '../../support/start-gateway.js'

const MAP = '/api/v1/svcapi/jsonrpc'

t.test(
  'alter: columns are added to a table; its rows have no value of them, and citations stay as they are',
  async (t) => {
    const gateway = await startGateway(t)
    const call = async (path: string, method: string, params: object) => {
      const { body } = await gateway.call(path, method, params)
      if (body.error !== undefined) throw new Error(`${body.error.data.name}: ${body.error.message}`)
      return body.result
    }
    const fault = async (params: object) => {
      const { body } = await gateway.call(LOADER, 'loaderwebapi.alter_loader', params)
      return `${body.error?.data.name}: ${body.error?.message}`
    }
    await call(LOADER, 'loaderwebapi.register_loader', {
      ...{ data_name: 'x', record_def: { k: { udt_name: 'int4' } }, unique_columns: ['k'] },
    })
    const put = (k: number, more: object = {}) =>
      call(LOADER, 'loaderwebapi.add_record', {
        ...{ data_name: 'x', options: { if_exists: 'override' } },
        record_set: [{ type: 'Feature', geometry: null, properties: { k, ...more } }],
      })
    const rows = async (columns: string[], more: object = {}) => {
      const properties = { table: 'x', columns, order: 'k', ...more }
      const { features } = await call(MAP, 'mapserv.eventdata', {
        type: 'Feature',
        geometry: null,
        properties,
      })
      return features.map((one: { properties: Record<string, unknown> }) =>
        columns.map((name) => one.properties[name]),
      )
    }
    await put(1)
    await put(2)
    const cite = (label: string) =>
      call(DATASET, 'dataset.citation.create', { citation_label: label, source: 'x' })
    const cited = (label: string) => call(DATASET, 'dataset.record.get', { citation_label: label })
    await cite('before')
    const before = await cited('before')

    const entry = await call(LOADER, 'loaderwebapi.alter_loader', {
      ...{
        data_name: 'x',
        add_columns: { note: { udt_name: 'text' }, big: { udt_name: 'float8', is_nullable: true } },
      },
    })
    t.match(entry.record_def, {
      k: { position: 4 },
      note: { position: 5, is_nullable: 'YES' },
      big: { position: 6 },
    })
    t.same(await rows(['k', 'note', 'big']), [
      [1, null, null],
      [2, null, null],
    ])
    await call(LOADER, 'loaderwebapi.alter_loader', {
      ...{ data_name: 'x', add_columns: { secret: { udt_name: 'text', need_crypto: true } } },
    })
    await put(1, { secret: 'hidden' })
    t.same(await rows(['k', 'secret']), [
      [1, 'hidden'],
      [2, null],
    ])
    await put(1)
    await put(2, { note: 'two', big: 0.5 })
    await put(3, { note: 'three' })
    t.same(await rows(['k', 'note', 'big']), [
      [1, null, null],
      [2, 'two', 0.5],
      [3, 'three', null],
    ])
    t.same(await rows(['k'], { conds: { '=': ['note', 'two'] } }), [[2]])
    t.same(await cited('before'), before, 'as it was cited')
    await cite('after')
    const after = JSON.stringify(await cited('after'))
    await put(3, { note: 'changed' })
    t.equal(JSON.stringify(await cited('after')), after, 'former values of the new columns are kept')
    t.match(after, /three/)
    t.notMatch(JSON.stringify(before), /note|two/)

    t.match(await fault({ data_name: 'x', add_columns: {} }), /^INVALID_PARAMS.*found no column/)
    t.match(
      await fault({ data_name: 'x', add_columns: { NOTE: { udt_name: 'text' } } }),
      /differs from the column note/,
    )
    t.match(
      await fault({ data_name: 'x', add_columns: { location: { udt_name: 'text' } } }),
      /reserved column location/,
    )
    t.match(
      await fault({ data_name: 'x', add_columns: { a: { udt_name: 'text', is_nullable: false } } }),
      /expected true/,
    )
    t.match(
      await fault({ data_name: 'x', add_columns: { a: { udt_name: 'text', column_default: 'x' } } }),
      /found a default/,
    )
    t.match(
      await fault({ data_name: 'x', add_columns: { a: { udt_name: 'words' } } }),
      /add_columns\.a\.udt_name/,
    )
    t.match(await fault({ data_name: 'y', add_columns: { a: { udt_name: 'text' } } }), /^UNKNOWN_TABLE/)
    const many = Object.fromEntries(Array.from({ length: 998 }, (_, at) => [`c${at}`, { udt_name: 'int2' }]))
    t.match(await fault({ data_name: 'x', add_columns: many }), /found 1005 columns.*at most 1000/)
    const files = {
      ...{ udt_name: 'file', file_name_column: 'n', file_type_column: 't', file_prefixid_column: 'p' },
      ...{ file_pathid_column: 'i', file_relativepath_property: 'r' },
    }
    const text = { udt_name: 'text' }
    t.match(
      await fault({
        data_name: 'x',
        add_columns: { a: files, n: text, t: text, p: { udt_name: 'int4' }, i: text },
      }),
      /found file/,
    )
    t.equal((await rows(['k'])).length, 3, 'nothing was changed')
  },
)

t.test('alter: a dataset keeps its citations and finds new places', async (t) => {
  const gateway = await startGateway(t)
  const call = async (method: string, params: object) => {
    const { body } = await gateway.call(DATASET, `dataset.${method}`, params)
    return body.error === undefined ? body.result : `${body.error.data.name}: ${body.error.message}`
  }
  await call('create', {
    dataset_name: 'd',
    columns: [
      { column_name: 'id', data_type: 'bigint' },
      { column_name: 'v', data_type: 'text', nullable: true },
    ],
    key_columns: ['id'],
  })
  const put = (records: unknown[]) =>
    call('record.put', { dataset_name: 'd', records, on_conflict: 'update' })
  await put([
    [1, 'one'],
    [2, 'two'],
  ])
  await call('citation.create', { citation_label: 'c', source: 'd' })
  const read = async (label: string) => JSON.stringify(await call('record.get', { citation_label: label }))
  const before = await read('c')
  const add_columns = [
    { column_name: 'place', data_type: 'geometry(Point,4326)' },
    { column_name: 'n', data_type: 'numeric(10,2)', nullable: true },
  ]
  t.match(await call('alter', { dataset_name: 'd', add_columns }), { short_form: 'd' })
  t.match(await call('get_columns', { dataset_label: 'd' }), [
    ...[
      { column_name: 'id' },
      { column_name: 'v' },
      { column_name: 'place', nullable: true },
      { column_name: 'n' },
    ],
  ])
  const place = { type: 'Point', coordinates: [139, 35] }
  t.equal(
    await put([
      [2, 'zwei', place, '1.50'],
      [3, null, null, null],
    ]),
    2,
  )
  t.equal(await read('c'), before)
  const inside = {
    intersects: [
      'place',
      {
        type: 'Polygon',
        coordinates: [
          [
            [138, 34],
            [140, 34],
            [140, 36],
            [138, 36],
            [138, 34],
          ],
        ],
      },
    ],
  }
  await call('citation.create', { citation_label: 'later', source: 'd' })
  t.match(JSON.stringify(await call('record.get', { citation_label: 'later', condition: inside })), /zwei/)
  const later = await read('later')
  await put([[2, 'deux', null, null]])
  t.equal(await read('later'), later)
  t.match(later, /zwei/)

  t.match(
    await call('alter', { dataset_name: 'd', add_columns: [{ column_name: 'V', data_type: 'text' }] }),
    /differs from the column v/,
  )
  const fixed = [{ column_name: 'w', data_type: 'text', nullable: false }]
  t.match(await call('alter', { dataset_name: 'd', add_columns: fixed }), /\$\.add_columns\[0\]\.nullable/)
  t.match(
    await call('alter', { dataset_name: 'd', add_columns: [{ column_name: 'w', data_type: 'words' }] }),
    /data_type/,
  )
  t.match(await call('alter', { dataset_name: 'e', add_columns }), /^UNKNOWN_DATASET/)
  const many = Array.from({ length: 500 }, (_, at) => ({ column_name: `c${at}`, data_type: 'text' }))
  t.match(await call('alter', { dataset_name: 'd', add_columns: many }), /found 504 columns/)
})
