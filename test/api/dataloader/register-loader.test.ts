import t from 'tap'
import { isAppError } from '../../../src/errors.js'
import { openTestLoader } from '../../support/loader.js'
import { rejectsWith } from '../../support/rejects-with.js'

const FILE = {
  udt_name: 'file',
  file_name_column: 'name',
  file_type_column: 'type',
  file_prefixid_column: 'prefix',
  file_pathid_column: 'path',
  file_relativepath_property: 'where',
}
const COMPANIONS = {
  name: { udt_name: 'varchar' },
  type: { udt_name: 'text' },
  prefix: { udt_name: 'int2' },
  path: { udt_name: 'bpchar', length: 16 },
}

const int4 = { udt_name: 'int4' }
const define = (record_def: unknown, more: object = {}) => ({
  data_name: 'x',
  record_def,
  unique_columns: ['start_datetime'],
  ...more,
})

t.test(
  'register_loader: returns schema and table name; the list describes the table in terms of the information schema',
  async (t) => {
    const loader = openTestLoader(t)
    const record_def = {
      name: { udt_name: 'varchar', length: 20, is_nullable: false, column_default: '' },
      count: { udt_name: 'int4', column_default: '5' },
      at: { udt_name: 'timestamptz', is_nullable: true, column_default: 'now()' },
      shape: { udt_name: 'geometry', srid: 3857, is_nullable: true },
      secret: { udt_name: 'text', need_crypto: true, is_nullable: true },
    }
    const params = {
      data_name: 'ddc:rain',
      schema: 'lab',
      record_def,
      unique_columns: ['name', 'start_datetime'],
    }
    t.same(await loader.call('loaderwebapi.register_loader', params), {
      schema: 'lab',
      table_name: 'rain_tbl_0',
    })
    t.same(await loader.call('loaderwebapi.get_loader_list', {}), {
      data: [
        {
          data_name: 'rain',
          table_name: 'lab.rain_tbl_0',
          unique_columns: ['name', 'start_datetime'],
          record_def: {
            start_datetime: {
              column_default: null,
              data_type: 'timestamp with time zone',
              is_nullable: 'YES',
              position: 1,
              udt_name: 'timestamptz',
            },
            end_datetime: {
              column_default: null,
              data_type: 'timestamp with time zone',
              is_nullable: 'YES',
              position: 2,
              udt_name: 'timestamptz',
            },
            location: {
              column_default: null,
              data_type: 'USER-DEFINED',
              is_nullable: 'YES',
              position: 3,
              udt_name: 'geometry',
            },
            name: {
              column_default: "''::character varying",
              data_type: 'character varying',
              is_nullable: 'NO',
              position: 4,
              udt_name: 'varchar',
            },
            count: {
              column_default: '5',
              data_type: 'integer',
              is_nullable: 'NO',
              position: 5,
              udt_name: 'int4',
            },
            at: {
              column_default: 'now()',
              data_type: 'timestamp with time zone',
              is_nullable: 'YES',
              position: 6,
              udt_name: 'timestamptz',
            },
            shape: {
              column_default: null,
              data_type: 'USER-DEFINED',
              is_nullable: 'YES',
              position: 7,
              udt_name: 'geometry',
            },
            secret: {
              column_default: null,
              data_type: 'text',
              is_nullable: 'YES',
              position: 8,
              udt_name: 'text',
            },
          },
        },
      ],
      data_num: 1,
      message: 'ok',
    })
  },
)

t.test('register_loader: names that look like trouble are ordinary names', async (t) => {
  const loader = openTestLoader(t)
  const record_def = JSON.parse(
    '{"__proto__":{"udt_name":"int4"},"constructor":{"udt_name":"text","is_nullable":true},"select":{"udt_name":"text","is_nullable":true},"日.本-語_1":{"udt_name":"text","is_nullable":true}}',
  )
  await loader.call('loaderwebapi.register_loader', {
    data_name: 'toString',
    record_def,
    unique_columns: ['__proto__'],
  })
  const list = await loader.call('loaderwebapi.get_loader_list', {})
  t.same(Object.keys(list.data[0].record_def).slice(3), ['__proto__', 'constructor', 'select', '日.本-語_1'])
  t.equal(JSON.stringify(list.data[0].record_def).includes('"__proto__":{'), true)
  const record = JSON.parse(
    '{"type":"Feature","geometry":null,"properties":{"__proto__":1,"constructor":"c"}}',
  )
  t.match(await loader.call('loaderwebapi.add_record', { data_name: 'toString', record_set: [record] }), {
    count: 1,
  })
})

