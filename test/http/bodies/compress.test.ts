import { promisify } from 'node:util'
import { gunzip, zstdDecompress } from 'node:zlib'
import fc from 'fast-check'
import t from 'tap'
import { answerResponse } from '../../../src/http/answer.js'
import { type Compression, createCompressions } from '../../../src/http/bodies/compress.js'
import { call, HEADERS, PATH, startTransport } from '../../support/transport.js'

const unpack = { gzip: promisify(gunzip), zstd: promisify(zstdDecompress) }

t.test('compress: Accept-Encoding chooses the coding', async (t) => {
  const { asked } = createCompressions(4)
  const cases: [string | undefined, string | undefined][] = [
    [undefined, undefined],
    ['', undefined],
    ['identity', undefined],
    ['br', undefined],
    ['gzip', 'gzip'],
    ['x-gzip', 'gzip'],
    ['gzip, deflate, br', 'gzip'],
    ['gzip, deflate, br, zstd', 'zstd'],
    ['GZIP;q=1.0, zstd;q=0.5', 'gzip'],
    ['gzip;q=0.2,zstd;q=0.8', 'zstd'],
    ['gzip;q=0', undefined],
    ['*', 'zstd'],
    ['*;q=0.5, zstd;q=0', 'gzip'],
    ['*;q=0', undefined],
    ['gzip;q=much', undefined],
  ]
  for (const [header, coding] of cases) t.equal(asked(header)?.coding, coding, String(header))
  t.equal(createCompressions(0).asked('gzip'), undefined, 'off')
})

function optionsOf(compression: Compression | undefined) {
  return {
    ...{ requestId: 'r', writeIdleMs: 60_000, compression },
    onFault: (error: unknown) => t.fail(String(error)),
    onHangUp: () => undefined,
    breakOff: () => undefined,
  }
}

async function* inPieces(pieces: readonly string[]): AsyncGenerator<string> {
  yield* pieces
}

t.test('property: a compressed answer unpacks to what it was, whole and in pieces', async () => {
  const text = fc
    .array(fc.tuple(fc.string({ unit: 'grapheme' }), fc.nat(20_000)), { maxLength: 4 })
    .map((parts) => parts.map(([one, times]) => one.repeat(times)))
  const coding = fc.constantFrom<('gzip' | 'zstd')[]>('gzip', 'zstd')
  await fc.assert(
    fc.asyncProperty(text, coding, fc.constantFrom('text', 'bytes', 'stream'), async (parts, name, form) => {
      const expected = parts.join('')
      const { asked } = createCompressions(1)
      const body =
        form === 'stream' ? inPieces(parts) : form === 'text' ? expected : new TextEncoder().encode(expected)
      const response = await answerResponse({ status: 200, body }, optionsOf(asked(name)))
      const sent = new Uint8Array(await response.arrayBuffer())
      const isCoded = response.headers.get('content-encoding') === name
      const isShort = form !== 'stream' && body.toString().length < 100 // a list of bytes is longer than its text
      if (isShort && isCoded) return false
      const found = isCoded ? await unpack[name](sent) : Buffer.from(sent)
      // its place was given back: the next one is compressed again
      return found.toString() === expected && asked('gzip')?.begin() !== undefined
    }),
    { numRuns: 60 },
  )
})

t.test('compress: beyond the limit answers are sent as they are', async (t) => {
  const { asked } = createCompressions(1)
  const body = 'x'.repeat(5000)
  const open = asked('zstd')?.begin()
  const plain = await answerResponse({ status: 200, body }, optionsOf(asked('zstd')))
  t.equal(plain.headers.get('content-encoding'), null)
  t.equal(await plain.text(), body)
  const stream = await answerResponse({ status: 200, body: inPieces([body]) }, optionsOf(asked('gzip')))
  t.equal(stream.headers.get('content-encoding'), null)
  t.equal(await stream.text(), body)
  open?.stop()
  open?.stop()
  const packed = await answerResponse({ status: 200, body }, optionsOf(asked('zstd')))
  t.match(Object.fromEntries(packed.headers), { 'content-encoding': 'zstd', vary: 'Accept-Encoding' })
  t.equal((await unpack.zstd(new Uint8Array(await packed.arrayBuffer()))).toString(), body)
})

t.test('compress: a reader that leaves a compressed stream gives its place back', async (t) => {
  const { asked } = createCompressions(1)
  const noise = Array.from({ length: 400 }, (_, i) => `${Math.sin(i)}`.repeat(1000))
  const response = await answerResponse({ status: 200, body: inPieces(noise) }, optionsOf(asked('zstd')))
  const reader = response.body?.getReader()
  await reader?.read()
  t.equal(asked('zstd')?.begin(), undefined, 'in use')
  await reader?.cancel()
  t.ok(asked('zstd')?.begin())
})

t.test('compress: a failing source breaks off a compressed stream, and gives its place back', async (t) => {
  const { asked } = createCompressions(1)
  const faults: unknown[] = []
  async function* failing(): AsyncGenerator<string> {
    yield 'x'.repeat(100_000)
    throw new Error('broke')
  }
  const options = { ...optionsOf(asked('gzip')), onFault: (error: unknown) => faults.push(error) }
  const response = await answerResponse({ status: 200, body: failing() }, options)
  await t.rejects(unpack.gzip(new Uint8Array(await response.arrayBuffer())), { code: 'Z_BUF_ERROR' })
  t.match(faults, [{ message: 'broke' }])
  t.ok(asked('gzip')?.begin())
})

t.test('compress: over HTTP, where it is asked for and the answer is not tiny', async (t) => {
  const { port } = await startTransport(t)
  const ask = async (coding: string, text: string) => {
    const response = await fetch(`http://127.0.0.1:${port}${PATH}`, {
      method: 'POST',
      headers: { ...HEADERS, 'accept-encoding': coding },
      body: call('test.echo', { text }),
    })
    const { result } = (await response.json()) as { result: string }
    t.equal(result, text)
    return response.headers.get('content-encoding')
  }
  const long = 'São Mamede '.repeat(500)
  t.equal(await ask('gzip', long), 'gzip')
  t.equal(await ask('identity', long), null)
  t.equal(await ask('gzip', 'short'), null)
  t.equal(await ask('gzip', long.repeat(100)), 'gzip', 'in parts')
})
