import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import path from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { openKeyring } from '../../src/storage/keyring.js'
import { cli } from '../support/run-cli.js'
import { startGateway, type TestGateway } from '../support/start-gateway.js'

const LOADER = '/api/v1/dataloaderapi/jsonrpc'
const MAP = '/api/v1/svcapi/jsonrpc'

async function register({ call }: TestGateway): Promise<void> {
  await call(LOADER, 'loaderwebapi.register_loader', {
    data_name: 'notes',
    record_def: { n: { udt_name: 'int4' }, note: { udt_name: 'text', need_crypto: true } },
    unique_columns: ['n'],
  })
}

async function add({ call }: TestGateway, n: number): Promise<void> {
  const record = { type: 'Feature', geometry: null, properties: { n, note: `note ${n}` } }
  const { body } = await call(LOADER, 'loaderwebapi.add_record', { data_name: 'notes', record_set: [record] })
  if (body.error !== undefined) throw new Error(JSON.stringify(body.error))
}

async function notes({ call }: TestGateway): Promise<unknown> {
  const params = { type: 'Feature', geometry: null, properties: { table: 'notes' } }
  const { body } = await call(MAP, 'mapserv.eventdata', params)
  if (body.error !== undefined) throw new Error(JSON.stringify(body.error))
  return body.result.features.map(
    ({ properties }: { properties: { note: string | null } }) => properties.note,
  )
}

async function keyFinding(dataDir: string, env: Record<string, string> = {}): Promise<string> {
  const { stdout } = await cli(
    path.dirname(dataDir),
    ['doctor', '--data-dir', dataDir, '--offline', '--json'],
    env,
  )
  const { checks } = JSON.parse(stdout)
  return JSON.stringify(checks.find(({ name }: { name: string }) => name === 'keys').findings)
}

/** A data directory with an encrypted value, whose gateway has stopped. */
async function withNote(t: Test): Promise<{ dataDir: string; key: string }> {
  const dataDir = path.join(t.testdir(), 'data')
  const gateway = await startGateway(t, { dataDir })
  await register(gateway)
  await add(gateway, 1)
  await gateway.gateway.stop()
  return { dataDir, key: path.join(dataDir, 'secret.key') }
}

/** Puts another key in the place of a key file. */
function replaceKey(file: string): void {
  rmSync(file)
  openKeyring(file, { hasEncrypted: () => false })
}

t.test('key file: a missing one of encrypted values stops the start, and nothing replaces it', async (t) => {
  const { dataDir, key } = await withNote(t)
  renameSync(key, `${key}.away`)
  await t.rejects(startGateway(t, { dataDir }), {
    message: /secret\.key is missing, but values are encrypted/,
  })
  for (const argv of [['key', 'list'], ['doctor', '--offline'], ['init']])
    await cli(dataDir, [...argv, '--data-dir', dataDir])
  t.notOk(existsSync(key), 'no start and no verb made another')
  t.match(await keyFinding(dataDir), /"error".*secret\.key is missing, but values are encrypted with it/)
  renameSync(`${key}.away`, key)
  t.notMatch(await keyFinding(dataDir), /secret\.key/)
  t.same(await notes(await startGateway(t, { dataDir })), ['note 1'])
})

t.test('key file: another one stops the start as well', async (t) => {
  const { dataDir, key } = await withNote(t)
  replaceKey(key)
  await t.rejects(startGateway(t, { dataDir }), {
    message: /secret\.key holds another key than the one that encrypted/,
  })
  t.match(await keyFinding(dataDir), /holds another key/)
})

t.test('key file: without encrypted values a missing one is made', async (t) => {
  const dataDir = path.join(t.testdir(), 'data')
  const gateway = await startGateway(t, { dataDir })
  await register(gateway)
  await gateway.gateway.stop()
  rmSync(path.join(dataDir, 'secret.key'))
  const again = await startGateway(t, { dataDir })
  await add(again, 1)
  t.same(await notes(again), ['note 1'])
})

