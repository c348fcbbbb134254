import t from 'tap'
import { AppError } from '../../../src/errors.js'
import { call, post, startTransport } from '../../support/transport.js'

t.test('document: a fault of its maker is a refusal, out of disk 507 with Retry-After', async (t) => {
  const document = () => {
    throw new AppError('DISK_FULL')
  }
  const { port } = await startTransport(t, {}, { document })
  const refused = await fetch(`http://127.0.0.1:${port}/document.json`)
  t.equal(refused.status, 507)
  t.equal(refused.headers.get('retry-after'), '60', 'space is freed by people')
  t.match(await refused.json(), { error: { data: { name: 'DISK_FULL' } } })
})

t.test('document: made once, answered without credentials, to GET and HEAD alone', async (t) => {
  let made = 0
  const { port } = await startTransport(t, {}, { document: () => ({ made: ++made }) })
  const url = `http://127.0.0.1:${port}/document.json`
  t.same(await (await fetch(url)).json(), { made: 1 })
  t.same(await (await fetch(url)).json(), { made: 1 })
  const head = await fetch(url, { method: 'HEAD' })
  t.match([head.status, await head.text()], [200, ''])
  const refused = await fetch(url, { method: 'POST' })
  t.match([refused.status, refused.headers.get('allow')], [405, 'GET, HEAD'])
})

t.test('document: an entity tag answers 304, and every answer has the same bytes', async (t) => {
  const { port } = await startTransport(t, {}, { document: () => ({ title: 'a' }) })
  const url = `http://127.0.0.1:${port}/document.json`
  const first = await fetch(url)
  const etag = first.headers.get('etag') ?? ''
  t.match(etag, /^"[0-9a-f]{32}"$/)
  t.equal(first.headers.get('content-length'), String(Buffer.byteLength(await first.text())))
  const known = await fetch(url, { headers: { 'If-None-Match': etag } })
  t.match([known.status, await known.text()], [304, ''])
})

t.test('document: a long one is sent compressed to who takes that, under a tag of its own', async (t) => {
  const body = { title: 'word '.repeat(1000) }
  const { port } = await startTransport(t, {}, { document: () => body })
  const get = (headers: Record<string, string>) =>
    fetch(`http://127.0.0.1:${port}/document.json`, { headers })
  const packed = await get({ 'Accept-Encoding': 'gzip' })
  t.match([packed.headers.get('content-encoding'), packed.headers.get('vary')], ['gzip', 'Accept-Encoding'])
  t.ok(Number(packed.headers.get('content-length')) < 500)
  t.same(await packed.json(), body)
  const plain = await get({ 'Accept-Encoding': 'identity' })
  t.equal(plain.headers.get('content-encoding'), null)
  t.same(await plain.json(), body)
  const etag = packed.headers.get('etag') ?? ''
  t.not(etag, plain.headers.get('etag'))
  t.equal((await get({ 'Accept-Encoding': 'gzip', 'If-None-Match': etag })).status, 304)
})

t.test(
  'strangers: an allowance for each address, 429 with Retry-After beyond it; health has none',
  async (t) => {
    const { port } = await startTransport(t, { anonymousPerMinute: 2 }, { trustedProxies: ['127.0.0.1'] })
    const get = (path: string, headers: Record<string, string> = {}) =>
      fetch(`http://127.0.0.1:${port}${path}`, { headers })
    t.equal((await get('/document.json')).status, 200)
    t.equal((await get('/nothing')).status, 404)
    const refused = await get('/nothing')
    t.equal(refused.status, 429)
    t.ok(Number(refused.headers.get('retry-after')) > 0)
    t.match(await refused.json(), { error: { data: { name: 'RATE_LIMITED' } } })
    t.equal((await get('/healthz')).status, 200)
    t.equal(
      (await get('/document.json', { 'X-Forwarded-For': '203.0.113.9' })).status,
      200,
      'another address',
    )
    t.equal((await post(port, call('test.echo', { text: '' }))).status, 200, 'a caller with a key')
  },
)

t.test('strangers: credentials that no route checks do not pass by the allowance', async (t) => {
  const { port } = await startTransport(t, { anonymousPerMinute: 2 })
  const get = (path: string, headers: Record<string, string>) =>
    fetch(`http://127.0.0.1:${port}${path}`, { headers })
  const invented = { APIKey: 'x', Secret: 'x' }
  t.equal((await get('/document.json', invented)).status, 200)
  t.equal((await get('/nothing', { Authorization: 'x' })).status, 404)
  for (const headers of [invented, { Authorization: 'x' }]) {
    const refused = await get('/document.json', headers)
    t.equal(refused.status, 429)
    t.equal(refused.headers.get('etag'), null, 'nothing of the document is left')
    t.match(await refused.json(), { error: { data: { name: 'RATE_LIMITED' } } })
  }
  t.equal((await get('/healthz', invented)).status, 200)
  t.equal((await post(port, call('test.echo', { text: '' }))).status, 200, 'a caller with a key')
})
