import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { lightResponse } from '../../../src/http/server/light-response.js'
import { createListener, type Fetch } from '../../../src/http/server/listener.js'

/** Serves a web handler on a free port. */
async function serve(t: Test, fetch: Fetch): Promise<string> {
  const refuse = (error: unknown) => lightResponse(400, {}, `refused: ${error}`)
  const server = createServer(createListener(fetch, refuse))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

t.test('listener: text and bytes are sent with their length, a null body as an empty one', async (t) => {
  const bodies = { '/text': 'あ', '/bytes': new Uint8Array([1, 2, 3]), '/null': null } as const
  const url = await serve(t, (request) =>
    lightResponse(200, {}, bodies[new URL(request.url).pathname as keyof typeof bodies]),
  )
  const text = await fetch(`${url}/text`)
  t.same([text.headers.get('content-length'), await text.text()], ['3', 'あ'])
  const bytes = await fetch(`${url}/bytes`)
  t.same([bytes.headers.get('content-length'), await bytes.bytes()], ['3', new Uint8Array([1, 2, 3])])
  t.equal(await (await fetch(`${url}/null`)).text(), '')
})

t.test('listener: a length that is given is kept, in any case', async (t) => {
  const url = await serve(t, ({ url }) =>
    lightResponse(200, { [url.endsWith('/lower') ? 'content-length' : 'Content-Length']: '2' }, 'ab'),
  )
  for (const path of ['/lower', '/upper']) t.equal(await (await fetch(url + path)).text(), 'ab')
})

t.test('listener: a whole Response of a library is sent too', async (t) => {
  const url = await serve(t, async ({ url }) =>
    url.endsWith('/empty')
      ? new Response(null, { status: 204, headers: { 'X-A': 'b' } })
      : new Response('text', { status: 201 }),
  )
  const text = await fetch(url)
  t.same([text.status, text.headers.get('content-length'), await text.text()], [201, '4', 'text'])
  const empty = await fetch(`${url}/empty`)
  t.same([empty.status, empty.headers.get('x-a')], [204, 'b'])
})

t.test(
  'listener: what a handler throws is refused, and a header that Node refuses cuts the connection',
  async (t) => {
    const url = await serve(t, ({ url }) => {
      if (url.endsWith('/bad')) return lightResponse(200, { 'X-Bad': 'a\nb' }, '')
      throw new Error('broken')
    })
    const refused = await fetch(url)
    t.same([refused.status, await refused.text()], [400, 'refused: Error: broken'])
    await t.rejects(fetch(`${url}/bad`))
  },
)

t.test(
  'listener: a stream is sent as it comes, no faster than it is read, and cancelled by a hang-up',
  async (t) => {
    let sent = 0
    let cancelled = false
    const url = await serve(t, () => {
      const stream = new ReadableStream<Uint8Array>({
        pull(controller) {
          sent += 65_536
          controller.enqueue(new Uint8Array(65_536))
        },
        cancel() {
          cancelled = true
        },
      })
      return lightResponse(200, {}, stream)
    })
    const response = await fetch(url)
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    await reader.read()
    let before = -1
    while (before !== sent) {
      before = sent
      await sleep(200) // until the buffers between the two ends are full
    }
    t.ok(sent < 100_000_000, `${sent} bytes were taken while nobody read`)
    await reader.cancel()
    while (!cancelled) await sleep(5)
    t.ok(cancelled)
  },
)

t.test('listener: a stream that ends is whole, one that fails breaks the transfer', async (t) => {
  const url = await serve(t, ({ url }) => {
    let left = 100
    const stream = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (left-- > 0) controller.enqueue(new Uint8Array(10_000))
        else if (url.endsWith('/fails')) controller.error(new Error('broken'))
        else controller.close()
      },
    })
    return lightResponse(200, {}, stream)
  })
  t.equal((await (await fetch(url)).bytes()).length, 1_000_000)
  await t.rejects((await fetch(`${url}/fails`)).bytes())
})
