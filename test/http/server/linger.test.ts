import { EventEmitter } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { loadConfig } from '../../../src/config/config.js'
import { createLinger } from '../../../src/http/server/linger.js'
import { createHttpServer } from '../../../src/http/server/server.js'

const BODY_BYTES = 8_000_000
const PIECE = Buffer.alloc(1_000_000)

/** A server that refuses every POST without reading its body, and answers every GET. */
async function startRefuser(t: Test): Promise<number> {
  const loaded = loadConfig(null, {}, {})
  if ('faults' in loaded) throw new Error(JSON.stringify(loaded.faults))
  const answer = async (request: Request) =>
    request.method === 'POST' ? new Response('no room', { status: 507 }) : new Response('here')
  const server = createHttpServer(answer, loaded.config, null)
  t.teardown(() => server.stop(1000))
  return (await server.listen('127.0.0.1', 0)).port
}

/** Sends the whole body before it looks at the answer, with a pause in which the server might close. */
async function sendThenRead(t: Test, port: number, more: string): Promise<net.Socket> {
  const socket = net.connect(port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.pause()
  socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${BODY_BYTES}\r\n${more}\r\n`)
  for (let sent = 0; sent < BODY_BYTES; sent += PIECE.length) {
    if (sent === 2 * PIECE.length) await sleep(900)
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject)
      socket.write(PIECE, () => {
        socket.off('error', reject)
        resolve()
      })
    })
  }
  return socket
}

/** Everything that comes until `isEnough`, or the end. */
function readUntil(socket: net.Socket, isEnough: (text: string) => boolean): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
      if (isEnough(text)) resolve(text)
    })
    socket.once('end', () => resolve(text))
    socket.resume()
    socket.once('error', reject)
  })
}

t.test('linger: a refusal is read by a client that sends its whole body first', async (t) => {
  const socket = await sendThenRead(t, await startRefuser(t), '')
  const answers = readUntil(socket, (text) => text.includes('here'))
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  t.match(
    await answers,
    /^HTTP\/1\.1 507 [\s\S]*no roomHTTP\/1\.1 200 [\s\S]*here$/,
    'and the connection goes on',
  )
})

t.test('linger: a client that asks to close reads the refusal, and then the end', async (t) => {
  const socket = await sendThenRead(t, await startRefuser(t), 'Connection: close\r\n')
  t.match(await readUntil(socket, () => false), /^HTTP\/1\.1 507 [\s\S]*no room$/)
})

t.test('linger: a chunked body that is refused', async (t) => {
  const port = await startRefuser(t)
  const request = http.request({ port, host: '127.0.0.1', method: 'POST', agent: false })
  const status = new Promise((resolve, reject) => {
    request.once('response', (response) => resolve(response.resume().statusCode))
    request.once('error', reject)
  })
  for (let i = 0; i < 20; i++) {
    request.write(PIECE)
    await sleep(50)
  }
  request.end()
  t.equal(await status, 507)
})

/** A request whose client has sent more than is ever read. */
function endless(address: string) {
  const socket = Object.assign(new EventEmitter(), { remoteAddress: address, destroySoon: () => undefined })
  const body = { reads: 0, left: Number.POSITIVE_INFINITY }
  const request = Object.assign(new EventEmitter(), {
    socket,
    headers: {},
    complete: false,
    destroyed: false,
    read() {
      if (body.left <= 0) return null
      body.left--
      body.reads++
      return Buffer.alloc(65_536)
    },
  })
  return { request, socket, body }
}

t.test('linger: refused bodies are read in turns, a piece each, and no address takes all', async (t) => {
  const clock = { ms: 0 }
  const linger = createLinger(() => clock.ms)
  const crowd = Array.from({ length: 20 }, () => endless('10.0.0.1'))
  const other = endless('10.0.0.2')
  for (const { request } of [...crowd, other]) linger.add(request, false, 30_000)
  const aTurn = 400_000
  for (let turn = 0; turn < 10; turn++) t.ok(linger.turn() <= aTurn, 'a turn has a limit')
  t.equal(other.body.reads, 10, 'one body of another address is read in each turn')
  const reads = crowd.map(({ body }) => body.reads)
  t.ok(Math.max(...reads) - Math.min(...reads) <= 1, 'those of one address have turns')
  t.ok(Math.min(...reads) >= 1)
  for (const { request } of crowd) request.emit('end')
  other.socket.emit('close')
  t.equal(linger.turn(), 0)
})

t.test('linger: silence and the longest time close the connection', async (t) => {
  const clock = { ms: 0 }
  const linger = createLinger(() => clock.ms)
  const [silent, slow] = [endless('10.0.0.1'), endless('10.0.0.2')]
  const closed: string[] = []
  silent.socket.destroySoon = () => void closed.push('silent')
  slow.socket.destroySoon = () => void closed.push('slow')
  silent.body.left = 1
  linger.add(silent.request, false, 30_000)
  linger.add(slow.request, false, 30_000)
  for (clock.ms = 0; clock.ms <= 5000; clock.ms += 1000) linger.turn()
  t.same(closed, [])
  linger.turn()
  linger.turn()
  clock.ms = 6500
  linger.turn()
  t.same(closed, ['silent'])
  clock.ms = 30_001
  linger.turn()
  t.same(closed, ['silent', 'slow'])
})

t.test(
  'linger: refusals of small bodies, one after the other on a connection, leave no listeners',
  async (t) => {
    const warnings: string[] = []
    const onWarning = ({ name }: Error) => warnings.push(name)
    process.on('warning', onWarning)
    t.teardown(() => process.off('warning', onWarning))
    const socket = net.connect(await startRefuser(t), '127.0.0.1')
    t.teardown(() => socket.destroy())
    for (let i = 0; i < 30; i++) {
      socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody')
      await new Promise((resolve) => socket.once('data', resolve))
    }
    await sleep(10) // a warning comes in a later turn
    t.same(warnings, [])
  },
)
