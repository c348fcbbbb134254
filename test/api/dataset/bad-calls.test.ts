import t from 'tap'
import type { ErrorName } from '../../../src/errors.js'
import { type DatasetCalls, openDatasetCalls } from '../../support/dataset-calls.js'
import { rejectsWith } from '../../support/rejects-with.js'

/** Method, params, error, and what its message or its faults must say. */
type BadCall = [string, unknown, ErrorName, RegExp]

const column = (column_name: string, data_type = 'int') => ({ column_name, data_type })
const create = (more: object) => ({ dataset_name: 'new', columns: [column('k')], ...more })
const deep = (levels: number): unknown => (levels === 0 ? { '=': ['k', 1] } : { not: deep(levels - 1) })
const ring = (...points: number[][]) => ({ type: 'Polygon', coordinates: [points] })

const BAD_CALLS: BadCall[] = [
  ['dataset.create', {}, 'INVALID_PARAMS', /\$\.dataset_name/],
  ['dataset.create', [1], 'INVALID_PARAMS', /found an array of 1, expected an object/],
  [
    'dataset.create',
    create({ dataset_name: '' }),
    'INVALID_PARAMS',
    /\$\.dataset_name: found .*, expected 1 to 63 letters/,
  ],
  [
    'dataset.create',
    create({ dataset_name: 'a b' }),
    'INVALID_PARAMS',
    /\$\.dataset_name: found .*, expected 1 to 63 letters/,
  ],
  ['dataset.create', create({ dataset_name: 'x'.repeat(64) }), 'INVALID_PARAMS', /\$\.dataset_name/],
  ['dataset.create', create({ columns: [] }), 'INVALID_PARAMS', /\$\.columns/],
  [
    'dataset.create',
    create({ columns: Array.from({ length: 501 }, (_, at) => column(`c${at}`)) }),
    'INVALID_PARAMS',
    /\$\.columns/,
  ],
  [
    'dataset.create',
    create({ columns: [column('a', 'colour')] }),
    'INVALID_PARAMS',
    /\$\.columns\[0\]\.data_type: found "colour", expected one of int/,
  ],
  ['dataset.create', create({ columns: [column('a', 'varchar(0)')] }), 'INVALID_PARAMS', /data_type/],
  ['dataset.create', create({ columns: [column('a', 'numeric(2,3)')] }), 'INVALID_PARAMS', /data_type/],
  ['dataset.create', create({ columns: [column('a', 'geometry(Circle)')] }), 'INVALID_PARAMS', /data_type/],
  ['dataset.create', create({ columns: [column('a', 'int(4)')] }), 'INVALID_PARAMS', /data_type/],
  ['dataset.create', create({ columns: [column('a; DROP TABLE dataset')] }), 'INVALID_PARAMS', /column_name/],
  [
    'dataset.create',
    create({ columns: [column('a'), column('A')] }),
    'INVALID_PARAMS',
    /\$\.columns\[1\]\.column_name: found "A" again/,
  ],
  ['dataset.create', create({ columns: [column('_transaction_range')] }), 'INVALID_PARAMS', /reserved/],
  ['dataset.create', create({ columns: [{ ...column('a'), attnum: 1 }] }), 'INVALID_PARAMS', /attnum/],
  ['dataset.create', create({ columns: [{ ...column('a'), nullable: 'no' }] }), 'INVALID_PARAMS', /nullable/],
  ['dataset.create', create({ key_columns: ['x'] }), 'INVALID_PARAMS', /\$\.key_columns\[0\]: found "x"/],
  ['dataset.create', create({ key_columns: ['k', 'k'] }), 'INVALID_PARAMS', /\$\.key_columns\[1\].* again/],
  [
    'dataset.create',
    create({ columns: [column('g', 'geometry')], key_columns: ['g'] }),
    'INVALID_PARAMS',
    /can be compared/,
  ],
  [
    'dataset.create',
    create({ columns: [column('j', 'json')], key_columns: ['j'] }),
    'INVALID_PARAMS',
    /can be compared/,
  ],
  [
    'dataset.create',
    create({ columns: [{ ...column('k'), nullable: true }], key_columns: ['k'] }),
    'INVALID_PARAMS',
    /nullable/,
  ],
  ['dataset.create', create({ owner: 'me' }), 'INVALID_PARAMS', /owner/],
  ['dataset.create', create({ dataset_name: 'd' }), 'ALREADY_EXISTS', /The dataset d already exists/],
  ['dataset.create', create({ dataset_name: 'ddc:d' }), 'ALREADY_EXISTS', /The dataset d already exists/],

  ['dataset.delete', {}, 'INVALID_PARAMS', /\$\.dataset_name/],
  ['dataset.delete', { dataset_name: 7 }, 'INVALID_PARAMS', /\$\.dataset_name/],
  ['dataset.delete', { dataset_name: 'D' }, 'UNKNOWN_DATASET', /named "D"/],
  ['dataset.delete', { dataset_name: 'c' }, 'UNKNOWN_DATASET', /named "c"/],
  ['dataset.delete', { dataset_name: "d' OR '1'='1" }, 'UNKNOWN_DATASET', /named/],

  ['dataset.get_columns', {}, 'INVALID_PARAMS', /\$\.dataset_label/],
  ['dataset.get_columns', { dataset_label: 'nobody' }, 'UNKNOWN_DATASET', /named "nobody"/],

  ['dataset.list', { limit: -1 }, 'INVALID_PARAMS', /\$\.limit/],
  ['dataset.list', { offset: 1.5 }, 'INVALID_PARAMS', /\$\.offset/],
  [
    'dataset.list',
    { conds: { '=': ['table_name', 'x'] } },
    'BAD_CONDITION',
    /\$\.conds\["="\]\[0\].*"table_name"/,
  ],
  ['dataset.list', { order: 'columns' }, 'BAD_CONDITION', /order/],
  ['dataset.citation.list', { conds: { '=': ['id', 'x'] } }, 'BAD_CONDITION', /\$\.conds\["="\]\[1\]/],
  ['dataset.citation.list', { conds: [1] }, 'BAD_CONDITION', /\$\.conds/],

  ['dataset.citation.create', { citation_label: 'x' }, 'INVALID_PARAMS', /\$\.source/],
  ['dataset.citation.create', { citation_label: '', source: 'd' }, 'INVALID_PARAMS', /\$\.citation_label/],
  [
    'dataset.citation.create',
    { citation_label: 'a\u0000b', source: 'd' },
    'INVALID_PARAMS',
    /\$\.citation_label/,
  ],
  ['dataset.citation.create', { citation_label: 'x', source: 'nobody' }, 'UNKNOWN_DATASET', /"nobody"/],
  ['dataset.citation.create', { citation_label: 'x', source: 'c' }, 'UNKNOWN_DATASET', /"c"/],
  ['dataset.citation.delete', {}, 'INVALID_PARAMS', /\$\.citation_label/],
  ['dataset.citation.delete', { citation_label: 'nobody' }, 'UNKNOWN_CITATION', /"nobody"/],
  ['dataset.citation.delete', { citation_label: 'd' }, 'UNKNOWN_CITATION', /"d"/],
  ['dataset.citation.delete', { citation_label: 'c_1' }, 'UNKNOWN_CITATION', /"c_1"/],

  ['dataset.record.put', { dataset_name: 'd' }, 'INVALID_PARAMS', /\$\.records/],
  ['dataset.record.put', { dataset_name: 'd', records: [{ k: 1 }] }, 'INVALID_PARAMS', /\$\.records\[0\]/],
  [
    'dataset.record.put',
    { dataset_name: 'd', records: [[9, 'x', null]], on_conflict: 'replace' },
    'INVALID_PARAMS',
    /\$\.on_conflict/,
  ],
  ['dataset.record.put', { dataset_name: 'nobody', records: [] }, 'UNKNOWN_DATASET', /"nobody"/],
  ['dataset.record.put', { dataset_name: 'c', records: [] }, 'UNKNOWN_DATASET', /"c"/],
  [
    'dataset.record.put',
    {
      dataset_name: 'd',
      records: [
        [9, 'x', null],
        [10, 'x'],
      ],
    },
    'BAD_RECORD',
    /records\[1\]: found 2 values, expected 3 in the order of the columns \(k, v, g\)/,
  ],
  [
    'dataset.record.put',
    {
      dataset_name: 'd',
      records: [
        [9, 'x', null],
        [null, 'x', null],
      ],
    },
    'BAD_RECORD',
    /records\[1\]: k: found null/,
  ],
  [
    'dataset.record.put',
    { dataset_name: 'd', records: [[2147483648, 'x', null]] },
    'BAD_RECORD',
    /records\[0\]: k: found 2147483648, expected a whole number/,
  ],
  [
    'dataset.record.put',
    { dataset_name: 'd', records: [[9, 'longer than ten', null]] },
    'BAD_RECORD',
    /records\[0\]: v: found 15 characters, expected at most 10/,
  ],
  [
    'dataset.record.put',
    { dataset_name: 'd', records: [[9, 7, null]] },
    'BAD_RECORD',
    /records\[0\]: v: found 7, expected a string/,
  ],
  [
    'dataset.record.put',
    { dataset_name: 'd', records: [[9, 'x', ring([0, 0], [1, 1], [0, 0])]] },
    'BAD_RECORD',
    /records\[0\]: g: found 3 positions/,
  ],
  [
    'dataset.record.put',
    { dataset_name: 'd', records: [[9, 'x', 'POINT(200 0)']] },
    'BAD_RECORD',
    /records\[0\]: g: found 200.*longitude/,
  ],
  [
    'dataset.record.put',
    {
      dataset_name: 'd',
      records: [
        [9, 'x', null],
        [1, 'x', null],
      ],
    },
    'RECORD_EXISTS',
    /records\[1\]: a record with k 1 already exists/,
  ],
  [
    'dataset.record.put',
    {
      dataset_name: 'd',
      records: [
        [9, 'x', null],
        [9, 'y', null],
      ],
    },
    'RECORD_EXISTS',
    /records\[1\]: a record with k 9/,
  ],
  [
    'dataset.record.put',
    {
      dataset_name: 'd',
      records: [
        [1, 'over', null],
        [9, 'x', 'nowhere'],
      ],
      on_conflict: 'update',
    },
    'BAD_RECORD',
    /records\[1\]: g/,
  ],

  ['dataset.record.delete', {}, 'INVALID_PARAMS', /\$\.dataset_name/],
  ['dataset.record.delete', { dataset_name: 'nobody' }, 'UNKNOWN_DATASET', /"nobody"/],
  [
    'dataset.record.delete',
    { dataset_name: 'd', condition: { '=': ['x', 1] } },
    'BAD_CONDITION',
    /\$\.condition\["="\]\[0\]: found "x"/,
  ],
  [
    'dataset.record.delete',
    { dataset_name: 'd', condition: { '=': ['k', 'one'] } },
    'BAD_CONDITION',
    /\$\.condition\["="\]\[1\]/,
  ],
  [
    'dataset.record.delete',
    { dataset_name: 'd', condition: { '=': ['k', null] } },
    'BAD_CONDITION',
    /is_null/,
  ],
  [
    'dataset.record.delete',
    { dataset_name: 'd', condition: { '<': ['g', 1] } },
    'BAD_CONDITION',
    /of a type without order/,
  ],
  [
    'dataset.record.delete',
    { dataset_name: 'd', condition: { drop: ['k', 1] } },
    'BAD_CONDITION',
    /operator "drop"/,
  ],
  ['dataset.record.delete', { dataset_name: 'd', condition: { and: [], or: [] } }, 'BAD_CONDITION', /2 keys/],
  ['dataset.record.delete', { dataset_name: 'd', condition: deep(40) }, 'BAD_CONDITION', /at most 32 levels/],
  [
    'dataset.record.delete',
    { dataset_name: 'd', condition: { in: ['k', Array.from({ length: 1001 }, (_, k) => k)] } },
    'BAD_CONDITION',
    /at most 1000/,
  ],
  [
    'dataset.record.delete',
    { dataset_name: 'd', condition: { intersects: ['g', { type: 'Circle' }] } },
    'BAD_CONDITION',
    /\$\.condition\["intersects"\]\[1\]/,
  ],
  [
    'dataset.record.delete',
    { dataset_name: 'd', condition: { intersects: ['k', 'POINT(0 0)'] } },
    'BAD_CONDITION',
    /geometry column/,
  ],

  ['dataset.record.get', {}, 'INVALID_PARAMS', /\$\.citation_label/],
  ['dataset.record.get', { citation_label: 'nobody' }, 'UNKNOWN_CITATION', /"nobody"/],
  ['dataset.record.get', { citation_label: 'd' }, 'UNKNOWN_CITATION', /"d"/],
  [
    'dataset.record.get',
    { citation_label: 'c', columns: ['k', 'x'] },
    'INVALID_PARAMS',
    /\$\.columns\[1\]: found "x", expected one of k, v, g/,
  ],
  ['dataset.record.get', { citation_label: 'c', columns: 'k' }, 'INVALID_PARAMS', /\$\.columns/],
  [
    'dataset.record.get',
    { citation_label: 'c', condition: { '=': ['row id', 1] } },
    'BAD_CONDITION',
    /"row id"/,
  ],
  ['dataset.record.get', { citation_label: 'c', order: 'x' }, 'BAD_CONDITION', /\$\.order/],
  ['dataset.record.get', { citation_label: 'c', order: ['k', 'g'] }, 'BAD_CONDITION', /\$\.order\[1\]/],
  ['dataset.record.get', { citation_label: 'c', limit: '10' }, 'INVALID_PARAMS', /\$\.limit/],
  ['dataset.record.get', { citation_label: 'c', offset: -1 }, 'INVALID_PARAMS', /\$\.offset/],
  ['dataset.record.get', { citation_label: 'c', offset: 2 ** 60 }, 'INVALID_PARAMS', /\$\.offset/],
  ['dataset.record.get', { citation_label: 'c', where: '1=1' }, 'INVALID_PARAMS', /where/],
]

