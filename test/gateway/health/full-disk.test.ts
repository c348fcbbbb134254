import { createHash, randomBytes } from 'node:crypto'
import path from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { DATA, FL, MODELS, putModel, until } from '../../support/models.js'
import { cli } from '../../support/run-cli.js'
import { cannotMount, smallDisk } from '../../support/small-disk.js'
import { pairHeaders, startGateway, type TestGateway } from '../../support/start-gateway.js'

const LOADER = '/api/v1/dataloaderapi/jsonrpc'
const DATASET = '/api/v2/dataset/jsonrpc'
const SESSION = '/api/v1/session/jsonrpc'

// biome-ignore lint/suspicious/noExplicitAny: results of every shape
type Call = (path: string, method: string, params: object) => Promise<any>

/** Calls whose errors fail the test. */
function caller({ call }: TestGateway): Call {
  return async (path, method, params) => {
    const { body } = await call(path, method, params)
    if (body.error !== undefined) throw new Error(`${method}: ${JSON.stringify(body.error)}`)
    return body.result
  }
}

/** One thing of every kind that can be deleted. */
async function fillGateway(gateway: TestGateway) {
  const call = caller(gateway)
  const text = 'x'.repeat(500)
  for (const data_name of ['plain', 'cited']) {
    const record_def = { n: { udt_name: 'int4' }, note: { udt_name: 'text' } }
    await call(LOADER, 'loaderwebapi.register_loader', { data_name, record_def, unique_columns: ['n'] })
    const record = (n: number) => ({ type: 'Feature', geometry: null, properties: { n, note: text } })
    const record_set = Array.from({ length: 400 }, (_, n) => record(n))
    await call(LOADER, 'loaderwebapi.add_record', { data_name, record_set })
  }
  for (const dataset_name of ['plain', 'cited']) {
    const columns = [
      { column_name: 'k', data_type: 'int' },
      { column_name: 'note', data_type: 'text' },
    ]
    await call(DATASET, 'dataset.create', { dataset_name, columns, key_columns: ['k'] })
    const records = Array.from({ length: 400 }, (_, k) => [k, text])
    await call(DATASET, 'dataset.record.put', { dataset_name, records })
  }
  const cite = (citation_label: string, source: string) =>
    call(DATASET, 'dataset.citation.create', { citation_label, source })
  const { realname } = (await call(DATASET, 'dataset.list', { conds: { '=': ['short_form', 'cited'] } }))[0]
  await cite('of_dataset', realname)
  await cite('of_table', 'event.cited_tbl_0')
  const model = (await putModel(gateway, randomBytes(100_000))).body.model_id
  const upstream = (alias: string) =>
    call(FL, 'fl.create_upstream_info', {
      model_store_ddc: 'other',
      upstream_endpoint: 'https://up.example',
      upstream_apikey: 'k',
      upstream_secret: 's',
      upstream_model_store_ddc: 'theirs',
      alias,
      create: true,
    })
  const { id } = await upstream('a')
  await upstream('b')
  const opened = []
  for (let i = 0; i < 3; i++) opened.push(await call(SESSION, 'session.open_session', {}))
  const sessions = await call(SESSION, 'session.list_sessions', {})
  return { call, model, upstream: id, tokens: opened.map((one) => one.access_token), sessions }
}

/** The free space is read from time to time. */
async function isRefused({ call }: TestGateway): Promise<boolean> {
  return (
    (await call(LOADER, 'loaderwebapi.add_record', { data_name: 'plain', record_set: [] })).status === 507
  )
}

/** Begins a resumable upload. @returns its path */
async function beginUpload({ url, admin }: TestGateway): Promise<string> {
  const bytes = randomBytes(1000)
  const base64 = (value: string) => Buffer.from(value).toString('base64')
  const metadata = {
    method: 'model_store.model.put',
    data: JSON.stringify(DATA),
    sha256: createHash('sha256').update(bytes).digest('hex'),
  }
  const response = await fetch(`${url}${MODELS.replace('/jsonrpc', '/uploads')}`, {
    method: 'POST',
    headers: {
      ...pairHeaders(admin),
      'tus-resumable': '1.0.0',
      'upload-length': String(bytes.length),
      'upload-metadata': Object.entries(metadata)
        .map(([name, value]) => `${name} ${base64(value)}`)
        .join(','),
    },
  })
  if (response.status !== 201) throw new Error(await response.text())
  return response.headers.get('location') ?? ''
}