t.test('register_loader: every type can be registered, with everything that it allows', async (t) => {
  const loader = openTestLoader(t)
  const types = [
    'timestamptz',
    'timestamp',
    'timetz',
    'time',
    'date',
    'int8',
    'int4',
    'int2',
    'float8',
    'float4',
    'varchar',
    'bpchar',
    'text',
    'bool',
    'geometry',
    'raster',
    'bytea',
  ]
  const columns = Object.fromEntries(types.map((udt_name) => [`c_${udt_name}`, { udt_name }]))
  await loader.call(
    'loaderwebapi.register_loader',
    define({ ...columns, ...COMPANIONS, photo: { ...FILE, length: 5, is_nullable: true } }),
  )
  await loader.call('loaderwebapi.register_loader', {
    data_name: 'none',
    record_def: {},
    unique_columns: ['location', 'start_datetime', 'end_datetime'],
  })
  const allKeys = { data_name: 'keys', record_def: columns, unique_columns: Object.keys(columns) }
  await loader.call('loaderwebapi.register_loader', allKeys)
})

/** Bad calls, each with the places that the error must name. */
const BAD: [string, unknown, string[]][] = [
  ['no params', undefined, ['$.data_name', '$.record_def', '$.unique_columns']],
  ['params of another kind', [1], ['$']],
  ['unknown param', define({}, { extra: 1 }), ['$']],
  ['record_def as array', define([]), ['$.record_def']],
  ['record_def null', define(null), ['$.record_def']],
  ['name empty', define({}, { data_name: '' }), ['$.data_name']],
  ['name with a space', define({}, { data_name: 'a b' }), ['$.data_name']],
  ['name with a quote', define({}, { data_name: 'a"b' }), ['$.data_name']],
  ['name of 64', define({}, { data_name: 'x'.repeat(64) }), ['$.data_name']],
  ['name of SQLite', define({}, { data_name: 'SQLite_x' }), ['$.data_name']],
  ['name a number', define({}, { data_name: 5 }), ['$.data_name']],
  ['schema', define({}, { schema: 'a;b' }), ['$.schema']],
  [
    'column name',
    define({ 'a b': int4, 'x\0': int4, '': int4 }),
    ['$.record_def["a b"]', '$.record_def["x\\u0000"]', '$.record_def[""]'],
  ],
  [
    'reserved columns',
    define({ start_datetime: int4, end_datetime: int4, location: int4 }),
    ['$.record_def.start_datetime', '$.record_def.end_datetime', '$.record_def.location'],
  ],
  ['reserved in another case', define({ Location: int4 }), ['$.record_def.Location']],
  ['two columns but for case', define({ temp: int4, Temp: int4 }), ['$.record_def.Temp']],
  ['column is no object', define({ a: 'int4', b: null }), ['$.record_def.a', '$.record_def.b']],
  ['type missing', define({ a: {} }), ['$.record_def.a.udt_name']],
  [
    'type unknown',
    define({ a: { udt_name: 'int16' }, b: { udt_name: 'constructor' } }),
    ['$.record_def.a.udt_name', '$.record_def.b.udt_name'],
  ],
  ['unknown key', define({ a: { ...int4, size: 5 } }), ['$.record_def.a']],
  ['nullable is no bool', define({ a: { ...int4, is_nullable: 'yes' } }), ['$.record_def.a.is_nullable']],
  ['length on int', define({ a: { ...int4, length: 5 } }), ['$.record_def.a.length']],
  ['length on raster', define({ a: { udt_name: 'raster', length: 5 } }), ['$.record_def.a.length']],
  ['length 0', define({ a: { udt_name: 'text', length: 0 } }), ['$.record_def.a.length']],
  ['length a fraction', define({ a: { udt_name: 'text', length: 1.5 } }), ['$.record_def.a.length']],
  ['length too large', define({ a: { udt_name: 'text', length: 10_485_761 } }), ['$.record_def.a.length']],
  ['srid on text', define({ a: { udt_name: 'text', srid: 4326 } }), ['$.record_def.a.srid']],
  ['srid out of range', define({ a: { udt_name: 'geometry', srid: -1 } }), ['$.record_def.a.srid']],
  [
    'default of another type',
    define({ a: { ...int4, column_default: 'x' }, b: { udt_name: 'date', column_default: '2025-02-30' } }),
    ['$.record_def.a.column_default', '$.record_def.b.column_default'],
  ],
  [
    'default too long',
    define({ a: { udt_name: 'varchar', length: 2, column_default: 'abc' } }),
    ['$.record_def.a.column_default'],
  ],
  ['default is no string', define({ a: { ...int4, column_default: 5 } }), ['$.record_def.a.column_default']],
  [
    'default of a file',
    define({ ...COMPANIONS, photo: { ...FILE, column_default: 'AAEC' } }),
    ['$.record_def.photo.column_default'],
  ],
  ['need_crypto on int', define({ a: { ...int4, need_crypto: true } }), ['$.record_def.a.need_crypto']],
  [
    'need_crypto on bpchar',
    define({ a: { udt_name: 'bpchar', need_crypto: true } }),
    ['$.record_def.a.need_crypto'],
  ],
  [
    'need_crypto with length and default',
    define({ a: { udt_name: 'text', need_crypto: true, length: 5, column_default: '' } }),
    ['$.record_def.a.length', '$.record_def.a.column_default'],
  ],
  [
    'need_crypto in the key',
    define({ a: { udt_name: 'text', need_crypto: true } }, { unique_columns: ['a'] }),
    ['$.unique_columns[0]'],
  ],
  [
    'file without its keys',
    define({ photo: { udt_name: 'file' } }),
    [
      '$.record_def.photo.file_name_column',
      '$.record_def.photo.file_type_column',
      '$.record_def.photo.file_prefixid_column',
      '$.record_def.photo.file_pathid_column',
      '$.record_def.photo.file_relativepath_property',
    ],
  ],
  [
    'companions missing',
    define({ photo: FILE }),
    [
      '$.record_def.photo.file_name_column',
      '$.record_def.photo.file_type_column',
      '$.record_def.photo.file_prefixid_column',
      '$.record_def.photo.file_pathid_column',
    ],
  ],
  [
    'companions of other types',
    define({
      name: int4,
      type: { udt_name: 'date' },
      prefix: { udt_name: 'text' },
      path: { udt_name: 'bytea' },
      photo: FILE,
    }),
    [
      '$.record_def.photo.file_name_column',
      '$.record_def.photo.file_type_column',
      '$.record_def.photo.file_prefixid_column',
      '$.record_def.photo.file_pathid_column',
    ],
  ],
  [
    'path column too short',
    define({ ...COMPANIONS, path: { udt_name: 'varchar', length: 15 }, photo: FILE }),
    ['$.record_def.photo.file_pathid_column'],
  ],
  [
    'companion encrypted',
    define({ ...COMPANIONS, name: { udt_name: 'text', need_crypto: true }, photo: FILE }),
    ['$.record_def.photo.file_name_column'],
  ],
  [
    'property is a column',
    define({ ...COMPANIONS, where: int4, photo: FILE }),
    ['$.record_def.photo.file_relativepath_property'],
  ],
  [
    'property is reserved',
    define({ ...COMPANIONS, photo: { ...FILE, file_relativepath_property: 'location' } }),
    ['$.record_def.photo.file_relativepath_property'],
  ],
  [
    'companions shared',
    define({ ...COMPANIONS, photo: FILE, other: FILE }),
    [
      '$.record_def.other.file_name_column',
      '$.record_def.other.file_type_column',
      '$.record_def.other.file_prefixid_column',
      '$.record_def.other.file_pathid_column',
      '$.record_def.other.file_relativepath_property',
    ],
  ],
  [
    'file keys elsewhere',
    define({ a: { ...int4, file_name_column: 'name' }, name: { udt_name: 'text' } }),
    ['$.record_def.a.file_name_column'],
  ],
  ['no unique column', define({}, { unique_columns: [] }), ['$.unique_columns']],
  [
    'unique columns unknown',
    define({ a: int4 }, { unique_columns: ['b', '__proto__', 'A'] }),
    ['$.unique_columns[0]', '$.unique_columns[1]', '$.unique_columns[2]'],
  ],
  ['unique column twice', define({ a: int4 }, { unique_columns: ['a', 'a'] }), ['$.unique_columns[1]']],
  ['unique column is no string', define({ a: int4 }, { unique_columns: [5] }), ['$.unique_columns[0]']],
  [
    'too many columns',
    define(Object.fromEntries(Array.from({ length: 1001 }, (_, n) => [`c${n}`, int4]))),
    ['$.record_def'],
  ],
  [
    'all at once',
    define({ a: { udt_name: 'x' }, location: int4 }, { data_name: '?', unique_columns: ['z'] }),
    ['$.data_name', '$.record_def.a.udt_name', '$.record_def.location', '$.unique_columns[0]'],
  ],
]

