import t from 'tap'
import { DATASET_METHODS } from '../../../src/api/dataset/index.js'
import { CitationInfo, DatasetInfo, GetColumnsResult } from '../../../src/api/dataset/schema.js'
import { openDatasetCalls } from '../../support/dataset-calls.js'

const column = (column_name: string, data_type: string, nullable = false) => ({
  column_name,
  data_type,
  nullable,
})
const NOW = { _type: 'datetime', val: '2025-01-02T12:04:05.678901+09:00' }

t.test('dataset.create: answers the whole dataset_info', async (t) => {
  const { call } = openDatasetCalls(t)
  const made = await call('dataset.create', {
    dataset_name: 'roads',
    columns: [column('id', 'int')],
    key_columns: ['id'],
  })
  t.match(made.realname, /^provenance\.prov_[0-9a-f]{32}$/)
  t.strictSame(made, {
    id: 1,
    session_id: null,
    usename: 'site 7',
    ddc_type: 'table',
    short_form: 'roads',
    long_form: 'roads_1735787045.678901',
    realname: made.realname,
    created_at: NOW,
    committed_at: null,
    prepared_activity_id: null,
  })
  t.ok(DatasetInfo.safeParse(made).success)
})

t.test('dataset.create: a leading ddc: is dropped, Unicode and SQL words are names', async (t) => {
  const { call } = openDatasetCalls(t)
  for (const [given, name] of [
    ['ddc:a', 'a'],
    ['道路', '道路'],
    ['select', 'select'],
    ['x-1.y_z', 'x-1.y_z'],
  ]) {
    const made = await call('dataset.create', {
      dataset_name: given,
      columns: [column('order', 'int'), column('"q', 'int')].slice(0, 1),
    })
    t.equal(made.short_form, name)
    t.equal(await call('dataset.record.put', { dataset_name: `ddc:${name}`, records: [[1]] }), 1)
  }
})

t.test('dataset.get_columns: catalogue names of every type and synonym, the range last', async (t) => {
  const { call } = openDatasetCalls(t)
  const types: [string, string][] = [
    ['int', 'integer'],
    ['INTEGER', 'integer'],
    ['int4', 'integer'],
    ['bigint', 'bigint'],
    ['int8', 'bigint'],
    ['smallint', 'smallint'],
    ['int2', 'smallint'],
    ['double precision', 'double precision'],
    ['float8', 'double precision'],
    ['float', 'double precision'],
    ['real', 'real'],
    ['float4', 'real'],
    ['numeric', 'numeric'],
    ['decimal(12, 3)', 'numeric(12,3)'],
    ['numeric(5)', 'numeric(5,0)'],
    ['varchar', 'character varying'],
    ['varchar(20)', 'character varying(20)'],
    ['character varying ( 3 )', 'character varying(3)'],
    ['char', 'character(1)'],
    ['character(4)', 'character(4)'],
    ['text', 'text'],
    ['boolean', 'boolean'],
    ['bool', 'boolean'],
    ['timestamp', 'timestamp without time zone'],
    ['timestamp with time zone', 'timestamp with time zone'],
    ['timestamptz', 'timestamp with time zone'],
    ['date', 'date'],
    ['time', 'time without time zone'],
    ['timetz', 'time with time zone'],
    ['geometry', 'geometry'],
    ['geometry(Point)', 'geometry(Point,4326)'],
    ['geometry(multipolygonz, 6677)', 'geometry(MultiPolygon,6677)'],
    ['json', 'json'],
    ['jsonb', 'jsonb'],
    ['bytea', 'bytea'],
  ]
  await call('dataset.create', {
    dataset_name: 'types',
    columns: types.map(([given], at) => column(`c${at}`, given, at % 2 === 0)),
  })
  const found = await call('dataset.get_columns', { dataset_label: 'types' })
  t.strictSame(found, [
    ...types.map(([, told], at) => ({ ...column(`c${at}`, told, at % 2 === 0), attnum: at + 1 })),
    { ...column('_transaction_range', 'tstzrange'), attnum: types.length + 1 },
  ])
  t.ok(GetColumnsResult.safeParse(found).success)
  await call('dataset.citation.create', { citation_label: 'c', source: 'types' })
  t.strictSame(await call('dataset.get_columns', { dataset_label: 'c' }), found, 'of a citation')
})

t.test(
  'dataset.citation: long forms are unique in one microsecond, numbers equal created_at, zeros are dropped',
  async (t) => {
    const { call, clock } = openDatasetCalls(t)
    await call('dataset.create', { dataset_name: 'd', columns: [column('k', 'int')] })
    const cite = () => call('dataset.citation.create', { citation_label: 'paper', source: 'd' })
    clock.us = 1_735_787_045_678_900
    const first = await cite()
    t.strictSame(first, {
      id: 1,
      short_form: 'paper',
      long_form: 'paper_1735787045.6789',
      dataset_name: 'd',
      dataset_realname: first.dataset_realname,
      transaction_time: { _type: 'datetime', val: '2025-01-02T12:04:05.678900+09:00' },
      created_at: { _type: 'datetime', val: '2025-01-02T12:04:05.678900+09:00' },
      checksum: null,
      checksum_state: 'pending',
      origin: null,
    })
    t.ok(CitationInfo.safeParse(first).success)
    const second = await cite()
    t.equal(second.long_form, 'paper_1735787045.678901')
    t.equal(second.created_at.val, '2025-01-02T12:04:05.678901+09:00')
    clock.us = 1_735_787_046_000_000
    t.equal((await cite()).long_form, 'paper_1735787046', 'a whole second has no fraction')
    clock.us = 1_735_787_045_678_900
    const fourth = await cite()
    t.equal(fourth.long_form, 'paper_1735787045.678902', 'a clock that was set back')
    await call('dataset.record.put', { dataset_name: 'd', records: [[1]] })
    clock.us -= 10_000_000
    const last = await cite()
    t.ok(last.transaction_time.val <= last.created_at.val, 'never later than its making')
  },
)

