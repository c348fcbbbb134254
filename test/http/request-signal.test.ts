import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import type { HttpContext } from '../../src/http/env.js'
import { requestSignal } from '../../src/http/request-signal.js'

/** A request that has arrived at a server, which does not answer by itself. */
async function arrived(t: Test, stopSignal: AbortSignal) {
  const server = createServer().listen(0, '127.0.0.1')
  t.teardown(() => server.close().closeAllConnections())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const client = request({ host: '127.0.0.1', port })
  client.on('error', () => undefined) // the hang-up itself
  client.end()
  const [incoming, outgoing] = (await once(server, 'request')) as [IncomingMessage, ServerResponse]
  const c = { env: { incoming, outgoing } } as unknown as HttpContext
  return { client, outgoing, signal: () => requestSignal(c, stopSignal) }
}

t.test('request signal: it fires when the caller hangs up', async (t) => {
  const { client, signal, outgoing } = await arrived(t, new AbortController().signal)
  const asked = signal()
  t.notOk(asked.aborted)
  const fired = once(asked, 'abort')
  client.destroy()
  await fired
  t.ok(signal().aborted, 'also one that is asked for afterwards')
  t.ok(outgoing.closed)
})

t.test('request signal: it fires when the gateway stops, with its reason', async (t) => {
  const stopping = new AbortController()
  const [first, second] = [await arrived(t, stopping.signal), await arrived(t, stopping.signal)]
  const signals = [first.signal(), second.signal()]
  stopping.abort('a stop')
  t.same(
    signals.map(({ aborted, reason }) => [aborted, reason]),
    [
      [true, 'a stop'],
      [true, 'a stop'],
    ],
  )
  t.equal(first.signal().reason, 'a stop', 'also one that is asked for afterwards')
})

t.test('request signal: it does not fire after the answer, whatever happens then', async (t) => {
  const stopping = new AbortController()
  const { client, outgoing, signal } = await arrived(t, stopping.signal)
  const asked = signal()
  const closed = once(outgoing, 'close')
  client.on('response', (response) => response.resume())
  outgoing.end('done')
  await closed
  stopping.abort()
  t.notOk(asked.aborted)
})

t.test('request signal: without a socket it follows the web’s request', async (t) => {
  for (const which of ['caller', 'gateway']) {
    const [caller, gateway] = [new AbortController(), new AbortController()]
    const c = {
      req: { raw: new Request('http://local/', { signal: caller.signal }) },
    } as unknown as HttpContext
    const signal = requestSignal(c, gateway.signal)
    t.notOk(signal.aborted)
    const ending = which === 'caller' ? caller : gateway
    ending.abort()
    t.ok(signal.aborted, which)
  }
})
