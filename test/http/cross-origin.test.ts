import t from 'tap'
import { listEndpoints } from '../support/endpoints.js'
import { openRaw } from '../support/raw-http.js'
import { type KeyPair, pairHeaders, startGateway } from '../support/start-gateway.js'

const STREAM = '/api/v1/dataloaderapi/stream/rain'
const UPLOAD = '/api/v2/model_store/jsonrpc/upload/model_store.model.put'
const SESSION = '/api/v1/session/jsonrpc'
const OPEN = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'session.open_session', params: {} })

const basic = ({ apiKey, secret }: KeyPair) => ({
  Authorization: `Basic ${Buffer.from(`${apiKey}:${secret}`).toString('base64')}`,
})

/** Sends a request byte by byte as a browser would: `fetch` refuses to set `Host` and `Sec-Fetch-Site`. */
async function send(url: string, verb: string, path: string, headers: Record<string, string>, body = '') {
  const socket = await openRaw(url)
  const all = {
    Host: new URL(url).host,
    ...headers,
    'Content-Length': String(body.length),
    Connection: 'close',
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.send(`${verb} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`)
  const received = await socket.closed()
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(received)?.[1]), received }
}

t.test('cross-origin: a page of another site writes nothing, whatever the path and the verb', async (t) => {
  const { url, admin, gateway } = await startGateway(t)
  const foreign: Record<string, string>[] = [
    { Origin: 'https://evil.example' },
    { Origin: 'null' },
    { Origin: `${url}.evil.example` },
    { Origin: `http://evil.example#${new URL(url).host}` },
    { 'Sec-Fetch-Site': 'cross-site' },
    { 'Sec-Fetch-Site': 'same-site' },
    { 'Sec-Fetch-Site': 'cross-site', Origin: url },
  ]
  const paths = [...new Set(gateway.routes.map(({ path }) => path.replace(/:\w+/g, 'x').replace('*', 'x')))]
  for (const verb of ['POST', 'PATCH', 'PUT', 'DELETE'])
    for (const path of paths.filter((one) => !/^\/(?:healthz|readyz)$/.test(one))) {
      const { status, received } = await send(url, verb, path, { ...pairHeaders(admin), ...foreign[0] })
      t.equal(status, 403, `${verb} ${path}: ${received.slice(0, 200)}`)
    }
  for (const path of [STREAM, UPLOAD, SESSION])
    for (const headers of foreign) {
      for (const credentials of [pairHeaders(admin), basic(admin)]) {
        const { status, received } = await send(url, 'POST', path, { ...credentials, ...headers }, OPEN)
        t.equal(status, 403, `${path} ${JSON.stringify(headers)}`)
        t.match(received, /"name":"FORBIDDEN"/)
      }
    }
})

t.test('cross-origin: its own pages, programs, and pages of server.publicUrl write', async (t) => {
  const settings = { server: { publicUrl: 'https://gate.example/field' } }
  const { url, admin } = await startGateway(t, { settings })
  const own: Record<string, string>[] = [
    {},
    { Origin: url },
    { Origin: url.toUpperCase().replace('HTTP', 'http') },
    { Origin: 'https://gate.example' },
    { Origin: 'https://gate.example', 'Sec-Fetch-Site': 'same-origin' },
    { 'Sec-Fetch-Site': 'same-origin' },
    { 'Sec-Fetch-Site': 'none' },
    { Host: 'gate.example:80', Origin: 'http://gate.example' },
    { Host: 'gate.example', Origin: 'https://gate.example:443' },
  ]
  for (const headers of own) {
    const all = { ...pairHeaders(admin), 'Content-Type': 'application/json', ...headers }
    const { status, received } = await send(url, 'POST', SESSION, all, OPEN)
    t.equal(status, 200, `${JSON.stringify(headers)}: ${received}`)
  }
  const read = await send(url, 'GET', '/ogc', { ...basic(admin), Origin: 'https://evil.example' })
  t.equal(read.status, 200, 'reading changes nothing')
  t.match(read.received, /cross-origin-resource-policy: same-origin/i, 'and no other page shows it')
  t.notMatch(read.received, /access-control-allow-origin/i)
})

t.test(
  'cross-origin: HTTP Basic is accepted where map programs and Prometheus read, and nowhere else',
  async (t) => {
    const gateway = await startGateway(t, { settings: { limits: { signInFailuresPerMinute: 10_000 } } })
    const { url, admin } = gateway
    const takes = (path: string) => /^\/(ogc|tiles|metrics)\b/.test(path)
    for (const { verb, path, title, scope, body } of await listEndpoints(gateway)) {
      if (scope === 'open' || verb === 'OPTIONS') continue
      const content = { 'Content-Type': 'application/json' }
      const { status, received } = await send(
        url,
        verb,
        path,
        { ...basic(admin), ...content },
        String(body ?? ''),
      )
      const isRead = takes(path) && (verb === 'GET' || verb === 'HEAD')
      t.equal(status === 401, !isRead, `${title}: ${status}`)
      if (status !== 401) continue
      if (verb !== 'HEAD')
        t.match(received, /Found the header Authorization, expected the headers APIKey and Secret/, title)
      t.match(received, /www-authenticate: APIKey /i, `${title}: a browser is not asked for a password`)
    }
    const unsigned = await send(url, 'GET', '/ogc', {})
    t.match(unsigned.received, /www-authenticate: Basic realm="fieldgate"/i)
  },
)