t.test('key file: a value of another key reads as null, and takes no other row along', async (t) => {
  const { dataDir, key } = await withNote(t)
  replaceKey(key)
  const db = new Database(path.join(dataDir, 'state.db')) // as an earlier version left it, which replaced keys
  db.exec("DELETE FROM meta WHERE name = 'key_fingerprint'")
  db.close()
  const gateway = await startGateway(t, { dataDir })
  await add(gateway, 2)
  t.same(await notes(gateway), [null, 'note 2'])
  await gateway.call('/api/v2/dataset/jsonrpc', 'dataset.citation.create', {
    citation_label: 'c',
    source: 'notes',
  })
  const { body } = await gateway.call('/api/v2/dataset/jsonrpc', 'dataset.record.get', {
    citation_label: 'c',
  })
  t.same(
    body.result.map(({ note }: { note: string | null }) => note),
    [null, 'note 2'],
  )
})

t.test('key file: an upstream secret of another key reads as null, and takes no other along', async (t) => {
  const dataDir = path.join(t.testdir(), 'data')
  const FL = '/api/v2/fl/jsonrpc'
  const params = (alias: string) => ({
    model_store_ddc: 'rain',
    upstream_endpoint: 'https://up.example',
    upstream_apikey: 'key',
    upstream_secret: `secret-of-${alias}`,
    upstream_model_store_ddc: 'theirs',
    alias,
    create: true,
  })
  const gateway = await startGateway(t, { dataDir })
  const { body: made } = await gateway.call(FL, 'fl.create_upstream_info', params('old'))
  t.equal(made.result?.upstream_secret, 'secret-of-old', JSON.stringify(made.error))
  await gateway.gateway.stop()
  replaceKey(path.join(dataDir, 'secret.key'))
  const db = new Database(path.join(dataDir, 'state.db')) // as an earlier version left it, which replaced keys
  db.exec("DELETE FROM meta WHERE name = 'key_fingerprint'")
  db.close()
  const { call, logLines } = await startGateway(t, { dataDir })
  await call(FL, 'fl.create_upstream_info', params('new'))
  const { body } = await call(FL, 'fl.list_upstream_info', {})
  t.same(
    body.result.map(({ upstream_secret }: { upstream_secret: string | null }) => upstream_secret),
    [null, 'secret-of-new'],
  )
  t.match(
    logLines.filter(({ column }) => column === 'upstream.secret'),
    [{ msg: /another key than the key file/ }],
  )
  const { body: sent } = await call(FL, 'fl.get_upstream_info', { id: 1 })
  t.equal(sent.result.upstream_secret, null)
  const { body: changed } = await call(FL, 'fl.update_upstream_info', { id: 1, upstream_secret: 'again' })
  t.equal(changed.result.upstream_secret, 'again')
})

t.test(
  'key file: elsewhere, by setting or systemd credential, it is neither in the data nor in backups',
  async (t) => {
    const dir = t.testdir()
    const [dataDir, place, keyFile] = ['data', 'backups', 'vault/secret.key'].map((name) =>
      path.join(dir, name),
    ) as [string, string, string]
    mkdirSync(path.dirname(keyFile))
    const gateway = await startGateway(t, { dataDir, settings: { encryption: { keyFile } } })
    await register(gateway)
    await add(gateway, 1)
    t.same(await notes(gateway), ['note 1'])
    await gateway.gateway.stop()
    t.ok(existsSync(keyFile))
    t.notOk(existsSync(path.join(dataDir, 'secret.key')))
    const env = { CREDENTIALS_DIRECTORY: path.dirname(keyFile) }
    const made = await cli(dir, ['backup', place, '--data-dir', dataDir, '--json'], env)
    t.equal(made.code, 0, made.stderr)
    const names = readdirSync(place, { recursive: true }).map(String)
    t.ok(names.some((name) => name.endsWith('data.db')))
    t.same(
      names.filter((name) => name.endsWith('secret.key')),
      [],
    )
    t.notMatch(await keyFinding(dataDir, env), /secret\.key/, 'the credential is found')
    t.match(await keyFinding(dataDir), /is missing, but values are encrypted/, 'without it doctor says so')
    const restored = path.join(dir, 'restored')
    t.equal((await cli(dir, ['restore', place, '--data-dir', restored], env)).code, 0)
    await t.rejects(startGateway(t, { dataDir: restored }), {
      message: /is missing, but values are encrypted/,
    })
    t.same(await notes(await startGateway(t, { dataDir: restored, settings: { encryption: { keyFile } } })), [
      'note 1',
    ])
  },
)
