import fc from 'fast-check'
import t from 'tap'
import { answerResponse } from '../../src/http/answer.js'

async function* inPieces(pieces: readonly string[]): AsyncGenerator<string> {
  yield* pieces
}

function optionsOf(held: number[]) {
  return {
    requestId: 'r-1',
    writeIdleMs: 60_000,
    onFault: (error: unknown) => {
      throw error
    },
    onHangUp: () => undefined,
    breakOff: () => undefined,
    holdText: (bytes: number) => {
      held.push(bytes)
      return { release: () => held.push(-bytes) }
    },
  }
}

t.test('answer: a text arrives whole, in pieces of one size that part no character', async (t) => {
  for (const text of ['', 'a', '😀'.repeat(100_000), `x${'😀'.repeat(100_000)}`, 'ü'.repeat(131_073)]) {
    const held: number[] = []
    const response = await answerResponse({ status: 200, body: text }, optionsOf(held))
    const sizes: number[] = []
    const decoder = new TextDecoder('utf-8', { fatal: true })
    let got = ''
    for await (const chunk of response.body ?? []) {
      sizes.push(chunk.length)
      got += decoder.decode(chunk) // fails on a part of a character
    }
    t.equal(got, text)
    if (text.length > 128 * 1024) {
      t.ok(Math.max(...sizes) <= 128 * 1024, 'whatever the text has')
      t.same(held, [text.length, -text.length], 'counted until it is sent')
    } else t.same(held, [])
  }
})

t.test('answer: long bytes arrive as they are, in pieces of one size', async (t) => {
  const bytes = Uint8Array.from({ length: 300_000 }, (_, i) => i & 0x7f)
  const held: number[] = []
  const response = await answerResponse({ status: 200, body: bytes }, optionsOf(held))
  const chunks: Uint8Array[] = []
  for await (const chunk of response.body ?? []) chunks.push(chunk)
  t.ok(Math.max(...chunks.map(({ length }) => length)) <= 128 * 1024)
  t.equal(Buffer.compare(Buffer.concat(chunks), bytes), 0)
  t.same(held, [300_000, -300_000])
})

t.test('answer: a long text that nobody reads to its end is given back', async (t) => {
  const held: number[] = []
  const response = await answerResponse({ status: 200, body: 'x'.repeat(1_000_000) }, optionsOf(held))
  const reader = response.body?.getReader()
  await reader?.read()
  t.same(held, [1_000_000])
  await reader?.cancel()
  t.same(held, [1_000_000, -1_000_000])
})

t.test('property: text that is made while it is sent arrives as it was made', async () => {
  const piece = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 20 }),
    fc.integer({ min: 0, max: 50_000 }).map((length) => `a${'𝄞'.repeat(length)}`),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 8 }), async (pieces) => {
      const response = await answerResponse({ status: 200, body: inPieces(pieces) }, optionsOf([]))
      return (await response.text()) === pieces.join('')
    }),
    { numRuns: 100 },
  )
})
