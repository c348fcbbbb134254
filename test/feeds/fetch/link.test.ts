import t from 'tap'
import { createFetchLink } from '../../../src/feeds/fetch/link.js'
import type { Reply, UpstreamClient } from '../../../src/sync/http-client.js'
import type { Throttle } from '../../../src/sync/throttle.js'

const REQUEST = { table: 't', feed: 'f', epoch: 1, after: 0, waitS: 0 }

/** A client whose upstream answers a batch in these pieces, as they are read. */
function clientOf(pieces: readonly number[], onRead: (bytes: number) => void): UpstreamClient {
  const reply = {
    status: 200,
    headers: { 'fieldgate-last-change': '7' },
    async *chunks() {
      for (const bytes of pieces) {
        onRead(bytes)
        yield new Uint8Array(bytes)
      }
    },
  } as unknown as Reply // the parts that a batch uses
  return { send: async () => reply } as unknown as UpstreamClient // a batch needs no more
}

t.test(
  'fetch link: each piece of a batch waits for every throttle before the next one is read',
  async (t) => {
    const events: string[] = []
    const throttleOf = (name: string): Throttle => ({
      pieceBytes: 1000,
      async take(bytes) {
        events.push(`${name} asks ${bytes}`)
        await new Promise((resolve) => setImmediate(resolve))
        events.push(`${name} has ${bytes}`)
      },
    })
    const link = createFetchLink(clientOf([300, 20], (bytes) => events.push(`read ${bytes}`)))
    const throttles = [throttleOf('all'), throttleOf('own')]
    const answer = await link.fetch(REQUEST, throttles, new AbortController().signal)
    t.match(answer, { kind: 'batch', last: 7 })
    t.same(
      events,
      [300, 20].flatMap((bytes) => [
        ...[`read ${bytes}`, `all asks ${bytes}`, `all has ${bytes}`],
        ...[`own asks ${bytes}`, `own has ${bytes}`],
      ]),
    )
  },
)

t.test('fetch link: a batch that waits for its share ends with the feed', async (t) => {
  const reads: number[] = []
  const control = new AbortController()
  const throttle: Throttle = {
    pieceBytes: 1000,
    async take(_bytes, signal) {
      control.abort()
      signal.throwIfAborted()
    },
  }
  const link = createFetchLink(clientOf([300, 20], (bytes) => reads.push(bytes)))
  await t.rejects(link.fetch(REQUEST, [throttle], control.signal), { name: 'AbortError' })
  t.same(reads, [300], 'the rest is not read')
})
