import { PassThrough, Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { flowing } from '../../src/sync/flowing.js'

const KIB = 1024
const chunk = (bytes: number) => Buffer.alloc(bytes, 1)

t.test('flowing: all chunks in order, then the end, however often it is asked', async (t) => {
  const chunks = flowing(Readable.from([Buffer.from('a'), Buffer.from('b'), Buffer.from('c')]))
  t.equal(chunks[Symbol.asyncIterator](), chunks)
  const texts: string[] = []
  for await (const part of chunks) texts.push(Buffer.from(part).toString())
  t.same(texts, ['a', 'b', 'c'])
  t.same(await chunks.next(), { done: true, value: undefined })
})

t.test('flowing: what arrived before an error is read before it is thrown', async (t) => {
  const stream = new PassThrough()
  const chunks = flowing(stream)
  stream.write(chunk(3))
  stream.write(chunk(4))
  await turn()
  const closed = new Promise((resolve) => stream.once('close', resolve))
  stream.destroy(new Error('reset'))
  await closed
  t.equal((await chunks.next()).value?.byteLength, 3)
  t.equal((await chunks.next()).value?.byteLength, 4)
  await t.rejects(chunks.next(), /reset/)
  await t.rejects(chunks.next(), /reset/)
})

t.test('flowing: a stream that is closed without an end is an error', async (t) => {
  const stream = new PassThrough()
  const chunks = flowing(stream)
  const waiting = chunks.next()
  stream.destroy()
  await t.rejects(waiting, /the connection was closed/)
})

t.test('flowing: a consumer that waits is woken by a chunk and by the end', async (t) => {
  const stream = new PassThrough()
  const chunks = flowing(stream)
  const first = chunks.next()
  await turn()
  stream.write(chunk(5))
  t.equal((await first).value?.byteLength, 5)
  const last = chunks.next()
  await turn()
  stream.end()
  t.same(await last, { done: true, value: undefined })
})

t.test('flowing: more than 1 MiB unread stops the sender, below 256 KiB it goes on', async (t) => {
  const stream = new Readable({ read: () => undefined, highWaterMark: 1 })
  const chunks = flowing(stream)
  const take = async (count: number) => {
    for (let i = 0; i < count; i++) await chunks.next()
  }
  for (let i = 0; i < 16; i++) stream.push(chunk(64 * KIB))
  await turn()
  t.equal(stream.isPaused(), false, 'exactly 1 MiB')
  stream.push(chunk(64 * KIB))
  await turn()
  t.equal(stream.isPaused(), true)
  stream.push(chunk(64 * KIB))
  await turn()
  await take(13)
  t.equal(stream.isPaused(), true, 'exactly 256 KiB are left')
  await take(1)
  t.equal(stream.isPaused(), false)
  await take(4)
  stream.push(null)
  t.same(await chunks.next(), { done: true, value: undefined }, 'nothing was lost')
})

t.test('flowing: a consumer that stops ends the stream', async (t) => {
  const stream = new PassThrough()
  const chunks = flowing(stream)
  stream.write(chunk(1))
  for await (const part of chunks) {
    t.equal(part.byteLength, 1)
    break
  }
  t.equal(stream.destroyed, true)
  t.same(await chunks.return?.(), { done: true, value: undefined })
  t.same(await chunks.next(), { done: true, value: undefined }, 'the close is no error then')
})
