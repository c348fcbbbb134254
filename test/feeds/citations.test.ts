import { readdirSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { compressBatch } from '../../src/feeds/batch/encode.js'
import { fromCarried } from '../../src/feeds/citations/values.js'
import { parseDataType } from '../../src/storage/columns/data-type.js'
import { stateColumn } from '../../src/storage/columns/state-column.js'
import { call, put, register, startNode, startTwo, sync, until, untilFeed } from '../support/feeds.js'
import { pairHeaders, type TestGateway } from '../support/start-gateway.js'

const DATASET = '/api/v2/dataset/jsonrpc'

const dataset = <T>(node: TestGateway, method: string, params: object): Promise<T> =>
  call<T>(node, DATASET, `dataset.${method}`, params)

interface CitationInfo {
  long_form: string
  short_form: string
  dataset_name: string
  checksum: string | null
  origin: string | null
  created_at: unknown
  transaction_time: unknown
}

/** One column of every kind of stored value, with values that a careless carrier would change. */
const COLUMNS = [
  { column_name: 'id', data_type: 'bigint' },
  { column_name: 'level', data_type: 'numeric(12,4)', nullable: true },
  { column_name: 'f', data_type: 'double precision', nullable: true },
  { column_name: 'r', data_type: 'real', nullable: true },
  { column_name: 'ok', data_type: 'boolean', nullable: true },
  { column_name: 'at', data_type: 'timestamptz', nullable: true },
  { column_name: 'local', data_type: 'timestamp', nullable: true },
  { column_name: 'd', data_type: 'date', nullable: true },
  { column_name: 'time', data_type: 'time', nullable: true },
  { column_name: 'code', data_type: 'char(5)', nullable: true },
  { column_name: 'text', data_type: 'text', nullable: true },
  { column_name: 'raw', data_type: 'bytea', nullable: true },
  { column_name: 'json', data_type: 'json', nullable: true },
  { column_name: 'place', data_type: 'geometry(Geometry,3857)', nullable: true },
]
const RECORDS = [
  [
    ...[
      '9007199254740993',
      '1.5000',
      0.1,
      0.1,
      true,
      '0001-01-01 00:00:00.000001Z',
      '9999-12-31 23:59:59.999999',
    ],
    ...[
      '2024-02-29',
      '23:59:59.999999',
      'ab',
      '🚧 é\n"',
      'AAEC/w==',
      { b: 1, a: [1.5, null] },
      'POINT Z (1 2 3)',
    ],
  ],
  [2, 'NaN', 'NaN', '-Infinity', false, 'infinity', '-infinity', null, null, null, '', '', [], 'POINT EMPTY'],
  [3, ...COLUMNS.slice(1).map(() => null)],
]

async function cite(node: TestGateway, label: string, source: string): Promise<CitationInfo> {
  await dataset(node, 'citation.create', { citation_label: label, source })
  const [info] = await until(
    () => dataset<CitationInfo[]>(node, 'citation.list', { conds: { '=': ['short_form', label] } }),
    ([found]) => found?.checksum !== null,
  )
  return info as CitationInfo
}

const send = (node: TestGateway, upstream: string, citation: string) =>
  sync<{ feed: string; state: string }>(node, 'create_feed', { citation, upstream })

const recordsOf = (node: TestGateway, label: string, more: object = {}) =>
  dataset<unknown[]>(node, 'record.get', { citation_label: label, ...more })

const untilDelivered = (node: TestGateway) =>
  untilFeed(node, ({ state, rows_behind }) => state === 'idle' && rows_behind === 0)

async function twoNodes(t: Parameters<typeof startNode>[0], scopes?: readonly string[]) {
  const [here, there] = await startTwo(t)
  const key = await there.makeKey(scopes ?? ['sync:write'])
  const upstream = { name: 'up', endpoint: there.url, apikey: key.apiKey, secret: key.secret }
  await sync(here, 'create_upstream', upstream)
  return { here, there, key }
}

t.test('citations: values of every type read the same at the upstream, checksum and all', async (t) => {
  const { here, there } = await twoNodes(t)
  await dataset(here, 'create', { dataset_name: 'all', columns: COLUMNS, key_columns: ['id'] })
  await dataset(here, 'record.put', { dataset_name: 'all', records: RECORDS })
  const info = await cite(here, 'report', 'all')
  await dataset(here, 'record.put', { dataset_name: 'all', records: [[4, ...RECORDS[2]!.slice(1)]] })
  const feed = await send(here, 'up', 'report')
  t.match(feed, { citation: info.long_form, direction: 'up' })
  await untilDelivered(here)
  const label = info.long_form
  t.same(await recordsOf(there, label), await recordsOf(here, label))
  t.equal((await recordsOf(there, 'report')).length, 3, 'also by its short form')
  const columns = (node: TestGateway) => dataset(node, 'get_columns', { dataset_label: label })
  t.same(await columns(there), await columns(here))
  const [copy] = await dataset<CitationInfo[]>(there, 'citation.list', {})
  t.same({ ...copy, id: 0, origin: null, dataset_realname: '' }, { ...info, id: 0, dataset_realname: '' })
  t.match(copy?.origin, /^[0-9a-f-]{36}$/)
  t.same(await dataset(there, 'list', {}), [], 'its rows are no dataset of the upstream')
  t.match(await sync(here, 'list_feeds'), [{ rows_sent: 3, last_change: 3, cursor: 3 }])
})

t.test('citations: a table with overridden rows, in pieces, over a restart of the upstream', async (t) => {
  const dir = t.testdir()
  const here = await startNode(t, path.join(dir, 'here'))
  const first = await startNode(t, path.join(dir, 'there'))
  const rows = Array.from({ length: 6000 }, (_, k) => ({ k, note: `n${k}`, speed: k / 3 }))
  await register(here)
  for (let at = 0; at < rows.length; at += 3000) await put(here, rows.slice(at, at + 3000))
  const info = await cite(here, 'drive', 'seen')
  await put(here, [{ k: 1, note: 'later' }])
  const key = await first.makeKey(['sync:write'])
  const upstream = { name: 'up', endpoint: first.url, apikey: key.apiKey, secret: key.secret }
  await sync(here, 'create_upstream', upstream)
  await send(here, 'up', info.long_form)
  await untilFeed(here, ({ cursor }) => cursor >= 5000)
  const { port } = new URL(first.url)
  await first.gateway.stop()
  const there = await startNode(t, path.join(dir, 'there'), { server: { port: Number(port) } })
  await untilDelivered(here)
  const page = { offset: 5990, limit: 20 }
  t.same(await recordsOf(there, 'drive', page), await recordsOf(here, 'drive', page))
  t.same(await recordsOf(there, 'drive', { limit: 2 }), await recordsOf(here, 'drive', { limit: 2 }))
  const [copy] = await dataset<CitationInfo[]>(there, 'citation.list', {})
  t.match(copy, { checksum: info.checksum, dataset_name: 'seen' })
})

t.test('citations: a relay passes one on under its origin; the origin itself is not sent it', async (t) => {
  const dir = t.testdir()
  const [van, base, hub] = await Promise.all(
    ['van', 'base', 'hub'].map((name) => startNode(t, path.join(dir, name))),
  )
  await dataset(van!, 'create', { dataset_name: 'd', columns: [{ column_name: 'k', data_type: 'int' }] })
  await dataset(van!, 'record.put', { dataset_name: 'd', records: [[1], [2]] })
  const info = await cite(van!, 'c', 'd')
  await feedUp(van!, base!, ['sync:write'], info.long_form)
  await untilDelivered(van!)
  await feedUp(base!, hub!, ['sync:write'], info.long_form)
  const refused = await untilFeed(base!, ({ last_error }) => last_error !== null)
  t.match(refused.last_error, /sync:relay/)
  await sync(base!, 'delete_feed', { feed: refused.feed })
  await sync(base!, 'delete_upstream', { name: 'up' })
  await feedUp(base!, hub!, ['sync:write', 'sync:relay'], info.long_form)
  await untilDelivered(base!)
  const origins = await Promise.all(
    [base!, hub!].map(async (node) => (await dataset<CitationInfo[]>(node, 'citation.list', {}))[0]?.origin),
  )
  t.equal(new Set(origins).size, 1)
  t.same(await recordsOf(hub!, 'c'), [{ k: 1 }, { k: 2 }])
  await feedUp(hub!, van!, ['sync:write', 'sync:relay'], info.long_form)
  await untilDelivered(hub!)
  t.equal((await dataset<unknown[]>(van!, 'citation.list', {})).length, 1)
})

async function feedUp(from: TestGateway, to: TestGateway, scopes: readonly string[], citation: string) {
  const key = await to.makeKey(scopes)
  await sync(from, 'create_upstream', {
    ...{ name: 'up', endpoint: to.url, apikey: key.apiKey, secret: key.secret },
  })
  await send(from, 'up', citation)
}

t.test('citations: deleted at either side', async (t) => {
  const { here, there, key } = await twoNodes(t)
  await dataset(here, 'create', { dataset_name: 'd', columns: [{ column_name: 'k', data_type: 'int' }] })
  await dataset(here, 'record.put', { dataset_name: 'd', records: [[1]] })
  const info = await cite(here, 'c', 'd')
  const { feed } = await send(here, 'up', 'c')
  await untilDelivered(here)
  await dataset(there, 'citation.delete', { citation_label: 'c' })
  await t.rejects(recordsOf(there, 'c'), /UNKNOWN_CITATION/)
  await sync(here, 'delete_feed', { feed })
  await send(here, 'up', 'c')
  await untilDelivered(here)
  t.same(await recordsOf(there, info.long_form), [{ k: 1 }], 'sent again after it was deleted there')
  await t.rejects(send(here, 'up', 'c'), /FEED_EXISTS/)
  const [delivered] = await sync<{ feed: string }[]>(here, 'list_feeds')
  await t.rejects(
    sync(here, 'update_feed', { feed: delivered?.feed, conds: { '=': ['k', 1] } }),
    /sent whole/,
  )
  await sync(here, 'delete_feed', { feed: delivered?.feed })
  await dataset(here, 'citation.delete', { citation_label: 'c' })
  t.same(await recordsOf(there, info.long_form), [{ k: 1 }], 'the copy stays')
  await there.revokeKey(key.apiKey)
  await cite(here, 'late', 'd')
  await send(here, 'up', 'late')
  await untilFeed(here, ({ last_error }) => last_error !== null)
  await dataset(here, 'citation.delete', { citation_label: 'late' })
  t.match(await untilFeed(here, ({ state }) => state === 'stopped'), { last_error: /UNKNOWN_CITATION/ })
})

t.test('citations: the text of a JSON value is measured before it is parsed', (t) => {
  const type = parseDataType('json')
  if (type === undefined) throw new Error('json is no type')
  const column = stateColumn({ name: 'j', type, isNullable: true })
  t.equal(fromCarried(column, '{"a":[1.0,2]}'), '{"a":[1.0,2]}', 'the text stays')
  t.equal(fromCarried(column, null), null)
  t.match(fromCarried(column, '['.repeat(100_000)), { found: /more than 1000 arrays/, expected: 'JSON text' })
  t.match(fromCarried(column, `[${'0,'.repeat(300_000)}0]`), { found: /more than 250000 commas/ })
  t.match(fromCarried(column, 'x'), { found: 'other text' })
  t.match(fromCarried(column, 7), { found: 'number' })
  t.end()
})

const NODE = '11111111-2222-4333-8444-555555555555'
const OFFER = {
  ...{ node: NODE, origin: NODE, long_form: 'c_1700000000', short_form: 'c', dataset_name: 'd' },
  ...{ dataset_realname: 'provenance.prov_1', created_at_us: 1.7e15, transaction_time_us: 1.6e15 },
  ...{ checksum: 'ab'.repeat(32), row_count: 2, key_columns: [] },
  columns: [{ name: 'k', data_type: 'int', type_text: 'integer', nullable: false }],
}

t.test('citations: rows that are not those of the offer are refused and change nothing', async (t) => {
  const { there, key } = await twoNodes(t)
  const send = async (text: string, checksum = OFFER.checksum) => {
    const url = `${there.url}/api/v2/sync/citations/${checksum}/rows`
    const headers = { 'Content-Type': 'application/x-ndjson', 'Content-Encoding': 'zstd' }
    const body = new Uint8Array(await compressBatch(text))
    const reply = await fetch(url, { method: 'POST', headers: { ...headers, ...pairHeaders(key) }, body })
    return (await reply.json()) as { error?: { message: string; data: { name: string } }; rows?: number }
  }
  const { node, origin, long_form, checksum } = OFFER
  const head = (more: object = {}) =>
    JSON.stringify({ fieldgate_citation: 1, node, origin, long_form, checksum, after: 0, rows: 1, ...more })
  t.match(await send(`${head()}\n[1]\n`), { error: { data: { name: 'UNKNOWN_FEED' } } })
  const offer = async (more: object = {}) =>
    (await there.call('/api/v2/sync/jsonrpc', 'sync.offer_citation', { ...OFFER, ...more }, pairHeaders(key)))
      .body
  t.match(await offer(), { result: { rows: 0, complete: false } })
  const refused: [text: string, name: string, message: RegExp][] = [
    [`${head({ rows: 2 })}\n[1]\n`, 'BAD_BATCH', /found 1 rows, expected 2/],
    [`${head()}\n{}\n`, 'BAD_BATCH', /line 2: found an object, expected an array/],
    [`${head()}\n[1,2]\n`, 'BAD_RECORD', /row 0: found 2 values, expected 1/],
    [`${head()}\n[null]\n`, 'BAD_RECORD', /row 0, k: found null/],
    [`${head()}\n["x"]\n`, 'BAD_RECORD', /row 0, k/],
    [`${head({ after: 1 })}\n[1]\n`, 'CURSOR_MISMATCH', /begin after row 1, expected 0/],
    [`${head()}\n[[1]]\n`, 'BAD_BATCH', /line 2: found more than 1 arrays and objects/],
    [`${head()}\n${'[]\n'.repeat(100_000)}`, 'BAD_BATCH', /found more than 10000 rows/],
    [`${head({ rows: 3 })}\n[1]\n[2]\n[3]\n`, 'BAD_BATCH', /found 3, expected at most 2/],
    [`${head({ node: 'x' })}\n[1]\n`, 'BAD_BATCH', /node: found "x", expected a UUID/],
    [`${head({ fieldgate_citation: 2 })}\n[1]\n`, 'BAD_BATCH', /fieldgate_citation: found 2, expected 1/],
    [`${head({ checksum: 'cd'.repeat(32) })}\n[1]\n`, 'BAD_BATCH', /as the path has it/],
    [`${head({ origin: NODE.replace('1', '2') })}\n[1]\n`, 'FORBIDDEN', /sync:relay/],
    ['[]\n', 'BAD_BATCH', /fieldgate_citation: found nothing/],
  ]
  for (const [text, name, message] of refused)
    t.match(await send(text), { error: { message, data: { name } } }, `${message}`)
  const long = await send(`${head()}\n[1]\n`, 'a'.repeat(5000))
  t.match(long, { error: { message: /expected a{100}, as the path/ } }, 'the path is quoted cut')
  t.match(await send(`${head()}\n[1]\n`), { rows: 1, complete: false })
  t.match(await offer(), { result: { rows: 1, complete: false } }, 'goes on where it was')
  const last = await send(`${head({ after: 1 })}\n[2]\n`)
  t.match(last, {
    error: { message: /arrived with rows of the SHA-256/, data: { name: 'CITATION_DIFFERS' } },
  })
  t.same(await dataset(there, 'citation.list', {}), [])
  t.match(await offer({ checksum: 'ef'.repeat(32) }), { error: { data: { name: 'CITATION_DIFFERS' } } })
  t.match(await offer({ long_form: 'other_1700000000' }), {
    error: { message: /c_ and a time in epoch seconds/ },
  })
  t.match(await offer({ short_form: '..' }), { error: { data: { name: 'INVALID_PARAMS' } } })
  t.match(await offer({ columns: [{ ...OFFER.columns[0], data_type: 'what' }] }), {
    error: { message: /what/, data: { name: 'INVALID_PARAMS' } },
  })
  t.ok(readdirSync(there.dataDir).includes('data.db'))
})

t.test('citations: encrypted columns do not travel', async (t) => {
  const { here } = await twoNodes(t)
  await register(here, {
    ...{ data_name: 'f', unique_columns: ['k'] },
    record_def: {
      k: { udt_name: 'int4' },
      photo: { udt_name: 'text', is_nullable: true, need_crypto: true },
    },
  })
  const info = await cite(here, 'files', 'f')
  await t.rejects(send(here, 'up', info.long_form), /TABLE_NOT_SENDABLE.*photo/)
})
