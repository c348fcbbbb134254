import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { type Endpoint, listEndpoints, unreachedRoutes } from '../support/endpoints.js'
import { type KeyPair, pairHeaders, startGateway, type TestGateway } from '../support/start-gateway.js'

const SESSION = '/api/v1/session/jsonrpc'
const AREAS = ['session', 'dataproc', 'loader', 'map', 'dataset', 'fl', 'model', 'route', 'sync']

const FLEET_SCOPES = ['fleet:admin', 'fleet:join', 'fleet:member']
/** Methods of keys that belong to a gateway of the fleet: nobody here has one. */
const OF_MEMBERS = ['fleet.leave', 'fleet.leave (REST)']

/** How somebody comes, and what is to become of it. */
interface Visitor {
  title: string
  headers(endpoint: Endpoint): Record<string, string>
  expected(endpoint: Endpoint): 'in' | 401 | 403
}

/** What no refusal may hold: a stack, SQL, a file of ours. */
const LEAKS = /\bat [\w.<>]+ \(|node_modules|src\/|SQLITE_|\bSELECT \b|\bINSERT \b|\.db\b|fgs_/

t.test('access: every endpoint and method, by everybody who may or may not', async (t) => {
  const gateway = await startGateway(t, { settings: { limits: { signInFailuresPerMinute: 1_000_000 } } })
  await makeCollections(gateway)
  const endpoints = await listEndpoints(gateway)
  t.same(unreachedRoutes(gateway.gateway.routes, endpoints), [], 'every route of the router is tried')
  const { visitors, secrets } = await inviteVisitors(gateway)
  t.comment(`${''.padEnd(52)}${visitors.map(({ title }) => title.padEnd(14)).join('')}`)
  const wrong: string[] = []
  for (const endpoint of endpoints) {
    const cells = []
    for (const visitor of visitors) {
      const { status, text } = await visit(gateway, endpoint, visitor.headers(endpoint))
      const found = status === 401 || status === 403 ? status : 'in'
      cells.push(`${found} ${status}`.padEnd(14))
      const expected = endpoint.scope === 'open' ? 'in' : visitor.expected(endpoint)
      if (found !== expected || (status >= 500 && status !== endpoint.status))
        wrong.push(
          `${endpoint.title}, ${visitor.title}: found ${status}, expected ${expected}: ${text.slice(0, 200)}`,
        )
      const leak = secrets.find((secret) => text.includes(secret)) ?? LEAKS.exec(text)?.[0]
      if (leak !== undefined && status >= 400)
        wrong.push(`${endpoint.title}, ${visitor.title}: tells ${leak}`)
    }
    t.comment(`${endpoint.title.slice(0, 50).padEnd(52)}${cells.join('')}`)
  }
  t.same(wrong, [])
  t.ok(endpoints.length > 120, `${endpoints.length} endpoints`)
})

t.test('access: whatever is wrong with the credentials, the answer is the same', async (t) => {
  const gateway = await startGateway(t)
  const { visitors } = await inviteVisitors(gateway)
  const endpoint = { title: '', verb: 'POST', path: SESSION, scope: 'none' as const, body: '{}' }
  // who sends no credentials is told which headers to send
  const refused = visitors.filter((one) => one.title !== 'nobody' && one.expected(endpoint) === 401)
  const kindOf = (headers: Record<string, string>) => ('Svc-Session-Token' in headers ? 'token' : 'key')
  const answers: Record<string, Set<string>> = { key: new Set(), token: new Set() }
  for (const visitor of refused) {
    const headers = visitor.headers(endpoint)
    const { text } = await visit(gateway, endpoint, headers)
    answers[kindOf(headers)]?.add(text.replace(/"requestId":"[^"]*"/, ''))
  }
  t.same([answers.key?.size, answers.token?.size], [1, 1])
})

/** A table and a dataset, so that those who may read the collections find something. */
async function makeCollections({ call }: TestGateway): Promise<void> {
  await call('/api/v1/dataloaderapi/jsonrpc', 'loaderwebapi.register_loader', {
    data_name: 'here',
    record_def: { n: { udt_name: 'int4' } },
    unique_columns: ['n'],
  })
  await call('/api/v2/dataset/jsonrpc', 'dataset.create', {
    dataset_name: 'here',
    columns: [{ column_name: 'n', data_type: 'int' }],
  })
}

async function inviteVisitors(gateway: TestGateway): Promise<{ visitors: Visitor[]; secrets: string[] }> {
  const { admin, makeKey, revokeKey } = gateway
  const readOnly = await makeKey(AREAS.map((area) => `${area}:read`))
  const byArea = new Map<string, KeyPair>()
  byArea.set('fleet', await makeKey(FLEET_SCOPES))
  for (const area of AREAS) byArea.set(area, await makeKey([`${area}:read`, `${area}:write`]))
  const revoked = await makeKey(['admin'])
  const over = await makeKey(['admin'], Date.now() * 1000 - 1)
  const tokenOfRevoked = await openSession(gateway, revoked, 3600)
  const expired = await openSession(gateway, admin, 1)
  const closed = await openSession(gateway, admin, 3600)
  const token = await openSession(gateway, admin, 3600)
  await revokeKey(revoked.apiKey)
  await gateway.call(SESSION, 'session.close_session', { token: closed })
  while (await isActive(gateway, expired)) await sleep(50)
  const areaOf = ({ scope }: Endpoint) => scope.split(':')[0] ?? ''
  const mine = (endpoint: Endpoint) => byArea.get(areaOf(endpoint)) ?? readOnly
  const others = (endpoint: Endpoint) => byArea.get(areaOf(endpoint) === 'map' ? 'fl' : 'map') ?? readOnly
  const withToken = (text: string) => ({ 'Svc-Session-Token': text })
  const never = (title: string, headers: Record<string, string>): Visitor => ({
    title,
    headers: () => headers,
    expected: () => 401,
  })
  const visitors: Visitor[] = [
    {
      title: 'nobody',
      headers: () => ({}),
      expected: ({ title }) => (title.startsWith('rpc.discover') ? 'in' : 401),
    },
    never('wrong secret', pairHeaders({ ...admin, secret: readOnly.secret })),
    never('revoked key', pairHeaders(revoked)),
    never('expired key', pairHeaders(over)),
    never('expired token', withToken(expired)),
    never('closed token', withToken(closed)),
    never('its key gone', withToken(tokenOfRevoked)),
    never('no such token', { ...pairHeaders(admin), ...withToken(randomUUID()) }),
    {
      title: 'read-only',
      headers: () => pairHeaders(readOnly),
      expected: ({ scope }) => (scope === 'none' || scope.endsWith(':read') ? 'in' : 403),
    },
    {
      title: "another API's",
      headers: (endpoint) => pairHeaders(others(endpoint)),
      expected: ({ scope }) => (scope === 'none' ? 'in' : 403),
    },
    { title: 'its own', headers: (endpoint) => pairHeaders(mine(endpoint)), expected: inUnlessMember },
    { title: 'admin token', headers: () => withToken(token), expected: inUnlessMember },
  ]
  const pairs = [admin, readOnly, revoked, over, ...byArea.values()]
  const secrets = [
    ...pairs.map(({ secret }) => secret),
    expired,
    closed,
    token,
    tokenOfRevoked,
    gateway.dataDir,
  ]
  return { visitors, secrets }
}

const inUnlessMember = ({ title }: Endpoint) => (OF_MEMBERS.includes(title) ? 403 : 'in')

async function openSession({ call }: TestGateway, pair: KeyPair, expires_in: number): Promise<string> {
  const { body } = await call(SESSION, 'session.open_session', { expires_in }, pairHeaders(pair))
  return body.result.access_token
}

async function isActive({ call }: TestGateway, token: string): Promise<boolean> {
  return (await call(SESSION, 'session.verify_session_token', { token })).body.result.active
}

async function visit({ url }: TestGateway, endpoint: Endpoint, headers: Record<string, string>) {
  const { verb, path, body, type = 'application/json' } = endpoint
  const response = await fetch(url + path, {
    method: verb,
    headers: { ...headers, ...(body === undefined ? {} : { 'Content-Type': type }) },
    ...(body === undefined ? {} : { body }),
  })
  return { status: response.status, text: await response.text() }
}
