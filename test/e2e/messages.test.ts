import t from 'tap'
import { matchGolden, messageList } from '../support/golden.js'
import { pairHeaders, startGateway } from '../support/start-gateway.js'

const SESSION = '/api/v1/session/jsonrpc'
const DATASET = '/api/v2/dataset/jsonrpc'
const MODELS = '/api/v2/model_store/jsonrpc'
const UPLOADS = '/api/v2/model_store/uploads'
const TUS = { 'Tus-Resumable': '1.0.0' }

interface Refused {
  readonly title: string
  readonly path: string
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: string
  /** a caller without a key */
  readonly isStranger?: boolean
}

const rpc = (method: string, more: object = {}) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, ...more })
const metadata = (data: object, sha256 = 'a'.repeat(64)) =>
  `data ${Buffer.from(JSON.stringify(data)).toString('base64')},sha256 ${Buffer.from(sha256).toString('base64')}`

/** Requests that are refused before a method, or by a path that has none. */
const REFUSED: readonly Refused[] = [
  { title: 'no key', path: SESSION, isStranger: true, body: rpc('session.open_session') },
  { title: 'half a key', path: SESSION, isStranger: true, headers: { APIKey: 'x' }, body: '{}' },
  { title: 'wrong key', path: SESSION, isStranger: true, headers: { APIKey: 'x', Secret: 'y' }, body: '{}' },
  { title: 'ended session', path: SESSION, headers: { 'Svc-Session-Token': 'x' }, body: '{}' },
  { title: 'basic', path: SESSION, isStranger: true, headers: { Authorization: 'Basic eDp5' }, body: '{}' },
  { title: 'unknown path', path: '/api/v9/nothing' },
  { title: 'wrong HTTP method', path: SESSION, method: 'PUT', body: '{}' },
  { title: 'wrong content type', path: SESSION, headers: { 'Content-Type': 'text/plain' }, body: '{}' },
  { title: 'not JSON', path: SESSION, body: '{"a":' },
  { title: 'too deep', path: SESSION, body: '['.repeat(65) },
  { title: 'lone surrogate', path: SESSION, body: rpc('a').replace('"a"', '"\\ud800"') },
  { title: 'no request', path: SESSION, body: '5' },
  { title: 'empty batch', path: SESSION, body: '[]' },
  { title: 'long batch', path: SESSION, body: `[${Array(101).fill('1').join()}]` },
  { title: 'no version', path: SESSION, body: '{"id":1,"method":"a"}' },
  { title: 'large id', path: SESSION, body: '{"jsonrpc":"2.0","id":9007199254740993,"method":"a"}' },
  { title: 'no method', path: SESSION, body: '{"jsonrpc":"2.0","id":1}' },
  { title: 'params of no kind', path: SESSION, body: rpc('session.open_session', { params: 5 }) },
  { title: 'mistyped method', path: DATASET, body: rpc('dataset.creat') },
  { title: 'method of another path', path: SESSION, body: rpc('dataset.create') },
  { title: 'upload called as a method', path: MODELS, body: rpc('model_store.model.put') },
  { title: 'unknown upload method', path: `${MODELS}/upload/model_store.model.pit`, body: '{}' },
  { title: 'upload by GET', path: `${MODELS}/upload/model_store.model.put`, method: 'GET' },
  { title: 'upload that is no form', path: `${MODELS}/upload/model_store.model.put`, body: '{}' },
  { title: 'stream with an unknown query', path: '/api/v1/dataloaderapi/stream/x?if_exist=skip', body: '' },
  { title: 'alert', path: '/api/v1/alertapi/jsonrpc', body: '{}' },
  { title: 'unknown model', path: '/api/v2/model_store/models/x/file', method: 'GET' },
  { title: 'tus without a version', path: UPLOADS, headers: { 'Upload-Length': '1' }, body: '' },
  { title: 'tus without a length', path: UPLOADS, headers: TUS, body: '' },
  { title: 'tus without metadata', path: UPLOADS, headers: { ...TUS, 'Upload-Length': '1' }, body: '' },
  {
    title: 'tus of bad metadata',
    path: UPLOADS,
    headers: { ...TUS, 'Upload-Length': '1', 'Upload-Metadata': metadata({}) },
    body: '',
  },
  {
    title: 'tus that is too large',
    path: UPLOADS,
    headers: { ...TUS, 'Upload-Length': '99999999999999', 'Upload-Metadata': metadata({}) },
    body: '',
  },
  { title: 'unknown tus upload', path: `${UPLOADS}/x`, method: 'DELETE', headers: TUS },
  { title: 'tus by PUT', path: `${UPLOADS}/x`, method: 'PUT', headers: TUS, body: '' },
  {
    title: 'tus of another content type',
    path: `${UPLOADS}/x`,
    method: 'PATCH',
    headers: { ...TUS, 'Upload-Offset': '0' },
    body: 'x',
  },
  {
    title: 'tus without an offset',
    path: `${UPLOADS}/x`,
    method: 'PATCH',
    headers: { ...TUS, 'Content-Type': 'application/offset+octet-stream' },
    body: 'x',
  },
]

t.test('messages: refusals of the transport have JSON-RPC bodies in words of the wire', async (t) => {
  const gateway = await startGateway(t)
  const messages = messageList(t)
  for (const { title, path, method = 'POST', headers = {}, body, isStranger = false } of REFUSED) {
    const response = await fetch(`${gateway.url}${path}`, {
      method,
      headers: {
        'Content-Type': 'application/json',
        ...(isStranger || 'Svc-Session-Token' in headers ? {} : pairHeaders(gateway.admin)),
        ...headers,
      },
      ...(body === undefined ? {} : { body }),
    })
    const text = await response.text()
    t.match(response.headers.get('content-type'), /^application\/json/, `${title}: ${text.slice(0, 200)}`)
    const { error } = JSON.parse(text)
    t.match(error, { code: Number, message: String, data: { name: String, requestId: String } }, title)
    messages.add(`${title} | ${response.status}`, error)
  }
  matchGolden(t, 'messages-of-the-transport.txt', messages.text())
})

t.test('rpc.discover: answered without a key, over JSON-RPC and REST; nothing else is', async (t) => {
  const gateway = await startGateway(t)
  const headers = { 'Content-Type': 'application/json' }
  const send = (path: string, body: string) =>
    fetch(`${gateway.url}${path}`, { method: 'POST', headers, body })
  for (const path of [SESSION, DATASET, MODELS]) {
    const answer = await send(path, rpc('rpc.discover'))
    t.match([answer.status, await answer.json()], [200, { id: 1, result: { openrpc: /^1\.4/ } }])
    t.match(await (await send(`${path}/call/rpc.discover`, '')).json(), { openrpc: /^1\.4/ })
  }
  for (const body of [
    rpc('session.open_session'),
    `[${rpc('rpc.discover')}]`,
    '{',
    `${rpc('rpc.discover')}${' '.repeat(5000)}`,
  ])
    t.equal((await send(SESSION, body)).status, 401, body.slice(0, 80))
})