t.test('dataset: bad calls say what was found and expected, and change nothing', async (t) => {
  const calls = await filled(t)
  const before = calls.dump()
  for (const [method, params, name, message] of BAD_CALLS) {
    await rejectsWith(t, calls.call(method, params), name, { message })
    t.equal(calls.dump(), before, `${method} changed nothing`)
  }
  const methods = new Set(BAD_CALLS.map(([method]) => method))
  t.equal(methods.size, 10, 'every method has bad calls')
})

t.test('dataset.create: every fault is told at once', async (t) => {
  const { call } = openDatasetCalls(t)
  const columns = [column('a', 'colour'), column('b c'), column('a', 'int(3)')]
  await rejectsWith(
    t,
    call('dataset.create', { dataset_name: 'x', columns, key_columns: ['z'] }),
    'INVALID_PARAMS',
    {
      data: {
        faults: [
          { path: '$.columns[0].data_type' },
          { path: '$.columns[1].column_name' },
          { path: '$.columns[2].column_name' },
          { path: '$.columns[2].data_type' },
          { path: '$.key_columns[0]' },
        ],
      },
    },
  )
})

t.test('dataset.record.put: 10,000 records whose last one is bad leave no trace', async (t) => {
  const calls = await filled(t)
  const before = calls.dump()
  const records: unknown[][] = Array.from({ length: 10_000 }, (_, k) => [k, `v${k}`, `POINT(${k % 180} 1)`])
  records[9_999] = [10_000, 'far too long a text', null]
  const put = (on_conflict: string) =>
    calls.call('dataset.record.put', { dataset_name: 'd', records, on_conflict })
  for (const mode of ['update', 'nothing']) {
    await rejectsWith(t, put(mode), 'BAD_RECORD', { data: { index: 9_999, column: 'v' } })
    t.equal(calls.dump(), before, mode)
  }
  await rejectsWith(t, put('error'), 'RECORD_EXISTS', { data: { index: 1, key_columns: ['k'] } })
  t.equal(calls.dump(), before)
})

