import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { createS3Client } from '../../../src/files/s3/client.js'
import { createS3Store } from '../../../src/files/s3/store.js'
import { chunksOf } from '../../support/blob-store-conformance.js'

type Answer = (request: IncomingMessage, response: ServerResponse) => void

const BYTES = randomBytes(300_000)
const SHA256 = createHash('sha256').update(BYTES).digest('hex')

/** A store whose server answers as a test says, after it has read the request. */
async function startStore(t: Test, answer: Answer, timeoutMs = 200) {
  const requests: string[] = []
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url?.split('?')[0]?.split('/').pop()}`)
    request.resume()
    request.once('end', () => answer(request, response))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const client = createS3Client({
    ...{
      endpoint: `http://127.0.0.1:${port}/base/`,
      bucket: 'b',
      region: 'r',
      accessKey: 'a',
      secretKey: 's',
    },
    ...{ isPathStyle: true, timeoutMs, connections: 4 },
  })
  t.teardown(() => {
    client.close()
    server.closeAllConnections()
    server.close()
  })
  const options = { prefix: '', tempDir: t.testdir(), partBytes: 100_000, copyBytes: 1 }
  return { store: createS3Store({ client, ...options }), requests }
}

/** Part of the bytes that a request asks for. */
function rangeOf(request: IncomingMessage): { start: number; end: number } {
  const [, start = '0', last = '0'] = /bytes=(\d+)-(\d+)/.exec(request.headers.range ?? '') ?? []
  return { start: Number(start), end: Number(last) + 1 }
}

function head(response: ServerResponse): void {
  response.writeHead(200, { 'content-length': BYTES.length }).end()
}

const fault = (status: number, code: string): Answer => {
  return (_request, response) =>
    response.writeHead(status).end(`<Error><Code>${code}</Code><Message>a &amp; b</Message></Error>`)
}

async function read(store: Awaited<ReturnType<typeof startStore>>['store']): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync((await store.open(SHA256)) ?? []))
}

t.test('s3: a download that breaks off goes on where it was', async (t) => {
  const { store, requests } = await startStore(t, (request, response) => {
    if (request.method === 'HEAD') return head(response)
    const { start, end } = rangeOf(request)
    response.writeHead(206, { 'content-length': end - start })
    const part = BYTES.subarray(start, Math.min(end, start + 80_000))
    response.write(part, () => {
      if (part.length < end - start) setTimeout(() => response.destroy(), 20)
      else response.end()
    })
  })
  t.ok((await read(store)).equals(BYTES))
  t.equal(requests.filter((request) => request.startsWith('GET')).length, 4)
})

t.test('s3: other bytes, fewer or more, and a range that is none, are refused', async (t) => {
  const other = Buffer.from(BYTES)
  other[7] = (other[7] ?? 0) ^ 1
  const { store } = await startStore(t, (request, response) => {
    if (request.method === 'HEAD') return head(response)
    response.writeHead(206, { 'content-length': other.length }).end(other)
  })
  await t.rejects(read(store), {
    errorName: 'STORAGE_DAMAGED',
    message: /other bytes for .*they have the digest/,
  })
  await t.rejects(store.localFile(SHA256), { errorName: 'STORAGE_DAMAGED' } as never, 'no copy is made')
  const whole = await startStore(t, (request, response) => {
    if (request.method === 'HEAD') return head(response)
    response.writeHead(200).end(BYTES)
  })
  const part = await whole.store.open(SHA256, { start: 10, end: 20 })
  await t.rejects(Array.fromAsync(part ?? []), /found a whole object, expected a range/)
  const short = await startStore(t, (request, response) => {
    if (request.method === 'HEAD') return head(response)
    response.writeHead(206, { 'content-length': 0 }).end()
  })
  await t.rejects(read(short.store), /found 0 bytes, expected 300000/)
  const gone = await startStore(t, (request, response) => {
    if (request.method === 'HEAD') return head(response)
    response.writeHead(404).end('<Error><Code>NoSuchKey</Code></Error>')
  })
  await t.rejects(read(gone.store), /they were removed while they were read/)
})

