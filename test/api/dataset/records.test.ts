import t from 'tap'
import { openDatasetCalls } from '../../support/dataset-calls.js'
import { NOW_US } from '../../support/tables.js'

const column = (column_name: string, data_type: string, nullable = false) => ({
  column_name,
  data_type,
  nullable,
})
t.test('dataset.record.put: on_conflict error, update and nothing, and what each answers', async (t) => {
  const { call } = openDatasetCalls(t)
  await call('dataset.create', {
    dataset_name: 'd',
    columns: [column('k', 'int'), column('v', 'text', true)],
    key_columns: ['k'],
  })
  const put = (records: unknown[], on_conflict?: string) =>
    call('dataset.record.put', { dataset_name: 'd', records, on_conflict })
  t.equal(await put([]), 0)
  t.equal(
    await put([
      [1, 'a'],
      [2, 'b'],
    ]),
    2,
  )
  t.equal(
    await put(
      [
        [2, 'c'],
        [3, 'd'],
        [3, 'e'],
      ],
      'nothing',
    ),
    1,
    'the first of a call wins',
  )
  t.equal(
    await put(
      [
        [1, 'f'],
        [4, 'g'],
        [4, 'h'],
      ],
      'update',
    ),
    3,
    'the last of a call wins',
  )
  await call('dataset.citation.create', { citation_label: 'c', source: 'd' })
  t.same(await call('dataset.record.get', { citation_label: 'c' }), [
    { k: 1, v: 'f' },
    { k: 2, v: 'b' },
    { k: 3, v: 'd' },
    { k: 4, v: 'h' },
  ])
})

t.test('dataset.record.put: a table without a key takes every record', async (t) => {
  const { call } = openDatasetCalls(t)
  await call('dataset.create', { dataset_name: 'd', columns: [column('k', 'int')] })
  t.equal(
    await call('dataset.record.put', { dataset_name: 'd', records: [[1], [1]], on_conflict: 'error' }),
    2,
  )
})

t.test(
  'dataset.record.put: keys are compared by value: decimals, padded text, several columns',
  async (t) => {
    const { call } = openDatasetCalls(t)
    await call('dataset.create', {
      dataset_name: 'd',
      columns: [column('n', 'numeric'), column('c', 'char(3)'), column('v', 'int')],
      key_columns: ['c', 'n'],
    })
    await call('dataset.record.put', {
      dataset_name: 'd',
      records: [
        ['1.50', 'a', 1],
        [2, 'a', 2],
      ],
    })
    t.equal(
      await call('dataset.record.put', {
        dataset_name: 'd',
        records: [['1.5', 'a  ', 3]],
        on_conflict: 'update',
      }),
      1,
    )
    await call('dataset.citation.create', { citation_label: 'c', source: 'd' })
    const get = (condition?: unknown) => call('dataset.record.get', { citation_label: 'c', condition })
    t.same(await get(), [
      { n: 1.5, c: 'a  ', v: 3 },
      { n: 2, c: 'a  ', v: 2 },
    ])
    t.same(await get({ and: [{ '=': ['c', 'a'] }, { '=': ['n', '1.500'] }] }), [{ n: 1.5, c: 'a  ', v: 3 }])
  },
)

t.test('dataset.record.get: columns, condition, order, offset and limit', async (t) => {
  const { call } = openDatasetCalls(t)
  await call('dataset.create', {
    dataset_name: 'd',
    columns: [column('k', 'int'), column('v', 'text', true), column('n', 'numeric', true)],
    key_columns: ['k'],
  })
  const records = Array.from({ length: 50 }, (_, k) => [
    k,
    k % 3 === 0 ? null : `v${k % 5}`,
    `${(k * 7) % 11}.0`,
  ])
  await call('dataset.record.put', { dataset_name: 'd', records })
  await call('dataset.citation.create', { citation_label: 'c', source: 'd' })
  const keys = async (params: object): Promise<number[]> =>
    (await call('dataset.record.get', { citation_label: 'c', columns: ['k'], ...params })).map(
      (row: { k: number }) => row.k,
    )
  t.same(
    await keys({}),
    records.map(([k]) => k),
  )
  t.same(await keys({ offset: 48 }), [48, 49])
  t.same(await keys({ offset: 50 }), [])
  t.same(await keys({ limit: 0 }), [])
  t.same(await keys({ offset: 7, limit: 3, condition: { '>': ['k', 10] } }), [18, 19, 20])
  t.same(
    await keys({ condition: { '=': ['n', '7.000'] } }),
    records.filter(([, , n]) => n === '7.0').map(([k]) => k),
  )
  t.same(
    await keys({ condition: { not: { is_null: ['v'] } }, order: ['v', '-k'], limit: 4 }),
    [40, 35, 25, 20],
  )
  t.same(await keys({ order: 'v', offset: 48 }), [45, 48], 'null is last, ties in order of arrival')
  t.same(await keys({ order: '-v', limit: 2 }), [0, 3], 'null is first')
  t.same(await keys({ order: ['-n', 'k'], limit: 3 }), [3, 14, 25])
  t.same(
    Object.keys(
      (await call('dataset.record.get', { citation_label: 'c', columns: ['n', 'k', 'n'], limit: 1 }))[0],
    ),
    ['n', 'k'],
  )
  const pages = []
  for (let offset = 0; offset < 50; offset += 7) pages.push(...(await keys({ offset, limit: 7, order: 'v' })))
  t.same(pages, await keys({ order: 'v' }), 'pages make up the whole')
})

