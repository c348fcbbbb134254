import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { putModel } from '../../support/models.js'
import { pairHeaders, startGateway } from '../../support/start-gateway.js'

t.test('download: whole, ranges, conditions and digests', async (t) => {
  const gateway = await startGateway(t)
  const bytes = randomBytes(700_000)
  const { body: info } = await putModel(gateway, bytes)
  const sha256 = createHash('sha256').update(bytes).digest()
  const etag = `"${sha256.toString('hex')}"`
  const get = async (headers: Record<string, string> = {}, method = 'GET', id = info.model_id) => {
    const response = await fetch(`${gateway.url}/api/v2/model_store/models/${id}/file`, {
      method,
      headers: { ...pairHeaders(gateway.admin), ...headers },
    })
    return {
      status: response.status,
      headers: response.headers,
      bytes: Buffer.from(await response.arrayBuffer()),
    }
  }
  const whole = await get()
  t.equal(whole.status, 200)
  t.ok(whole.bytes.equals(bytes))
  const digest = `sha-256=:${sha256.toString('base64')}:`
  t.equal(whole.headers.get('content-digest'), digest)
  t.equal(whole.headers.get('repr-digest'), digest)
  t.equal(whole.headers.get('etag'), etag)
  t.equal(whole.headers.get('accept-ranges'), 'bytes')
  const head = await get({}, 'HEAD')
  t.same([head.status, head.bytes.length, head.headers.get('content-length')], [200, 0, '700000'])
  for (const [range, start, end] of [
    ['bytes=0-0', 0, 1],
    ['bytes=699999-', 699_999, 700_000],
    ['bytes=100-300000', 100, 300_001],
    ['bytes=-5', 699_995, 700_000],
    ['bytes=5-9999999', 5, 700_000],
  ] as const) {
    const part = await get({ range })
    t.equal(part.status, 206, range)
    t.ok(part.bytes.equals(bytes.subarray(start, end)), range)
    t.equal(part.headers.get('content-range'), `bytes ${start}-${end - 1}/700000`)
    t.equal(part.headers.get('content-digest'), null, 'a digest of a part would be another one')
  }
  for (const range of ['bytes=700000-', 'bytes=-0']) {
    const none = await get({ range })
    t.same([none.status, none.headers.get('content-range')], [416, 'bytes */700000'], range)
  }
  for (const range of ['bytes=5-2', 'bytes=0-1,5-6', 'lines=1-2', 'bytes=-'])
    t.equal((await get({ range })).status, 200, `${range}: the whole`)
  t.equal((await get({ range: 'bytes=0-1', 'if-range': '"other"' })).status, 200)
  t.equal((await get({ range: 'bytes=0-1', 'if-range': etag })).status, 206)
  t.equal((await get({ 'if-none-match': etag })).status, 304)
  t.equal((await get({ 'if-none-match': `"x", W/${etag}` })).status, 304)
  t.equal((await get({ 'if-none-match': '"x"' })).status, 200)
  t.equal((await get({}, 'GET', 'nothing')).status, 404)
  t.equal((await get({}, 'POST')).status, 405)
  t.equal((await get({ Secret: 'no' })).status, 401)
  const other = await gateway.makeKey(['fl:write'])
  t.equal((await get(pairHeaders(other))).status, 403)
})

t.test('download: MODEL_DAMAGED when the bytes were put aside, whole again after a put', async (t) => {
  const dataDir = path.join(t.testdir(), 'data')
  const first = await startGateway(
    { ...t, testdir: () => t.testdir(), teardown: () => undefined },
    { dataDir },
  )
  const bytes = randomBytes(5000)
  const { body: info } = await putModel(first, bytes)
  const gone = await putModel(first, randomBytes(10))
  await first.gateway.stop()
  const fileOf = (sha256: string) => path.join(dataDir, 'models', sha256.slice(0, 2), sha256)
  truncateSync(fileOf(info.model_sha256), 17)
  rmSync(fileOf(gone.body.model_sha256))
  const second = await startGateway(t, { dataDir })
  const get = async (id: string) =>
    await fetch(`${second.url}/api/v2/model_store/models/${id}/file`, { headers: pairHeaders(second.admin) })
  for (let i = 0; i < 100 && (await get(info.model_id)).status === 200; i++)
    await new Promise((r) => setTimeout(r, 20))
  const refused = await get(info.model_id)
  t.match(await refused.json(), { error: { data: { name: 'MODEL_DAMAGED' } } })
  t.equal((await get(gone.body.model_id)).status, 500)
  t.ok(
    second.logLines.some((line) => /moved to quarantine/.test(String(line.msg))),
    'logged',
  )
  await putModel(second, bytes)
  const healed = await get(info.model_id)
  t.equal(healed.status, 200)
  t.ok(Buffer.from(await healed.arrayBuffer()).equals(bytes))
})

t.test('download: a flipped byte cuts the connection and quarantines the model at once', async (t) => {
  const gateway = await startGateway(t)
  const { body } = await putModel(gateway, randomBytes(500_000))
  const file = path.join(gateway.dataDir, 'models', body.model_sha256.slice(0, 2), body.model_sha256)
  const bytes = readFileSync(file)
  bytes.writeUInt8(bytes.readUInt8(1000) ^ 1, 1000)
  writeFileSync(file, bytes)
  const url = `${gateway.url}/api/v2/model_store/models/${body.model_id}/file`
  const headers = pairHeaders(gateway.admin)
  await t.rejects(fetch(url, { headers }).then((response) => response.arrayBuffer()))
  const next = await fetch(url, { headers })
  t.equal(next.status, 500)
  t.match(await next.json(), { error: { data: { name: 'MODEL_DAMAGED' } } })
  t.same(readdirSync(path.join(gateway.dataDir, 'models/quarantine')).length, 1)
})