t.test(
  'dataset.citation: the short form reads as the newest; deleting it deletes all, the long form one',
  async (t) => {
    const { call } = openDatasetCalls(t)
    await call('dataset.create', { dataset_name: 'd', columns: [column('k', 'int')] })
    const made = []
    for (let k = 0; k < 4; k++) {
      await call('dataset.record.put', { dataset_name: 'd', records: [[k]] })
      made.push(await call('dataset.citation.create', { citation_label: 'paper', source: 'd' }))
    }
    const count = async (label: string) =>
      (await call('dataset.record.get', { citation_label: label })).length
    t.equal(await count('paper'), 4)
    t.equal(await count(made[1].long_form), 2)
    const one = await call('dataset.citation.delete', { citation_label: `ddc:${made[3].long_form}` })
    t.same(
      one.map((info: { id: number }) => info.id),
      [4],
    )
    t.equal(await count('paper'), 3, 'the newest of those left')
    const rest = await call('dataset.citation.delete', { citation_label: 'paper' })
    t.same(
      rest.map((info: { long_form: string }) => info.long_form),
      made.slice(0, 3).map((info) => info.long_form),
    )
  },
)

t.test("dataset.citation: a label that is another one's long form means that one", async (t) => {
  const { call } = openDatasetCalls(t)
  await call('dataset.create', { dataset_name: 'd', columns: [column('k', 'int')] })
  const first = await call('dataset.citation.create', { citation_label: 'a', source: 'd' })
  await call('dataset.record.put', { dataset_name: 'd', records: [[1]] })
  const second = await call('dataset.citation.create', { citation_label: first.long_form, source: 'd' })
  t.equal((await call('dataset.record.get', { citation_label: first.long_form })).length, 0)
  t.equal((await call('dataset.record.get', { citation_label: second.long_form })).length, 1)
})

t.test('dataset.delete: answers the info, and the citations go too', async (t) => {
  const { call } = openDatasetCalls(t)
  const made = await call('dataset.create', { dataset_name: 'd', columns: [column('k', 'int')] })
  await call('dataset.citation.create', { citation_label: 'c', source: made.long_form })
  await call('dataset.create', { dataset_name: 'other', columns: [column('k', 'int')] })
  await call('dataset.citation.create', { citation_label: 'c', source: made.realname })
  await call('dataset.citation.create', { citation_label: 'kept', source: 'other' })
  t.strictSame(await call('dataset.delete', { dataset_name: 'd' }), made)
  t.same(
    (await call('dataset.citation.list')).map((info: { short_form: string }) => info.short_form),
    ['kept'],
  )
  const again = await call('dataset.create', { dataset_name: 'd', columns: [column('k', 'int')] })
  t.not(again.id, made.id)
  t.not(again.long_form, made.long_form)
})

t.test('dataset.list and dataset.citation.list: conditions, order, pages', async (t) => {
  const { call, clock, store } = openDatasetCalls(t)
  for (const name of ['b', 'a', 'c']) {
    clock.us += 1_000_000
    await call('dataset.create', { dataset_name: name, columns: [column('k', 'int')] })
    await call('dataset.citation.create', { citation_label: `of-${name}`, source: name })
  }
  const names = async (params: object) =>
    (await call('dataset.list', params)).map((info: { short_form: string }) => info.short_form)
  t.same(await names({}), ['b', 'a', 'c'])
  t.same(await names({ order: '-short_form' }), ['c', 'b', 'a'])
  t.same(await names({ order: ['usename', 'short_form'], offset: 1, limit: 1 }), ['b'])
  t.same(await names({ conds: { in: ['short_form', ['a', 'c', 'x']] } }), ['a', 'c'])
  t.same(await names({ conds: { '>': ['created_at', '2025-01-02 12:04:07+09'] } }), ['a', 'c'])
  await call('dataset.create', {
    dataset_name: 'keyed',
    columns: [column('k', 'int'), column('of', 'text')],
    key_columns: ['of', 'k'],
  })
  const [a, keyed] = await call('dataset.list', {
    conds: { in: ['short_form', ['a', 'keyed']] },
    order: 'short_form',
  })
  t.same([a.key_columns, keyed.key_columns], [[], ['of', 'k']])
  await store.settled()
  const cited = async (params: object) =>
    (await call('dataset.citation.list', params)).map((info: { short_form: string }) => info.short_form)
  t.same(await cited({ conds: { '=': ['checksum_state', 'done'] }, order: '-id', limit: 2 }), [
    'of-c',
    'of-a',
  ])
  t.same(await cited({ conds: { like: ['dataset_realname', 'provenance.%'] } }), ['of-b', 'of-a', 'of-c'])
  t.same(await cited({ conds: { '=': ['dataset_name', 'a'] } }), ['of-a'])
})

t.test('dataset: every method of the contract is there, with scopes of its own area', async (t) => {
  t.same(
    DATASET_METHODS.map(({ name, scope }) => `${name} ${scope}`),
    [
      'dataset.create dataset:write',
      'dataset.alter dataset:write',
      'dataset.delete dataset:write',
      'dataset.get_columns dataset:read',
      'dataset.list dataset:read',
      'dataset.citation.create dataset:write',
      'dataset.citation.delete dataset:write',
      'dataset.citation.list dataset:read',
      'dataset.record.put dataset:write',
      'dataset.record.delete dataset:write',
      'dataset.record.get dataset:read',
      'dataset.record.list dataset:read',
      'dataset.record.count dataset:read',
    ],
  )
})
