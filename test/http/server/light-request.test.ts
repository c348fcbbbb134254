import { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import t from 'tap'
import { lightRequest } from '../../../src/http/server/light-request.js'

/** A request as Node's parser gives it. */
function requestOf(
  url: string,
  host: string | undefined,
  { rawHeaders = [], socket = {} }: { rawHeaders?: string[]; socket?: object } = {},
) {
  const incoming = { method: 'GET', url, headers: { host }, rawHeaders, socket }
  const outgoing = Object.assign(new EventEmitter(), { destroyed: false, writableFinished: false })
  const request = () =>
    lightRequest(incoming as unknown as IncomingMessage, outgoing as unknown as ServerResponse)
  return { request, outgoing }
}

t.test('lightRequest: the URL is that of Host, target and scheme', async (t) => {
  const cases: [target: string, host: string, url: string][] = [
    ['/api/v1/x/jsonrpc', '127.0.0.1:8080', 'http://127.0.0.1:8080/api/v1/x/jsonrpc'],
    ['/a?b=c&d=%20', 'gateway.local', 'http://gateway.local/a?b=c&d=%20'],
    ['/', 'GATEWAY.local:80', 'http://gateway.local/'],
    ['/a/../b/./c', 'x', 'http://x/b/c'],
    ['/a/.hidden', 'x', 'http://x/a/.hidden'],
    ['//other/path', 'x', 'http://x//other/path'],
    ['/a b|ü', 'x', 'http://x/a%20b|%C3%BC'],
    ['/a?b=\\', 'x', 'http://x/a?b=\\'],
    ['/', '[::1]:8080', 'http://[::1]:8080/'],
    ['http://proxy.example/a/../b', 'x', 'http://proxy.example/b'],
  ]
  for (const [target, host, url] of cases) t.equal(requestOf(target, host).request().url, url)
  t.equal(requestOf('/a', 'x', { socket: { encrypted: true } }).request().url, 'https://x/a')
})

t.test('lightRequest: refuses what would be read as another host or path', async (t) => {
  const cases: [target: string, host: string | undefined, message: RegExp][] = [
    ['/', undefined, /Missing Host header/],
    ['/', '', /Missing Host header/],
    ['/', 'a/b', /Invalid Host header/],
    ['/', 'user@a', /Invalid Host header/],
    ['/', 'a?b', /Invalid Host header/],
    ['/', 'a#b', /Invalid Host header/],
    ['/', 'a\\b', /Invalid Host header/],
    ['/', 'a b', /Invalid URL/],
    ['/', 'a:99999', /Invalid URL/],
    ['/a\\b', 'x', /Backslash/],
    ['http://a\\b/', 'x', /Backslash/],
    ['*', 'x', /Invalid request target/],
    ['ftp://a/', 'x', /Invalid request target/],
    ['http://', 'x', /Invalid URL/],
  ]
  for (const [target, host, message] of cases)
    t.throws(requestOf(target, host).request, { message }, `${target} ${host}`)
})

t.test('lightRequest: headers by any case, several of a name joined', async (t) => {
  const rawHeaders = ['APIKey', 'a', 'apikey', 'b', 'Cookie', 'c=1', 'cookie', 'd=2', 'X-Empty', '']
  const { headers } = requestOf('/', 'x', { rawHeaders }).request()
  t.equal(headers.get('ApiKey'), 'a, b')
  t.equal(headers.get('cookie'), 'c=1; d=2')
  t.equal(headers.get('x-empty'), '')
  t.equal(headers.get('x-none'), null)
  t.ok(headers.has('X-EMPTY'))
  t.notOk(headers.has('x-none'))
  const visited: string[] = []
  headers.forEach((value, name) => {
    visited.push(`${name}: ${value}`)
  })
  t.same(visited, ['apikey: a, b', 'cookie: c=1; d=2', 'x-empty: '])
  t.same([...new Headers(headers)], [...headers], 'a whole Headers can be made of it')
})

t.test(
  'lightRequest: the signal aborts when the connection closes before the response is sent',
  async (t) => {
    const early = requestOf('/', 'x')
    const { signal } = early.request()
    t.notOk(signal.aborted)
    early.outgoing.emit('close')
    t.ok(signal.aborted)

    const late = requestOf('/', 'x')
    const sent = late.request()
    const atFirst = sent.signal
    t.equal(sent.signal, atFirst, 'one signal for each request')
    late.outgoing.writableFinished = true
    late.outgoing.emit('close')
    t.notOk(atFirst.aborted, 'a response that was sent aborts nothing')

    const gone = requestOf('/', 'x')
    gone.outgoing.destroyed = true
    t.ok(gone.request().signal.aborted, 'read after the connection closed')
  },
)