t.test(
  'full disk: everything that can be deleted is, with no byte free',
  { skip: cannotMount },
  async (t) => {
    const { dir, fill } = smallDisk(t, '64m')
    const dataDir = path.join(dir, 'data')
    const gateway = await startGateway(t, { dataDir, settings: { limits: { diskReserveBytes: 1_000_000 } } })
    const { call, model, upstream, tokens, sessions } = await fillGateway(gateway)
    const upload = await beginUpload(gateway)
    const other = await gateway.makeKey(['session:write'])
    for (const name of ['state.db', 'data.db']) {
      const db = new Database(path.join(dataDir, name))
      db.pragma('wal_checkpoint(TRUNCATE)') // no log that could be written over
      db.close()
    }
    t.equal(fill(), '0')
    await until('the gateway sees the full disk', () => isRefused(gateway))
    const { status } = await gateway.call(LOADER, 'loaderwebapi.add_record', {
      data_name: 'plain',
      record_set: [],
    })
    t.equal(status, 507, 'nothing is added')

    const deletes: [string, string, object][] = [
      [SESSION, 'session.close_session', { token: tokens[0] }],
      [SESSION, 'session.end_session', { session_id: sessions[0].session_id }],
      [MODELS, 'model_store.model.delete', { model_id: model }],
      [FL, 'fl.delete_upstream_info', { id: upstream }],
      [MODELS, 'model_store.delete', { model_store_ddc: 'other' }],
      [DATASET, 'dataset.citation.delete', { citation_label: 'of_table' }],
      [DATASET, 'dataset.record.delete', { dataset_name: 'plain' }],
      [DATASET, 'dataset.delete', { dataset_name: 'plain' }],
      [DATASET, 'dataset.delete', { dataset_name: 'cited' }],
      [LOADER, 'loaderwebapi.drop_loader', { data_name: 'plain' }],
      [LOADER, 'loaderwebapi.drop_loader', { data_name: 'cited' }],
    ]
    for (const [at, method, params] of deletes) await t.resolves(call(at, method, params), method)
    const removed = await fetch(`${gateway.url}${upload}`, {
      method: 'DELETE',
      headers: { ...pairHeaders(gateway.admin), 'tus-resumable': '1.0.0' },
    })
    t.equal(removed.status, 204, 'a resumable upload')
    const verb = async (...argv: string[]) => {
      const { code, stderr } = await cli(dir, [...argv, '--data-dir', dataDir])
      t.equal(code, 0, `${argv.slice(0, 2).join(' ')} ${stderr}`)
    }
    await verb('session', 'end', sessions[1].session_id)
    await verb('key', 'rotate', other.apiKey, '--overlap', '0')
    await verb('key', 'revoke', other.apiKey)
    t.equal(
      (await gateway.call(SESSION, 'session.verify_session_token', { token: '' }, pairHeaders(other))).status,
      401,
    )
  },
)

t.test(
  'full disk: deleting rows that a citation sees needs room for their copies',
  { skip: cannotMount },
  async (t) => {
    const { dir, fill } = smallDisk(t, '64m')
    const dataDir = path.join(dir, 'data')
    const gateway = await startGateway(t, { dataDir, settings: { limits: { diskReserveBytes: 1_000_000 } } })
    const { call } = await fillGateway(gateway)
    t.equal(fill(), '0')
    await until('the gateway sees the full disk', () => isRefused(gateway))
    const { status, body } = await gateway.call(DATASET, 'dataset.record.delete', { dataset_name: 'cited' })
    t.same([status, body.error.data.name], [507, 'DISK_FULL'])
    await call(DATASET, 'dataset.citation.delete', { citation_label: 'of_dataset' })
    t.equal(await call(DATASET, 'dataset.record.delete', { dataset_name: 'cited' }), 400)
  },
)
