import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { loadConfig } from '../../../src/config/config.js'
import { createHttpServer, type Fetch } from '../../../src/http/server/server.js'

/** Serves a web handler on a free port. */
async function serve(t: Test, fetch: Fetch): Promise<string> {
  const loaded = loadConfig(null, {}, {})
  if ('faults' in loaded) throw new Error(JSON.stringify(loaded.faults))
  const server = createHttpServer(fetch, loaded.config, null)
  t.teardown(() => server.stop(0))
  return `http://127.0.0.1:${(await server.listen('127.0.0.1', 0)).port}`
}

t.test('server: text and bytes are sent with their length, a null body as an empty one', async (t) => {
  const bodies = { '/text': 'あ', '/bytes': new Uint8Array([1, 2, 3]), '/null': null } as const
  const url = await serve(
    t,
    (request) => new Response(bodies[new URL(request.url).pathname as keyof typeof bodies]),
  )
  const text = await fetch(`${url}/text`)
  t.same([text.headers.get('content-length'), await text.text()], ['3', 'あ'])
  const bytes = await fetch(`${url}/bytes`)
  t.same([bytes.headers.get('content-length'), await bytes.bytes()], ['3', new Uint8Array([1, 2, 3])])
  t.equal(await (await fetch(`${url}/null`)).text(), '')
})

t.test('server: a length that is given is kept, in any case', async (t) => {
  const url = await serve(
    t,
    ({ url }) =>
      new Response('ab', {
        headers: { [url.endsWith('/lower') ? 'content-length' : 'Content-Length']: '2' },
      }),
  )
  for (const path of ['/lower', '/upper']) t.equal(await (await fetch(url + path)).text(), 'ab')
})

t.test('server: a whole Response of a library is sent too', async (t) => {
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
  'server: what a handler throws is refused, and a header that Node refuses cuts the connection',
  async (t) => {
    const url = await serve(t, ({ url }) => {
      if (url.endsWith('/bad')) return new Response('', { headers: { 'X-Bad': 'a\nb' } })
      throw new Error('broken')
    })
    const refused = await fetch(url)
    t.equal(refused.status, 400)
    t.match(await refused.json(), { error: { message: /broken/, data: { name: 'BAD_HTTP' } } })
    await t.rejects(fetch(`${url}/bad`))
  },
)

t.test(
  'server: a stream is sent as it comes, no faster than it is read, and cancelled by a hang-up',
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
      return new Response(stream)
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

t.test('server: a stream that ends is whole, one that fails breaks the transfer', async (t) => {
  const url = await serve(t, ({ url }) => {
    let left = 100
    const stream = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (left-- > 0) controller.enqueue(new Uint8Array(10_000))
        else if (url.endsWith('/fails')) controller.error(new Error('broken'))
        else controller.close()
      },
    })
    return new Response(stream)
  })
  t.equal((await (await fetch(url)).bytes()).length, 1_000_000)
  await t.rejects((await fetch(`${url}/fails`)).bytes())
})
