import t from 'tap'
import { pacedBytes } from '../../src/sync/attempt.js'
import { rejectsWith } from '../support/rejects-with.js'

/** Bandwidth in pieces of four bytes, and what was taken and moved. */
function setUp() {
  const taken: number[] = []
  const moved: number[] = []
  const state: { reason: string | null } = { reason: null }
  const deps = {
    throttle: {
      pieceBytes: 4,
      async take(bytes: number, signal: AbortSignal) {
        signal.throwIfAborted()
        taken.push(bytes)
      },
    },
    closedReason: () => state.reason,
  }
  const progress = { doneBytes: 0, movedBytes: 0, onMoved: (bytes: number) => moved.push(bytes) }
  const controller = new AbortController()
  return { deps, attempt: { signal: controller.signal, progress }, controller, taken, moved, state }
}

async function* source(...texts: string[]) {
  for (const text of texts) yield Buffer.from(text)
}

const textOf = (pieces: Uint8Array[]) => pieces.map((piece) => Buffer.from(piece).toString())

t.test('pacedBytes: all bytes in order, in pieces that were taken and counted first', async (t) => {
  const { deps, attempt, taken, moved } = setUp()
  const pieces = await Array.fromAsync(pacedBytes(deps, source('abcdefghi', '', 'jk', 'lmno'), attempt, true))
  t.same(textOf(pieces), ['abcd', 'efgh', 'i', 'jk', 'lmno'])
  t.same(taken, [4, 4, 1, 2, 4])
  t.same(moved, taken)
})

t.test('pacedBytes: CANCELLED before the next piece once sending is not allowed', async (t) => {
  const { deps, attempt, taken, state } = setUp()
  const bytes = pacedBytes(deps, source('abcdefgh'), attempt, true)
  t.same(textOf([(await bytes.next()).value as Uint8Array]), ['abcd'])
  state.reason = 'paused'
  await rejectsWith(t, bytes.next(), 'CANCELLED', { data: { reason: 'paused' } })
  t.same(taken, [4], 'no bandwidth is taken for a piece that is not sent')
})

t.test('pacedBytes: a transfer that cannot be interrupted goes on', async (t) => {
  const { deps, attempt, state } = setUp()
  state.reason = 'paused'
  t.same(textOf(await Array.fromAsync(pacedBytes(deps, source('abcdef'), attempt, false))), ['abcd', 'ef'])
})

t.test('pacedBytes: the signal of the attempt ends the wait for bandwidth', async (t) => {
  const { deps, attempt, controller, moved } = setUp()
  controller.abort(new Error('stopped'))
  await t.rejects(Array.fromAsync(pacedBytes(deps, source('abc'), attempt, false)), { message: 'stopped' })
  t.same(moved, [])
})
