import { createServer } from 'node:http'
import net from 'node:net'
import t, { type Test } from 'tap'
import { createListeners, type Listeners } from '../../../src/http/server/listeners.js'

/** A server on a free port of 127.0.0.1. */
async function listen(t: Test) {
  const server = createServer((_, response) => response.end('here'))
  const listeners = createListeners(server, false)
  const { port } = await listeners.listen('127.0.0.1', 0)
  t.teardown(() => {
    listeners.close()
    server.closeAllConnections()
  })
  return { server, listeners, port }
}

function connect(t: Test, port: number): net.Socket {
  const socket = net.connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  t.teardown(() => socket.destroy())
  return socket
}

const closed = (listeners: Listeners) => new Promise<void>((resolve) => listeners.once('close', resolve))

t.test('listeners: connections that wait are accepted many in a turn of the event loop', async (t) => {
  const { server, port } = await listen(t)
  const count = 200
  let accepted = 0
  let turns = 0
  let isTurnCounted = false
  const all = new Promise<void>((resolve) => {
    server.on('connection', () => {
      accepted++
      if (!isTurnCounted) {
        isTurnCounted = true
        turns++
        setImmediate(() => {
          isTurnCounted = false
        })
      }
      if (accepted === count) resolve()
    })
  })
  const sockets = Array.from({ length: count }, () => connect(t, port))
  await all
  t.ok(turns < count / 3, `${turns} turns for ${count} connections`)
  const answers = sockets.map((socket) => {
    socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    return new Promise<string>((resolve) => socket.once('data', (bytes) => resolve(String(bytes))))
  })
  for (const answer of await Promise.all(answers)) if (!/here/.test(answer)) t.fail(answer)
})

t.test('listeners: an address on which others listen is refused, also when they share it', async (t) => {
  const { port } = await listen(t)
  const second = createListeners(createServer(), false)
  await t.rejects(second.listen('127.0.0.1', port), { code: 'EADDRINUSE', syscall: 'listen' })
  t.equal(second.listening, false)
  const other = net.createServer()
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  t.teardown(() => other.close())
  const { port: taken } = other.address() as net.AddressInfo
  await t.rejects(second.listen('127.0.0.1', taken), { code: 'EADDRINUSE' })
  await t.rejects(second.listen('192.0.2.1', 0), { code: 'EADDRNOTAVAIL' })
})

t.test('listeners: a port that is given is the port, and is free again after the close', async (t) => {
  const { listeners, port } = await listen(t)
  listeners.close()
  await closed(listeners)
  t.equal(listeners.listening, false)
  const again = createListeners(createServer(), false)
  t.same(await again.listen('127.0.0.1', port), { host: '127.0.0.1', port })
  again.close()
})

t.test('listeners: they are closed when the last connection of all of them has ended', async (t) => {
  const { server, listeners, port } = await listen(t)
  const count = 50
  const open: net.Socket[] = []
  const all = new Promise<void>((resolve) => {
    server.on('connection', (socket: net.Socket) => {
      open.push(socket)
      if (open.length === count) resolve()
    })
  })
  for (let i = 0; i < count; i++) connect(t, port)
  await all
  let isClosed = false
  const end = closed(listeners).then(() => {
    isClosed = true
  })
  listeners.close()
  listeners.close() // as a stop that reaches its limit does
  for (const socket of open) {
    await new Promise((resolve) => setImmediate(resolve))
    t.equal(isClosed, false)
    socket.destroy()
  }
  await end
  await new Promise<void>((resolve) => connect(t, port).once('close', () => resolve()))
})
