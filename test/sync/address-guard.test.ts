import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { createAddressCheck } from '../../src/sync/address-guard.js'
import { createUpstreamClient } from '../../src/sync/http-client.js'
import { rejectsWith } from '../support/rejects-with.js'

const NEVER = [
  '0.0.0.0',
  '169.254.169.254',
  '169.254.1.1',
  '224.0.0.1',
  '255.255.255.255',
  '240.0.0.1',
  '100.100.100.200',
  '192.0.0.192',
  '::',
  'fe80::1',
  'ff02::1',
  'fd00:ec2::254',
  '::ffff:169.254.169.254',
  '::169.254.169.254',
  '64:ff9b::a9fe:a9fe',
  '2002:a9fe:a9fe::1',
  '2001:0:1::1',
  'not an address',
  '',
  '2130706433',
  'localhost',
] // prettier-ignore
const LOOPBACK = ['127.0.0.1', '127.255.255.254', '::1', '::ffff:127.0.0.1']
const PRIVATE = [
  '10.1.2.3',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '100.64.0.1',
  'fc00::1',
  'fd12::1',
  '::ffff:10.0.0.1',
]
const PUBLIC = ['8.8.8.8', '1.1.1.1', '172.32.0.1', '2606:4700::1111', '::ffff:8.8.8.8']

t.test('address guard: what may be connected to', async (t) => {
  const strict = createAddressCheck({ allowPrivate: false, allowLoopback: false })
  const edge = createAddressCheck({ allowPrivate: true, allowLoopback: false })
  const demo = createAddressCheck({ allowPrivate: true, allowLoopback: true })
  for (const address of NEVER) t.ok(strict(address) && edge(address) && demo(address), `never ${address}`)
  for (const address of LOOPBACK)
    t.ok(strict(address) && edge(address) && !demo(address), `loopback ${address}`)
  for (const address of PRIVATE)
    t.ok(strict(address) && !edge(address) && !demo(address), `private ${address}`)
  for (const address of PUBLIC)
    t.notOk(strict(address) || edge(address) || demo(address), `public ${address}`)
})

t.test('address guard: asked when connecting, by name and for every spelling of an address', async (t) => {
  let calls = 0
  const server = createServer((_request, response) => {
    calls++
    response.end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const signal = new AbortController().signal
  const settings = {
    idleTimeoutMs: 1000,
    connectTimeoutMs: 1000,
    maxReplyBytes: 1000,
    allowPrivate: true,
    userAgent: 'test',
  }
  const send = async (host: string, allowLoopback: boolean) => {
    const client = createUpstreamClient(
      `http://${host}:${port}`,
      { apikey: 'a', secret: 'b' },
      { ...settings, allowLoopback },
    )
    t.teardown(() => client.close())
    return await client.send({ method: 'GET', path: '/', signal })
  }
  for (const host of [
    'localhost',
    '127.0.0.1',
    '2130706433',
    '0x7f.1',
    '127.1',
    '0',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[::]',
  ])
    await rejectsWith(t, send(host, false), 'UPSTREAM_UNREACHABLE', {
      message: /is not allowed for upstreams/,
    })
  t.equal(calls, 0)
  t.equal((await send('127.0.0.1', true)).status, 200)
  t.equal((await send('localhost', true)).status, 200)
})

t.test(
  'http client: replies are capped, redirects are not followed, a silent peer is given up',
  async (t) => {
    const server = createServer((request, response) => {
      if (request.url === '/large') response.end('x'.repeat(5000))
      else if (request.url === '/redirect') response.writeHead(302, { location: '/large' }).end()
      else if (request.url === '/pieces') response.write('{')
    })
    await new Promise<void>((resolve) => server.listen(0, resolve))
    t.teardown(() => {
      server.closeAllConnections()
      server.close()
    })
    const { port } = server.address() as AddressInfo
    const client = createUpstreamClient(
      `http://127.0.0.1:${port}`,
      { apikey: 'a', secret: 'b' },
      {
        idleTimeoutMs: 300,
        connectTimeoutMs: 1000,
        maxReplyBytes: 1000,
        allowPrivate: true,
        allowLoopback: true,
        userAgent: 'test',
      },
    ) // prettier-ignore
    t.teardown(() => client.close())
    const { signal } = new AbortController()
    const get = (path: string) => client.send({ method: 'GET', path, signal })
    await rejectsWith(
      t,
      get('/large').then((reply) => reply.text()),
      'UPSTREAM_REFUSED',
      { message: /more than 1000 bytes/ },
    )
    t.equal((await get('/redirect')).status, 302)
    await rejectsWith(t, get('/silent'), 'UPSTREAM_UNREACHABLE')
    await rejectsWith(
      t,
      get('/pieces').then((reply) => reply.text()),
      'UPSTREAM_UNREACHABLE',
    )
  },
)
