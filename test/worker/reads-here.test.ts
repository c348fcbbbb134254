import t from 'tap'
import type { ReadSession } from '../../src/worker/read-host.js'
import { createReadsHere } from '../../src/worker/reads-here.js'
import { rejectsWith } from '../support/rejects-with.js'

const log = { error: () => undefined } as never
const PIECE = 'x'.repeat(64 * 1024)
const PIECES = 40

/** Reads that make long answers, and count what they have made and how many are at work. */
function countedReads() {
  const counts = { open: 0, most: 0, chars: 0, sessions: 0 }
  async function* text() {
    counts.most = Math.max(counts.most, ++counts.open)
    try {
      for (let piece = 0; piece < PIECES; piece++) {
        counts.chars += PIECE.length
        yield PIECE
      }
    } finally {
      counts.open--
    }
  }
  const openSession = (): ReadSession => {
    counts.sessions++
    return {
      handlers: {
        long: () => ({ head: { status: 200 }, text: text() }),
        broken: () => Promise.reject(new RangeError('found a broken read')),
      },
      begin: () => undefined,
      end: () => undefined,
      close: () => undefined,
    }
  }
  return { counts, openSession }
}

const PATIENT = { log, timeLimitMs: 600_000, lyingMs: 600_000 }

t.test('reads here: some answers are made at a time, others wait, and the rest is refused', async (t) => {
  const { counts, openSession } = countedReads()
  const pool = createReadsHere(openSession, { ...PATIENT, maxOpen: 3, maxWaiting: 20 })
  t.teardown(() => pool.stop())
  const owners = Array.from({ length: 20 }, (_, at) => `key ${at}`)
  const read = async (owner: string) => {
    const { head, text } = await pool.read('long', null, { owner })
    t.same(head, { status: 200 })
    let chars = 0
    for await (const piece of text) chars += piece.length
    return chars
  }
  const chars = await Promise.all(owners.map(read))
  t.same(new Set(chars), new Set([PIECES * PIECE.length]), 'each answer is whole')
  t.equal(counts.most, 3)
  t.equal(counts.open, 0)
  const full = createReadsHere(openSession, { ...PATIENT, maxOpen: 1, maxWaiting: 1 })
  t.teardown(() => full.stop())
  const first = await full.read('long', null, { owner: 'a' })
  const second = full.read('long', null, { owner: 'b' })
  const refused = await full.read('long', null, { owner: 'c' }).catch((error: unknown) => error)
  t.match(refused, { errorName: 'BUSY', data: { retryAfterS: 1 } })
  for (const { text } of [first]) if (typeof text !== 'string') await text.return?.()
  t.equal(typeof (await second).text, 'object', 'one that waits has the place that became free')
})

t.test('reads here: an answer that nobody takes is made no further than its window', async (t) => {
  const { counts, openSession } = countedReads()
  const pool = createReadsHere(openSession, { ...PATIENT, maxOpen: 8, maxWaiting: 8 })
  t.teardown(() => pool.stop())
  const { text } = await pool.read('long', null, { owner: 'a' })
  if (typeof text === 'string') return t.fail('found a whole answer, expected one in parts')
  await text.next()
  for (let turns = 0; turns < 200; turns++) await new Promise((resolve) => setImmediate(resolve))
  t.ok(counts.chars < 12 * PIECE.length, `${counts.chars} characters were made of ${PIECES * PIECE.length}`)
  await text.return?.()
  while (counts.open > 0) await new Promise((resolve) => setImmediate(resolve))
  t.equal(counts.open, 0, 'its work ends with it')
})

t.test('reads here: errors come back, and sessions are used again', async (t) => {
  const { counts, openSession } = countedReads()
  const pool = createReadsHere(openSession, { ...PATIENT, maxOpen: 2, maxWaiting: 2 })
  for (let call = 0; call < 5; call++)
    await t.rejects(pool.read('broken', null, { owner: 'a' }), { message: 'found a broken read' })
  t.equal(counts.sessions, 1)
  await pool.stop()
  await rejectsWith(t, pool.read('long', null, { owner: 'a' }), 'CANCELLED')
})