t.test('register_loader: bad calls name every fault, and nothing is made', async (t) => {
  const loader = openTestLoader(t)
  const before = loader.dump()
  for (const [what, params, paths] of BAD) {
    const error = await loader.call('loaderwebapi.register_loader', params).catch((fault: unknown) => fault)
    if (!isAppError(error)) {
      t.fail(`${what}: ${JSON.stringify(error)}`)
      continue
    }
    t.equal(error.errorName, 'INVALID_PARAMS', what)
    const found = (error.data.faults as { path: string }[]).map((fault) => fault.path)
    t.same([...new Set(found)].sort(), [...paths].sort(), what)
  }
  t.same(loader.dump(), before)
})

t.test('register_loader: ALREADY_REGISTERED for the same name, whatever the definition', async (t) => {
  const loader = openTestLoader(t)
  await loader.call('loaderwebapi.register_loader', define({ a: int4 }))
  const before = loader.dump()
  await rejectsWith(t, loader.call('loaderwebapi.register_loader', define({ b: int4 })), 'ALREADY_REGISTERED')
  await rejectsWith(
    t,
    loader.call('loaderwebapi.register_loader', define({ b: int4 }, { data_name: 'X', schema: 'other' })),
    'ALREADY_REGISTERED',
  )
  t.same(loader.dump(), before)
})
