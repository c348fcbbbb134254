import t from 'tap'
import { discard, enveloped, isWhole, joined, type Piece, resultPiece } from '../../src/rpc/pieces.js'
import { rawJson, streamed } from '../../src/rpc/result.js'

/** A source of texts, and what happened to it. */
function sourceOf(texts: string[]) {
  const events: string[] = []
  const source: AsyncIterableIterator<string> = {
    async next() {
      events.push('next')
      const value = texts.shift()
      return value === undefined ? { done: true, value: undefined } : { done: false, value }
    },
    async return() {
      events.push('return')
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
  return { source, events }
}

/** The piece as a stream. */
function streamOf(piece: Piece): AsyncIterableIterator<string> {
  if (isWhole(piece)) throw new Error('expected a stream')
  return piece
}

const textOf = async (piece: Piece) => (await Array.fromAsync(streamOf(piece))).join('')

t.test('resultPiece: plain values become JSON, text of JSON stays as it is', async (t) => {
  t.equal(await resultPiece({ a: 1 }), '{"a":1}')
  t.equal(await resultPiece(undefined), 'null')
  t.equal(await resultPiece(null), 'null')
  t.equal(await resultPiece(false), 'false')
  t.equal(await resultPiece(0), '0')
  t.equal(await resultPiece(''), '""')
  t.equal(await resultPiece(rawJson('1e2')), '1e2')
})

t.test('resultPiece: one part of a stream is read at once, the others while it is sent', async (t) => {
  const { source, events } = sourceOf(['[', '1', ']'])
  const piece = streamOf(await resultPiece(streamed(source)))
  t.same(events, ['next'])
  t.same(await piece.next(), { done: false, value: '[' })
  t.same(events, ['next'], 'the part that was read')
  t.equal(await textOf(piece), '1]')
  t.same(events, ['next', 'next', 'next', 'next'])
})

t.test('resultPiece: a stream that is closed before it is read ends its source', async (t) => {
  const { source, events } = sourceOf(['[', ']'])
  const piece = streamOf(await resultPiece(streamed(source)))
  t.same(await piece.return?.(), { done: true, value: undefined })
  t.same(events, ['next', 'return'])
})

t.test('resultPiece: a source without return() can be closed', async (t) => {
  const { source } = sourceOf(['1'])
  const { next } = source
  const bare = { next, [Symbol.asyncIterator]: () => ({ next }) }
  const piece = streamOf(await resultPiece(streamed(bare)))
  t.same(await piece.return?.(), { done: true, value: undefined })
})

t.test('enveloped: texts stay texts, streams stay streams', async (t) => {
  t.equal(enveloped('[1]', 'x'), '{"jsonrpc":"2.0","result":[1],"id":"x"}')
  const { source } = sourceOf(['[', '1]'])
  t.equal(await textOf(enveloped(source, 2)), '{"jsonrpc":"2.0","result":[1],"id":2}')
})

t.test('joined: answers of a batch, texts and streams in any order', async (t) => {
  t.equal(joined(['1']), '[1]')
  t.equal(joined(['1', '2', '3']), '[1,2,3]')
  const orders: [Piece[], string][] = [
    [[sourceOf(['1']).source], '[1]'],
    [[sourceOf(['1']).source, '2'], '[1,2]'],
    [['1', sourceOf(['2', '3']).source, '4'], '[1,23,4]'],
    [[sourceOf([]).source, sourceOf(['1']).source], '[,1]'],
  ]
  for (const [pieces, text] of orders) t.equal(await textOf(joined(pieces)), text)
})

t.test('pieces: bytes stay bytes beside texts, and become text beside a stream', async (t) => {
  const bytes = new TextEncoder().encode('"São ✓"')
  const text = (piece: Piece) => (isWhole(piece) ? Buffer.from(piece).toString() : undefined)
  t.equal(await resultPiece(rawJson(bytes)), bytes)
  t.type(enveloped(bytes, 1), Uint8Array)
  t.equal(text(enveloped(bytes, 1)), '{"jsonrpc":"2.0","result":"São ✓","id":1}')
  t.equal(text(joined([bytes, '2', bytes])), '["São ✓",2,"São ✓"]')
  t.equal(await textOf(joined([bytes, sourceOf(['2']).source])), '["São ✓",2]')
  await t.resolves(discard(bytes))
})

t.test('joined: an ended stream stays at its end', async (t) => {
  const { source, events } = sourceOf(['1'])
  const piece = streamOf(joined([source]))
  await textOf(piece)
  t.same(await piece.next(), { done: true, value: undefined })
  t.same(await piece.return?.(), { done: true, value: undefined })
  t.same(events, ['next', 'next'], 'nothing is asked or closed again')
})

t.test('joined: a stream that is left closes the current source and those after it, once', async (t) => {
  const [read, current, after] = [sourceOf(['1']), sourceOf(['2', '3']), sourceOf(['4'])]
  const piece = streamOf(joined([read.source, current.source, after.source]))
  for (const text of ['[', '1', ',', '2']) t.equal((await piece.next()).value, text)
  await piece.return?.()
  await piece.return?.()
  t.same(read.events, ['next', 'next'], 'a source at its end is not closed')
  t.same(current.events, ['next', 'return'])
  t.same(after.events, ['return'])
})

t.test('joined: a failing source is not closed again, those after it are', async (t) => {
  const failing = sourceOf([])
  failing.source.next = () => Promise.reject(new Error('broke'))
  const after = sourceOf(['1'])
  const piece = streamOf(joined([failing.source, after.source]))
  t.equal((await piece.next()).value, '[')
  await t.rejects(piece.next(), { message: 'broke' })
  t.same(await piece.next(), { done: true, value: undefined })
  t.same(failing.events, [])
  t.same(after.events, ['return'])
})

t.test('discard: closes a stream; a text needs nothing', async (t) => {
  const { source, events } = sourceOf(['1'])
  await discard(source)
  await discard('1')
  t.same(events, ['return'])
  const { next } = sourceOf(['1']).source
  await t.resolves(discard({ next, [Symbol.asyncIterator]: () => source }))
})
