import http from 'node:http'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { loadConfig } from '../../../src/config/config.js'
import { createLine, lineOf, MOST_AT_ONCE } from '../../../src/http/server/lines.js'
import { createHttpServer } from '../../../src/http/server/server.js'

const BATCHES = '/api/v2/sync/tables/11111111-1111-4111-8111-111111111111/batches'

t.test('lines: what gateways send in small bodies has one, all else is answered without', async (t) => {
  const of = (method: string, url: string, length?: string) =>
    lineOf({ method, url, headers: { 'content-length': length } } as http.IncomingMessage)
  t.equal(of('POST', BATCHES, '700'), 'batches')
  t.equal(of('POST', `${BATCHES}?x=1`, '16384'), 'batches')
  t.equal(of('POST', '/api/v2/sync/jsonrpc', '90'), 'calls')
  t.equal(of('POST', '/api/v2/fleet/jsonrpc', '0'), 'calls')
  t.equal(of('POST', BATCHES, '16385'), undefined, 'large')
  t.equal(of('POST', BATCHES), undefined, 'without a length')
  t.equal(of('POST', BATCHES, 'many'), undefined)
  t.equal(of('GET', BATCHES, '0'), undefined, 'a request for rows may wait for them')
  t.equal(of('POST', `${BATCHES}/more`, '1'), undefined)
  t.equal(of('POST', '/api/v2/model_store/jsonrpc', '90'), undefined)
})

t.test('lines: so many are answered at once, and networks have turns', async (t) => {
  const line = createLine(2)
  const order: string[] = []
  const ends: (() => void)[] = []
  const ask = (owner: string) =>
    line.run(owner, () => {
      order.push(owner)
      return new Promise((resolve) => ends.push(resolve))
    })
  for (let i = 0; i < 5; i++) ask('many')
  ask('single')
  t.same(order, ['many', 'many'])
  ends.shift()?.()
  await sleep(0)
  t.same(order, ['many', 'many', 'many'])
  ends.shift()?.()
  await sleep(0)
  t.same(order, ['many', 'many', 'many', 'single'], 'before the others of the first network')
  while (ends.length > 0) {
    ends.shift()?.()
    await sleep(0)
  }
  t.equal(order.length, 6)
})

t.test('lines: thousands of batches at once, and who waits for none of them', async (t) => {
  const connections = '2000'
  const env = {
    FIELDGATE_LIMITS__CONNECTIONS: connections,
    FIELDGATE_LIMITS__CONNECTIONS_PER_ADDRESS: connections,
  }
  const loaded = loadConfig(null, env, {})
  if ('faults' in loaded) throw new Error(JSON.stringify(loaded.faults))
  const waiting: ((response: Response) => void)[] = []
  let most = 0
  let open = 0
  const server = createHttpServer(
    async (request) => {
      if (request.method === 'GET') return new Response('here')
      open++
      most = Math.max(most, open)
      const response = await new Promise<Response>((resolve) => waiting.push(resolve))
      open--
      return response
    },
    loaded.config,
    null,
  )
  const { port } = await server.listen('127.0.0.1', 0)
  t.teardown(() => server.stop(0))
  const agent = new http.Agent({ keepAlive: false })
  const send = (path: string) =>
    new Promise<number>((resolve, reject) => {
      const request = http.request({ port, path, method: 'POST', agent }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode ?? 0))
      })
      request.on('error', reject).end('0123456789')
    })
  const arrived = async (count: number) => {
    for (let i = 0; i < 2000 && waiting.length < count; i++) await sleep(5)
    await sleep(50) // more would have come by now
    return waiting.length
  }
  const answers = Array.from({ length: MOST_AT_ONCE + 100 }, () => send(BATCHES))
  t.equal(await arrived(MOST_AT_ONCE), MOST_AT_ONCE, 'the others wait')
  t.equal(await (await fetch(`http://127.0.0.1:${port}/x`)).text(), 'here')
  // whose body is late is not in the line, and takes no place of it
  const slow = net.connect(port, '127.0.0.1')
  t.teardown(() => slow.destroy())
  slow.write(`POST ${BATCHES} HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n`)
  t.equal(await arrived(MOST_AT_ONCE + 1), MOST_AT_ONCE + 1)
  const call = send('/api/v2/sync/jsonrpc')
  t.equal(await arrived(MOST_AT_ONCE + 2), MOST_AT_ONCE + 2, 'calls have a line of their own')
  // who goes away while waiting keeps nobody from a place
  const gone = http.request({ port, path: BATCHES, method: 'POST', agent })
  gone.on('error', () => undefined).end('0123456789')
  await sleep(50)
  gone.destroy()
  let answered = 0
  const all = Promise.all([...answers, call]).then((statuses) => {
    answered = statuses.length
    return statuses
  })
  for (let i = 0; i < 2000 && answered === 0; i++) {
    for (const resolve of waiting.splice(0)) resolve(new Response('ok'))
    await sleep(5)
  }
  t.same(new Set(await all), new Set([200]))
  t.ok(most <= MOST_AT_ONCE + 2, `${most} at once`)
})