t.test(
  'dataset.record.get: _transaction_range says since when a version holds, as seen by the citation',
  async (t) => {
    const { call, clock } = openDatasetCalls(t)
    await call('dataset.create', {
      dataset_name: 'd',
      columns: [column('k', 'int'), column('v', 'int')],
      key_columns: ['k'],
    })
    await call('dataset.record.put', {
      dataset_name: 'd',
      records: [
        [1, 1],
        [2, 1],
      ],
    })
    const first = await call('dataset.citation.create', { citation_label: 'c', source: 'd' })
    clock.us = NOW_US + 1_000_000 - 678_901
    await call('dataset.record.put', { dataset_name: 'd', records: [[1, 2]], on_conflict: 'update' })
    const second = await call('dataset.citation.create', { citation_label: 'c', source: 'd' })
    const ranges = async (label: string) =>
      (await call('dataset.record.get', { citation_label: label, columns: ['_transaction_range'] })).map(
        (row: { _transaction_range: string }) => row._transaction_range,
      )
    const before = '["2025-01-02 12:04:05.678901+09",)'
    t.same(await ranges(first.long_form), [before, before])
    t.same(await ranges(second.long_form), ['["2025-01-02 12:04:06+09",)', before])
  },
)

t.test('dataset.record.delete: by condition, and everything without one', async (t) => {
  const { call } = openDatasetCalls(t)
  await call('dataset.create', {
    dataset_name: 'd',
    columns: [column('k', 'int'), column('g', 'geometry', true)],
    key_columns: ['k'],
  })
  const records = Array.from({ length: 20 }, (_, k) => [k, `POINT(${k} 0)`])
  await call('dataset.record.put', { dataset_name: 'd', records })
  const remove = (condition?: unknown) => call('dataset.record.delete', { dataset_name: 'd', condition })
  t.equal(await remove({ between: ['k', 3, 5] }), 3)
  t.equal(
    await remove({
      within: [
        'g',
        {
          type: 'Polygon',
          coordinates: [
            [
              [9.5, -1],
              [12.5, -1],
              [12.5, 1],
              [9.5, 1],
              [9.5, -1],
            ],
          ],
        },
      ],
    }),
    3,
  )
  t.equal(await remove({ '=': ['k', 4] }), 0)
  t.equal(await remove({ and: [{ '>': ['k', 17] }, { '<': ['k', 19] }] }), 1)
  t.equal(await remove(), 13)
  await call('dataset.record.put', { dataset_name: 'd', records: records.slice(0, 1) })
  await call('dataset.citation.create', { citation_label: 'c', source: 'd' })
  t.same(await call('dataset.record.get', { citation_label: 'c' }), [
    { k: 0, g: { type: 'Point', coordinates: [0, 0] } },
  ])
})

t.test('dataset.record.list and count: current rows of a dataset, a citation, a loader table', async (t) => {
  const { call } = openDatasetCalls(t)
  await call('dataset.create', {
    dataset_name: 'd',
    columns: [column('k', 'int'), column('v', 'text', true)],
    key_columns: ['k'],
  })
  const put = (...records: unknown[]) => call('dataset.record.put', { dataset_name: 'd', records })
  await put([1, 'a'], [2, null], [3, 'c'])
  const { long_form } = await call('dataset.citation.create', { citation_label: 'c', source: 'd' })
  await put([4, 'd'])
  const list = (params: object) => call('dataset.record.list', params)
  const count = (params: object) => call('dataset.record.count', params)
  t.same(await list({ dataset_label: 'd', order: '-k', offset: 1, limit: 2, columns: ['k'] }), [
    { k: 3 },
    { k: 2 },
  ])
  t.same(await list({ dataset_label: 'd', condition: { is_null: ['v'] } }), [{ k: 2, v: null }])
  const number = async (params: object) => Number(await count(params))
  t.equal(await number({ dataset_label: 'd' }), 4)
  t.equal(await number({ dataset_label: 'd', condition: { '>': ['k', 1] } }), 3)
  t.equal(await number({ dataset_label: long_form }), 3)
  t.equal((await list({ dataset_label: long_form })).length, 3, 'as it was cited')
})
