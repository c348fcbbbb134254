import { EventEmitter } from 'node:events'
import type { Server } from 'node:http'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createSocketGuard } from '../../../src/http/server/sockets.js'
import { openRaw, postHead, type RawSocket } from '../../support/raw-http.js'
import { call, HEADERS, PATH, post, startTransport } from '../../support/transport.js'

const HEALTH = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'
const ECHO = call('test.echo', { text: '' })
const { 'content-type': _, ...PAIR } = HEADERS

/** Opens connections that are accepted in this order: those that wait at the same time are in any. */
async function openMany(port: number, count: number): Promise<RawSocket[]> {
  const open: RawSocket[] = []
  while (open.length < count) open.push(await openRaw(`http://127.0.0.1:${port}`))
  return open
}

/** Signs a connection in, and leaves it idle. */
async function signIn(socket: RawSocket): Promise<void> {
  socket.send(`${postHead(PATH, PAIR, ECHO.length)}${ECHO}`)
  await socket.until(/"result"/)
}

t.test('sockets: at a limit the longest idle connection without sign-in makes room', async (t) => {
  for (const limits of [{ connections: 3 }, { connectionsPerAddress: 3 }]) {
    const { port, server } = await startTransport(t, limits)
    const [mute, known, stranger] = (await openMany(port, 3)) as [RawSocket, RawSocket, RawSocket]
    await signIn(known)
    stranger.send(HEALTH)
    await stranger.until(/alive/)
    t.equal((await fetch(`http://127.0.0.1:${port}/healthz`)).status, 200)
    await mute.closed()
    t.same([known.isClosed, stranger.isClosed], [false, false])
    t.ok(server.connections() <= 3)
    const next = await openRaw(`http://127.0.0.1:${port}`)
    next.send(HEALTH)
    t.match(await next.until(/alive/), /^HTTP\/1\.1 200/)
    await stranger.closed()
    t.equal(known.isClosed, false, 'strangers go first')
    for (const socket of [known, next]) socket.destroy()
  }
})

t.test('sockets: a crowd that asks now and then, or never, keeps nobody out', async (t) => {
  const { port } = await startTransport(t, { connections: 20, connectionsPerAddress: 20 })
  const crowd = await openMany(port, 20)
  for (const [i, socket] of crowd.entries()) if (i % 2 === 0) socket.send(HEALTH)
  for (let i = 0; i < 5; i++) {
    const response = await fetch(`http://127.0.0.1:${port}/healthz`, { headers: { Connection: 'close' } })
    t.equal(response.status, 200)
    t.equal((await post(port, ECHO, { ...HEADERS, connection: 'close' })).status, 200)
  }
  for (const socket of crowd) socket.destroy()
})

t.test('sockets: one whose headers took too long is gone, though its far end stays open', async (t) => {
  const { port, server } = await startTransport(t, { headerMs: 100 })
  const open = Array.from({ length: 5 }, () => net.connect({ port, host: '127.0.0.1', allowHalfOpen: true }))
  for (const socket of open) socket.on('error', () => undefined).resume()
  t.teardown(() => {
    for (const socket of open) socket.destroy()
  })
  await Promise.all(open.map((socket) => new Promise((resolve) => socket.once('connect', resolve))))
  while (server.connections() < 5) await sleep(5)
  await Promise.all(open.map((socket) => new Promise((resolve) => socket.once('end', resolve))))
  while (server.connections() > 0) await sleep(20)
  t.pass('none is counted any more')
})

t.test('sockets: a client that does not read a whole answer is disconnected', async (t) => {
  const { port, server } = await startTransport(t, { writeIdleMs: 200, bodyBytes: 8_000_000 })
  const text = 'x'.repeat(4_900_000) // more than the buffers of a connection hold
  const body = call('test.echo', { text })
  const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  socket.on('error', () => undefined)
  t.teardown(() => socket.destroy())
  socket.pause()
  socket.write(postHead(PATH, PAIR, body.length))
  socket.write(body)
  while (server.connections() === 0) await sleep(5)
  while (server.connections() > 0) await sleep(20)
  t.pass('it is not counted any more')
})

t.test('sockets: a call that is at work longer than a client may stop reading is answered', async (t) => {
  const { port, state } = await startTransport(t, { writeIdleMs: 50 })
  const controller = new AbortController()
  const waiting = fetch(`http://127.0.0.1:${port}${PATH}`, {
    method: 'POST',
    headers: HEADERS,
    body: call('test.wait'),
    signal: controller.signal,
  })
  while (state.signals.length === 0) await sleep(5)
  await sleep(300) // several times the limit
  t.equal(state.signals[0]?.aborted, false)
  controller.abort()
  await t.rejects(waiting)
})

t.test(
  'sockets: each connection is counted once, with TLS too, and no longer when it has ended',
  async (t) => {
    const base = { pipelined: 8, writeIdleMs: 1000, trustedProxies: [] }
    for (const limits of [
      { connections: 1, connectionsPerAddress: 9 },
      { connections: 9, connectionsPerAddress: 1 },
    ]) {
      const guard = createSocketGuard({ ...base, ...limits })
      const server = new EventEmitter()
      guard.watch(server as unknown as Server, true) // the events are all that is used
      let ports = 1000
      const connect = () => {
        const isDestroyed = { value: false }
        const far = {
          remoteAddress: '192.0.2.1',
          remotePort: ports++,
          destroy: () => (isDestroyed.value = true),
        }
        const [plain, secure] = [
          Object.assign(new EventEmitter(), far),
          Object.assign(new EventEmitter(), far),
        ]
        server.emit('connection', plain)
        server.emit('secureConnection', secure)
        const close = () => {
          for (const socket of [secure, plain]) socket.emit('close')
        }
        return { close, isDestroyed }
      }
      for (let i = 0; i < 3; i++) connect().close()
      t.equal(guard.connections(), 0)
      const first = connect()
      t.equal(first.isDestroyed.value, false)
      const second = connect()
      t.equal(first.isDestroyed.value, true, 'it made room')
      first.close()
      t.equal(guard.connections(), 1)
      const third = connect()
      t.equal(second.isDestroyed.value, true)
      t.equal(third.isDestroyed.value, false)
      third.close()
    }
  },
)