t.test('dataset.record.put: a caller who goes away leaves no trace', async (t) => {
  const { store, dump, call } = await filled(t)
  const before = dump()
  const gone = new AbortController()
  const records = Array.from({ length: 20_000 }, (_, k) => [k + 100, 'v', null])
  const putting = store.put('d', records, 'error', gone.signal)
  setImmediate(() => gone.abort())
  await rejectsWith(t, putting, 'CANCELLED')
  t.equal(dump(), before)
  t.equal(
    await call('dataset.record.put', { dataset_name: 'd', records: [[9, 'x', null]] }),
    1,
    'the next one may write',
  )
})

async function filled(t: {
  testdir(): string
  teardown(work: () => unknown): unknown
}): Promise<DatasetCalls> {
  const calls = openDatasetCalls(t)
  const { call, store } = calls
  await call('dataset.create', {
    dataset_name: 'd',
    columns: [column('k'), column('v', 'varchar(10)'), { ...column('g', 'geometry'), nullable: true }],
    key_columns: ['k'],
  })
  await call('dataset.record.put', {
    dataset_name: 'd',
    records: [
      [1, 'one', 'POINT(1 1)'],
      [2, 'two', null],
    ],
  })
  await call('dataset.citation.create', { citation_label: 'c', source: 'd' })
  await store.settled()
  return calls
}
