import path from 'node:path'
import t from 'tap'
import { FL, MODELS, until } from '../support/models.js'
import { cli } from '../support/run-cli.js'
import { pairHeaders, post, startGateway } from '../support/start-gateway.js'

t.test('audit: refused sign-ins, with the address and the key, limited, and never a secret', async (t) => {
  const gateway = await startGateway(t, { settings: { limits: { signInFailuresPerMinute: 3 } } })
  const url = `${gateway.url}${MODELS}`
  const wrong = { APIKey: gateway.admin.apiKey, Secret: 'fgs_a-secret-that-is-wrong' }
  t.equal((await post(url, '{}', wrong)).status, 401)
  t.equal((await post(url, '{}', { APIKey: 'fgs_secret-in-the-wrong-header', Secret: 'x' })).status, 401)
  t.equal((await post(url, '{}', { 'Svc-Session-Token': 'a-token-that-is-wrong' })).status, 401)
  for (let i = 0; i < 2; i++) t.equal((await post(url, '{}', wrong)).status, 401)
  const limited = await post(url, '{}', wrong)
  t.equal(limited.status, 429)
  t.equal((await post(url, '{}', wrong)).status, 429)
  t.ok(Number(limited.headers.get('retry-after')) > 0)
  const lines = gateway.logLines.filter(
    (line) => line.audit === true && String(line.act).startsWith('sign-in'),
  )
  t.match(lines, [
    { act: 'sign-in-refused', address: '127.0.0.1', keyId: gateway.admin.apiKey, path: MODELS },
    { act: 'sign-in-refused', keyId: undefined },
    { act: 'sign-in-refused' },
    { act: 'sign-in-refused' },
    { act: 'sign-in-refused' },
    { act: 'sign-in-refused' },
    { act: 'sign-in-locked' },
  ])
  t.equal(lines.length, 7, 'further ones of the same minute have no line')
  t.notMatch(JSON.stringify(gateway.logLines), /a-secret-that-is-wrong|wrong-header|a-token-that-is-wrong/)
})

t.test('audit: calls that take away or change trust, with the key that made them', async (t) => {
  const gateway = await startGateway(t)
  await gateway.call(MODELS, 'model_store.create', { model_store_ddc: 'rain' })
  const upstream = {
    model_store_ddc: 'rain',
    upstream_endpoint: 'https://hub.example/api/v2/fl/jsonrpc',
    upstream_apikey: 'k',
    upstream_secret: 'the-upstream-secret',
    upstream_model_store_ddc: 'rain',
  }
  const { body } = await gateway.call(FL, 'fl.create_upstream_info', upstream)
  await gateway.call(FL, 'fl.delete_upstream_info', { id: 999 })
  await gateway.call(FL, 'fl.delete_upstream_info', { id: body.result.id })
  await gateway.call(MODELS, 'model_store.delete', { model_store_ddc: 'rain' })
  const acts = gateway.logLines.filter(
    (line) => line.audit === true && line.keyName !== undefined && line.requestId,
  )
  t.match(
    acts,
    ['fl.create_upstream_info', 'fl.delete_upstream_info', 'model_store.delete'].map((act) => ({
      act,
      keyId: gateway.admin.apiKey,
      keyName: 'admin',
    })),
  )
  t.equal(acts.length, 3, 'what was refused is no act')
  t.notMatch(JSON.stringify(gateway.logLines), /the-upstream-secret/)
})

t.test('audit: sessions, uploads, and calls without the scope, alone and in a batch', async (t) => {
  const gateway = await startGateway(t)
  const SESSION = '/api/v1/session/jsonrpc'
  const reader = pairHeaders(await gateway.makeKey(['map:read', 'session:write', 'model:write']))
  await gateway.call(SESSION, 'session.open_session', {}, reader)
  const opened = await post(`${gateway.url}${SESSION}/call/session.open_session`, '{}', reader)
  const listed = await gateway.call(SESSION, 'session.list_sessions', {}, reader)
  const [, first] = listed.body.result
  const through = { 'Svc-Session-Token': opened.body.access_token }
  await gateway.call(SESSION, 'session.end_session', { session_id: first.session_id }, through)
  await gateway.call(MODELS, 'model_store.create', { model_store_ddc: 'rain' }, reader)
  const form = new FormData()
  form.set(
    'data',
    JSON.stringify({ model_store_ddc: 'rain', model_kind: '', model_description: '', model_meta: {} }),
  )
  form.set('file', new Blob(['bytes']))
  const upload = `${gateway.url}${MODELS}/upload/model_store.model.put`
  t.equal((await fetch(upload, { method: 'POST', headers: reader, body: form })).status, 200)

  await gateway.call(FL, 'fl.list_transfers', {}, reader)
  await post(`${gateway.url}${FL}/call/fl.list_transfers`, '{}', reader)
  const one = (id: number) => ({ jsonrpc: '2.0', id, method: 'fl.list_transfers', params: {} })
  await post(`${gateway.url}${FL}`, JSON.stringify([one(1), one(2)]), reader)
  await fetch(`${gateway.url}/tiles/town/tiles.json`, { headers: reader })
  await fetch(`${gateway.url}/api/v1/dataloaderapi/stream/x`, { method: 'POST', headers: reader })
  const acts = gateway.logLines.filter((line) => line.audit === true && line.requestId !== undefined)
  t.same(
    acts.map(({ act, method }) => (method === undefined ? act : [act, method])),
    [
      'session.open_session',
      'session.open_session',
      'session.end_session',
      'model_store.model.put',
      ['forbidden', 'fl.list_transfers'],
      ['forbidden', 'fl.list_transfers'],
      ['forbidden', 'fl.list_transfers'],
      ['forbidden', 'fl.list_transfers'],
      ['forbidden', '/tiles/:map/tiles.json'],
      ['forbidden', 'stream'],
    ],
  )
  for (const { keyId, address } of acts) {
    t.equal(keyId, reader.APIKey)
    t.equal(address, '127.0.0.1')
  }
})

t.test('audit: acts of the command line come into the log of the gateway, once', async (t) => {
  const cwd = t.testdir()
  const run = (...argv: string[]) => cli(cwd, argv)
  await run('init')
  const pair = JSON.parse(
    (await run('key', 'create', '--name', 'meter', '--scope', 'map:read', '--json')).stdout,
  )
  const rotated = JSON.parse((await run('key', 'rotate', 'meter', '--json')).stdout)
  await run('key', 'revoke', 'meter')
  await run('sync', 'pause')
  const gateway = await startGateway(t, { dataDir: path.join(cwd, 'data') })
  const acts = () => gateway.logLines.filter((line) => line.audit === true && typeof line.atUs === 'number')
  await until('five acts', () => acts().length >= 5)
  t.match(acts(), [
    { act: 'key-create', keyName: 'admin' },
    { act: 'key-create', keyId: pair.apiKey, keyName: 'meter', scopes: 'map:read' },
    { act: 'key-rotate', keyId: pair.apiKey },
    { act: 'key-revoke', keyId: pair.apiKey },
    { act: 'sync-pause' },
  ])
  for (const secret of [pair.secret, rotated.secret])
    t.notOk(JSON.stringify(gateway.logLines).includes(secret))
  await gateway.gateway.stop()
  const again = await startGateway(t, { dataDir: path.join(cwd, 'data') })
  t.same(
    again.logLines.filter((line) => typeof line.atUs === 'number'),
    [],
  )
})
