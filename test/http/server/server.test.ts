import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { AppError } from '../../../src/errors.js'
import { call, PATH, post, raw, startTransport } from '../../support/transport.js'

t.test(
  'server: unreadable requests, headers too large and slow headers get JSON bodies from the socket',
  async (t) => {
    const { port } = await startTransport(t, { headerBytes: 4096 })
    t.match(await raw(port, 'NONSENSE\r\n\r\n'), /^HTTP\/1\.1 400 [\s\S]*BAD_HTTP/)
    t.match(
      await raw(port, 'GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n'),
      /^HTTP\/1\.1 400 [\s\S]*X-Request-Id: [\s\S]*BAD_HTTP/i,
      'no Host header',
    )
    t.match(
      await raw(port, `GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ${'y'.repeat(8000)}\r\n\r\n`),
      /^HTTP\/1\.1 431 [\s\S]*HEADERS_TOO_LARGE/,
    )
    const hasty = await startTransport(t, { headerMs: 200 }) // a busy machine may be as slow with whole headers
    t.match(
      await raw(hasty.port, 'GET /healthz HTTP/1.1\r\nHost: x\r\n'),
      /^HTTP\/1\.1 408 [\s\S]*BODY_TIMEOUT/,
    )
  },
)

t.test(
  'server: while draining calls get 503 with Retry-After and health goes on; stopping ends running calls',
  async (t) => {
    const { port, state, stopping, server } = await startTransport(t)
    const running = post(port, call('test.wait'))
    while (state.signals.length === 0) await sleep(5)
    state.isDraining = true
    const refused = await post(port, call('test.echo', { text: '' }))
    t.equal(refused.status, 503)
    t.ok(refused.headers.get('retry-after'))
    const ready = await fetch(`http://127.0.0.1:${port}/readyz`)
    t.equal(ready.status, 503)
    t.match(await ready.json(), { status: 'not ready', draining: true })
    t.equal((await fetch(`http://127.0.0.1:${port}/healthz`)).status, 200)
    const half = net.connect(port, '127.0.0.1')
    half.write('GET /healthz HTTP/1.1\r\n')
    t.teardown(() => half.destroy())
    const stopped = server.stop(600_000)
    const late = await raw(port, `POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`)
    t.match(late, /^HTTP\/1\.1 503 [\s\S]*UNAVAILABLE/, 'a new connection is answered while a call runs')
    t.match(late, /^Retry-After: 5\r$/im)
    t.match(late, /^Connection: close\r$/im)
    t.match(await raw(port, 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'), /^HTTP\/1\.1 200 /)
    stopping.abort(new AppError('CANCELLED'))
    const ended = await running
    t.equal(ended.json.result, true)
    t.equal(ended.headers.get('connection'), 'close')
    await stopped
    await t.rejects(fetch(`http://127.0.0.1:${port}/healthz`))
  },
)