t.test('s3: what passes is repeated, what lasts is not', async (t) => {
  let turns = 0
  const busy = await startStore(t, (request, response) => {
    if (turns++ % 2 === 0) return fault(503, 'SlowDown')(request, response)
    if (request.method === 'HEAD') return head(response)
    response.writeHead(200, { etag: '"1"' }).end()
  })
  const staged = await busy.store.stage(chunksOf(BYTES.subarray(0, 5), 5))
  await t.rejects(staged.keep(), /found 300000 bytes of an object that was put, expected 5/)
  t.same(busy.requests.slice(0, 2), [`PUT ${staged.sha256}`, `PUT ${staged.sha256}`])
  for (const code of ['AccessDenied', 'InvalidAccessKeyId', 'RequestTimeTooSkewed', 'MalformedXML']) {
    const { store, requests } = await startStore(t, fault(403, code))
    await t.rejects(store.check(), new RegExp(code))
    t.equal(requests.length, 1, code)
  }
  const down = await startStore(t, fault(500, 'InternalError'))
  await t.rejects(down.store.check(), {
    errorName: 'OBJECTS_UNAVAILABLE',
    message: /found status 500, InternalError/,
  })
  t.equal(down.requests.length, 4)
  const moved = await startStore(t, (_request, response) =>
    response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end(),
  )
  await t.rejects(moved.store.check(), /found status 307/)
})

t.test('s3: silence ends in an error, before an answer and within one', async (t) => {
  const silent = await startStore(t, () => undefined, 50)
  await t.rejects(silent.store.stat(SHA256), /found no answer within 50 ms/)
  t.equal(silent.requests.length, 4)
  const stuck = await startStore(
    t,
    (request, response) => {
      if (request.method === 'HEAD') return head(response)
      response.writeHead(206, { 'content-length': BYTES.length }).write(BYTES.subarray(0, 10))
    },
    50,
  )
  await t.rejects(read(stuck.store), /found no more bytes within 50 ms/)
})

t.test('s3: an upload in parts that fails is aborted, and its bytes can be kept later', async (t) => {
  let isDown = true
  const { store, requests } = await startStore(t, (request, response) => {
    const url = request.url ?? ''
    if (request.method === 'HEAD') return head(response)
    if (request.method === 'POST' && url.includes('uploads='))
      return response.end('<r><UploadId>u&amp;1</UploadId></r>')
    if (request.method === 'DELETE') return response.writeHead(204).end()
    if (request.method === 'POST') return response.end('<CompleteMultipartUploadResult/>')
    if (isDown && url.includes('partNumber=2')) return fault(400, 'InvalidPart')(request, response)
    response.writeHead(200, { etag: '"a<b"' }).end()
  })
  const staged = await store.stage(chunksOf(BYTES, 50_000))
  await t.rejects(staged.keep(), /InvalidPart/)
  t.equal(requests.at(-1), `DELETE ${SHA256}`)
  isDown = false
  await staged.keep()
  for (const answer of ['<Error><Code>InternalError</Code></Error>', '']) {
    const late = await startStore(t, (request, response) => {
      if (request.method === 'POST' && request.url?.includes('uploads='))
        return response.end('<r><UploadId>1</UploadId></r>')
      response.writeHead(200, { etag: '"1"' }).end(request.method === 'POST' ? answer : '')
    })
    const again = await late.store.stage(chunksOf(BYTES, 50_000))
    await t.rejects(again.keep(), /expected one that is complete/, 'an error within an answer of status 200')
    await again.drop()
  }
  const odd = await startStore(t, (_request, response) => response.end('<html>'))
  const lost = await odd.store.stage(chunksOf(BYTES, 50_000))
  await t.rejects(lost.keep(), /expected UploadId/)
  const untagged = await startStore(t, (request, response) =>
    response.end(request.method === 'POST' ? '<UploadId>1</UploadId>' : ''),
  )
  await t.rejects((await untagged.store.stage(chunksOf(BYTES, 50_000))).keep(), /found no ETag/)
})

t.test('s3: an endless answer is not read to its end; a bucket may be part of the host name', async (t) => {
  const endless = await startStore(t, (_request, response) => {
    const more = () => {
      if (!response.destroyed) response.write('x'.repeat(65_536), () => setImmediate(more))
    }
    response.writeHead(200)
    more()
  })
  await t.rejects(endless.store.check(), /found an answer of more than 4194304 bytes/)
  const client = createS3Client({
    ...{ endpoint: 'https://s3.example', bucket: 'b', region: 'r', accessKey: 'a', secretKey: 's' },
    ...{ isPathStyle: false, timeoutMs: 10, connections: 1, ca: 'x' },
  })
  t.match(await client.presign('k/1', 60), /^https:\/\/b\.s3\.example\/k\/1\?X-Amz-Expires=60&/)
  client.close()
})
