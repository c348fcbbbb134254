import dns from 'node:dns'
import { createServer } from 'node:http'
import net, { type AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { createAddressCheck, createGuardedConnector } from '../../src/sync/address-guard.js'
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

/** Lets every name have these addresses until the end of a test. Returns what was asked for. */
function resolveTo(t: Test, ...addresses: string[]) {
  const asked: { host: string; options: dns.LookupAllOptions }[] = []
  const { lookup } = dns
  const replaced = (
    host: string,
    options: dns.LookupAllOptions,
    callback: (error: null, list: dns.LookupAddress[]) => void,
  ) => {
    asked.push({ host, options })
    setImmediate(() =>
      callback(
        null,
        addresses.map((address) => ({ address, family: net.isIP(address) })),
      ),
    )
  }
  dns.lookup = replaced as typeof lookup
  t.teardown(() => {
    dns.lookup = lookup
  })
  return asked
}

/** Connects to a name at a port of this machine. */
async function connectTo(port: number, host = 'up.example'): Promise<Error | undefined> {
  const connector = createGuardedConnector({
    allowPrivate: true,
    allowLoopback: true,
    connectTimeoutMs: 20_000,
  })
  return await new Promise((resolve) =>
    connector({ hostname: host, protocol: 'http:', port: String(port) }, (error, socket) => {
      socket?.destroy()
      resolve(error ?? undefined)
    }),
  )
}

async function listening(t: Test): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

t.test('address guard: a name with allowed and refused addresses is refused', async (t) => {
  const port = await listening(t)
  for (const addresses of [
    ['127.0.0.1', '169.254.169.254'],
    ['224.0.0.1', '127.0.0.1'],
    ['::1', 'fe80::1'],
  ]) {
    const asked = resolveTo(t, ...addresses)
    t.match(await connectTo(port), {
      code: 'EADDRREFUSED',
      message: 'the address of up.example is not allowed for upstreams',
    })
    t.match(asked, [{ host: 'up.example', options: { all: true } }])
  }
  resolveTo(t, '127.0.0.1')
  t.equal(await connectTo(port), undefined)
})

t.test('address guard: a name without an address is refused', async (t) => {
  resolveTo(t)
  t.match(await connectTo(9), { code: 'EADDRREFUSED' })
})

t.test('address guard: the error of the resolver is the error of the connection', async (t) => {
  const { lookup } = dns
  dns.lookup = ((_host: string, _options: object, callback: (error: Error) => void) =>
    setImmediate(() => callback(Object.assign(new Error('no such host'), { code: 'ENOTFOUND' })))) as never
  t.teardown(() => {
    dns.lookup = lookup
  })
  t.match(await connectTo(9), { code: 'ENOTFOUND', message: 'no such host' })
})

t.test('address guard: one address is handed over where a connection takes no list', async (t) => {
  const before = net.getDefaultAutoSelectFamily()
  net.setDefaultAutoSelectFamily(false)
  t.teardown(() => net.setDefaultAutoSelectFamily(before))
  const port = await listening(t)
  resolveTo(t, '127.0.0.1')
  t.equal(await connectTo(port), undefined)
  resolveTo(t, '169.254.169.254')
  t.match(await connectTo(port), { code: 'EADDRREFUSED' })
})

t.test('address guard: IPv4 inside IPv6 without a mark is refused, but for loopback', async (t) => {
  const demo = createAddressCheck({ allowPrivate: true, allowLoopback: true })
  t.same(['::127.0.0.1', '::8.8.8.8', '::1', '127.0.0.1', '8.8.8.8'].map(demo), [
    true,
    true,
    false,
    false,
    false,
  ])
})
