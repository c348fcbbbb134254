import t from 'tap'
import { call, HEADERS, PATH, startTransport } from '../support/transport.js'

t.test('app: every refusal has its status, a JSON-RPC error body and the request id', async (t) => {
  const { port } = await startTransport(t, { bodyBytes: 2048 })
  const url = `http://127.0.0.1:${port}`
  const json = async (response: Response) => ({
    status: response.status,
    name: ((await response.json()) as { error: { data: { name: string } } }).error.data.name,
    id: response.headers.get('x-request-id'),
  })
  const cases: [string, Promise<Response>, number, string][] = [
    [
      'no credentials',
      fetch(url + PATH, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } }),
      401,
      'UNAUTHENTICATED',
    ],
    [
      'wrong secret',
      fetch(url + PATH, { method: 'POST', body: '{}', headers: { ...HEADERS, secret: 'x' } }),
      401,
      'UNAUTHENTICATED',
    ],
    [
      'bad token beside a good key',
      fetch(url + PATH, { method: 'POST', body: '{}', headers: { ...HEADERS, 'svc-session-token': 'x' } }),
      401,
      'UNAUTHENTICATED',
    ],
    [
      'lacking scope',
      fetch(url + PATH, { method: 'POST', body: call('test.admin'), headers: HEADERS }),
      403,
      'FORBIDDEN',
    ],
    ['unknown path', fetch(`${url}/nowhere`), 404, 'NOT_FOUND'],
    ['GET on an API', fetch(url + PATH), 405, 'METHOD_NOT_ALLOWED'],
    [
      'too large',
      fetch(url + PATH, {
        method: 'POST',
        body: call('test.echo', { text: 'x'.repeat(3000) }),
        headers: HEADERS,
      }),
      413,
      'BODY_TOO_LARGE',
    ],
    [
      'wrong content type',
      fetch(url + PATH, {
        method: 'POST',
        body: '{}',
        headers: { ...HEADERS, 'content-type': 'text/plain' },
      }),
      415,
      'UNSUPPORTED_MEDIA_TYPE',
    ],
    [
      'compressed body',
      fetch(url + PATH, { method: 'POST', body: '{}', headers: { ...HEADERS, 'content-encoding': 'gzip' } }),
      415,
      'UNSUPPORTED_MEDIA_TYPE',
    ],
    ['not JSON', fetch(url + PATH, { method: 'POST', body: '{', headers: HEADERS }), 400, 'PARSE_ERROR'],
    ['alert', fetch(`${url}/api/v1/alertapi/socket.io/`), 501, 'ALERT_UNAVAILABLE'],
  ]
  for (const [title, response, status, name] of cases) {
    const found = await json(await response)
    t.match(found, { status, name, id: /.+/ }, title)
  }
})
