import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { call, HEADERS, KEY, PATH, post, SECRET, startTransport } from '../../support/transport.js'

t.test(
  'stream: a long result is streamed whole; a source that fails on the way breaks the transfer and is logged',
  async (t) => {
    const { port, faults } = await startTransport(t)
    const whole = await post(port, call('test.stream', { chunks: 3000 }))
    t.equal(whole.json.result.length, 3000)
    const early = await post(port, call('test.stream', { chunks: 10, failAt: 0 }))
    t.equal(early.json.error.data.name, 'INTERNAL')
    t.notMatch(JSON.stringify(early.json), /the source broke/)
    await t.rejects(post(port, call('test.stream', { chunks: 3000, failAt: 2000 })))
    t.match(faults.map(String), ['Error: the source broke', 'Error: the source broke'])
  },
)

t.test('stream: a caller who hangs up cancels the call and closes the stream', async (t) => {
  const { port, state } = await startTransport(t)
  const gone = new AbortController()
  const waiting = fetch(`http://127.0.0.1:${port}${PATH}`, {
    method: 'POST',
    headers: HEADERS,
    body: call('test.wait'),
    signal: gone.signal,
  })
  while (state.signals.length === 0) await sleep(5)
  gone.abort()
  await t.rejects(waiting)
  const signal = state.signals[0] as AbortSignal
  while (!signal.aborted) await sleep(5)
  t.ok(signal.aborted)
  const reader = await fetch(`http://127.0.0.1:${port}${PATH}`, {
    method: 'POST',
    headers: HEADERS,
    body: call('test.stream', { chunks: 100_000 }),
  })
  await reader.body?.cancel()
  while (!state.streamClosed) await sleep(5)
  t.ok(state.streamClosed)
})

t.test('stream: a client that stops reading is cut', async (t) => {
  const { port, state } = await startTransport(t, { writeIdleMs: 200 })
  const body = call('test.stream', { chunks: 100_000 })
  const socket = net.connect(port, '127.0.0.1', () =>
    socket.write(
      `POST ${PATH} HTTP/1.1\r\nHost: x\r\nAPIKey: ${KEY}\r\nSecret: ${SECRET}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    ),
  )
  socket.pause()
  t.teardown(() => socket.destroy())
  while (!state.streamClosed) await sleep(10)
  t.ok(state.streamClosed)
})
