import t from 'tap'
import { AppError } from '../../src/errors.js'
import { type Handlers, LARGE, poolOf, say, turns, until, whole } from '../support/reader-pool.js'
import { rejectsWith } from '../support/rejects-with.js'

t.test('readers: a short answer is one text, a long one is read in pieces, each with its head', async (t) => {
  const { pool, seen } = poolOf(t, () => say)
  const short = await pool.read('say', ['a', 'b'])
  t.same(short, { head: 2, text: 'ab' })
  const long = await pool.read('say', [LARGE, LARGE, 'end'])
  t.equal(long.head, 3)
  t.not(typeof long.text, 'string')
  t.equal(await whole(long), `${LARGE}${LARGE}end`)
  t.same(await pool.read('say', []), { head: 0, text: '' })
  t.same(seen.events.slice(0, 3), ['start 1', 'begin', 'end'])
  t.same(pool.stats(), { threads: 1, open: 0, waiting: 0 })
})

t.test(
  'readers: errors keep their names and data; a fault after the first piece breaks the text',
  async (t) => {
    const { pool } = poolOf(t, () => say)
    await rejectsWith(t, pool.read('fail', null), 'UNKNOWN_TABLE', {
      message: /^no table x$/,
      data: { data_name: 'x' },
    })
    await t.rejects(pool.read('nothing', null), { message: 'the reader has no handler nothing' })
    const { text } = await pool.read('failLate', null)
    await t.rejects(whole({ text }), { message: 'a late fault' })
    t.same(pool.stats().open, 0)
  },
)

t.test(
  'readers: a caller that takes nothing stops the work after the window, and closing ends it',
  async (t) => {
    let made = 0
    let isClosed = false
    const endless: Handlers = {
      endless: () => ({
        text: (async function* () {
          try {
            for (;;) {
              made++
              yield LARGE
            }
          } finally {
            isClosed = true
          }
        })(),
      }),
    }
    const { pool } = poolOf(t, () => endless)
    const { text } = await pool.read('endless', null)
    if (typeof text === 'string') throw new Error('expected a stream')
    await turns()
    const lying = made
    await turns()
    t.equal(made, lying, 'nothing more is made')
    t.ok(made >= 7 && made <= 9, `${made} pieces of 40,000 for a window of 256 Ki and the one taken`)
    await text.next()
    await text.next()
    await turns()
    t.ok(made > lying, 'goes on when pieces are taken')
    await text.return?.()
    await turns()
    t.ok(isClosed)
    t.equal(pool.stats().open, 0)
  },
)

t.test('readers: one that waits for its caller keeps no other from running', async (t) => {
  const { pool } = poolOf(t, () => say, { maxThreads: 1 })
  const slow = await pool.read(
    'say',
    Array.from({ length: 20 }, () => LARGE),
  )
  t.equal(await whole(await pool.read('say', ['quick'])), 'quick')
  t.equal((await whole(slow)).length, LARGE.length * 20)
})

/** Handlers whose answers are held until their gate is opened. */
function gated(): { gate: Map<string, () => void>; held: Handlers } {
  const gate = new Map<string, () => void>()
  const held: Handlers = {
    hold: (name: string) => ({
      text: (async function* () {
        await new Promise<void>((resolve) => gate.set(name, resolve))
        yield name
      })(),
    }),
  }
  return { gate, held }
}

t.test('readers: more than `maxOpen` wait their turn, and more than `maxWaiting` are refused', async (t) => {
  const { gate, held } = gated()
  const { pool, seen } = poolOf(t, () => held, { maxOpen: 2, maxWaiting: 2 })
  const reads = ['a', 'b', 'c', 'd'].map((name) => pool.read('hold', name, { owner: name }))
  await turns()
  t.same([...gate.keys()].sort(), ['a', 'b'])
  t.same(pool.stats(), { threads: 2, open: 2, waiting: 2 }, 'a second thread, because the first has work')
  await rejectsWith(t, pool.read('hold', 'e'), 'BUSY', {
    message: /^Found 2 reads that wait, expected fewer \(reads\.maxQueue\); try again$/,
    data: { maxPending: 2, retryAfterS: 1 },
  })
  for (const name of ['a', 'b', 'c', 'd']) {
    gate.get(name)?.()
    await turns()
  }
  t.same(await Promise.all(reads.map(async (read) => await whole(await read))), ['a', 'b', 'c', 'd'])
  t.equal(seen.events.filter((event) => event.startsWith('start')).length, 2)
})

t.test('readers: an owner has as many places as it leaves free; who has the fewest comes next', async (t) => {
  const { gate, held } = gated()
  const { pool } = poolOf(t, () => held, { maxOpen: 5 })
  const reads = ['a1', 'a2', 'a3', 'a4'].map((name) => pool.read('hold', name, { owner: 'a' }))
  await turns()
  t.same([...gate.keys()], ['a1', 'a2'], 'the third would leave less than it takes')
  for (const name of ['b1', 'b2', 'c1']) {
    reads.push(pool.read('hold', name, { owner: name[0] as string }))
    await turns()
  }
  t.same([...gate.keys()], ['a1', 'a2', 'b1', 'c1'], 'those that hold nothing come at once')
  gate.get('b1')?.()
  await turns()
  t.same([...gate.keys()], ['a1', 'a2', 'b1', 'c1', 'b2'], 'b holds nothing, though a has waited longer')
  for (const name of ['a1', 'a2', 'c1', 'b2', 'a3', 'a4']) {
    gate.get(name)?.()
    await turns()
  }
  t.same(await Promise.all(reads.map(async (read) => await whole(await read))), [
    ...['a1', 'a2', 'a3', 'a4'],
    ...['b1', 'b2', 'c1'],
  ])
})

t.test('readers: an owner cannot fill the queue', async (t) => {
  const { gate, held } = gated()
  const { pool } = poolOf(t, () => held, { maxOpen: 1, maxWaiting: 4 })
  const mine = ['a1', 'a2', 'a3'].map((name) => pool.read('hold', name, { owner: 'a' }))
  await turns()
  await rejectsWith(t, pool.read('hold', 'a4', { owner: 'a' }), 'BUSY', {
    message: /^Found 2 reads of this key or address that wait, expected fewer/,
  })
  const other = pool.read('hold', 'b1', { owner: 'b' })
  for (const name of ['a1', 'b1', 'a2', 'a3']) {
    await turns()
    t.equal([...gate.keys()].at(-1), name)
    gate.get(name)?.()
  }
  await Promise.all([...mine, other])
})

t.test('readers: an owner does not have all threads', async (t) => {
  const { gate, held } = gated()
  const { pool, seen } = poolOf(t, () => held, { maxOpen: 8 })
  const reads = ['a1', 'a2', 'a3'].map((name) => pool.read('hold', name, { owner: 'a' }))
  await turns()
  t.same([...gate.keys()], ['a1', 'a2', 'a3'])
  t.equal(pool.stats().threads, 1)
  reads.push(pool.read('hold', 'b1', { owner: 'b' }))
  await turns()
  t.same(
    seen.events.filter((event) => event.startsWith('start')),
    ['start 1', 'start 2'],
  )
  for (const open of gate.values()) open()
  await Promise.all(reads)
})

t.test('readers: in a thread, a fresh read comes before the next turn of a long one', async (t) => {
  const events: string[] = []
  const stretch = (name: string, count: number): AsyncIterable<string> =>
    (async function* () {
      for (let at = 0; at < count; at++) {
        const endMs = performance.now() + 6 // longer than a slice
        while (performance.now() < endMs);
        events.push(name)
        yield 'x'
      }
    })()
  const { pool } = poolOf(
    t,
    () => ({ make: ([name, count]: [string, number]) => ({ text: stretch(name, count) }) }),
    { maxThreads: 1, maxOpen: 8 },
  )
  const long = [1, 2, 3].map(() => pool.read('make', ['long', 20], { owner: 'a' }))
  await until(() => events.length >= 6)
  await pool.read('make', ['fresh', 2], { owner: 'b' })
  // its message may wait for the thread, which a busy machine makes longer: only what follows its first turn counts
  const meanwhile = events.slice(events.indexOf('fresh'), events.lastIndexOf('fresh'))
  const turns = meanwhile.filter((event) => event === 'long').length
  t.ok(turns <= 2, `${turns} turns of three long reads between two of a fresh one`)
  await Promise.all(long)
})

t.test('readers: the oldest answer can be ended', async (t) => {
  let nowMs = 0
  const many = Array.from({ length: 20 }, () => LARGE)
  const { pool } = poolOf(t, () => say, { nowMs: () => nowMs })
  const slow = new AppError('TIME_LIMIT', { limitMs: 50 })
  t.equal(pool.endOldest(0, slow), undefined)
  const first = await pool.read('say', many)
  nowMs = 60
  const second = await pool.read('say', many)
  nowMs = 100
  t.equal(pool.endOldest(101, slow), undefined, 'none is that old')
  t.equal(pool.endOldest(50, slow), 100)
  await rejectsWith(t, whole(first), 'TIME_LIMIT')
  await turns()
  t.equal(pool.endOldest(50, slow), undefined, 'the next one is younger')
  t.equal((await whole(second)).length, LARGE.length * 20)
})

t.test('readers: an answer lies on while nobody waits for its place', async (t) => {
  const { gate, held } = gated()
  const many = Array.from({ length: 20 }, () => LARGE)
  const { pool } = poolOf(t, () => ({ ...say, ...held }), { maxOpen: 4, lyingMs: 10 })
  const lying = await pool.read('say', many, { owner: 'slow' })
  const others = ['b1', 'b2'].map((name) => pool.read('hold', name, { owner: 'b' }))
  await turns()
  t.same([...gate.keys()], ['b1'], 'the second waits for its owner’s share')
  await new Promise((resolve) => setTimeout(resolve, 40))
  t.equal((await whole(lying)).length, LARGE.length * 20)
  for (const name of ['b1', 'b2']) {
    await until(() => gate.has(name))
    gate.get(name)?.()
  }
  await Promise.all(others)
})

t.test('readers: a signal cancels, whether the read waits, works or is read', async (t) => {
  const { pool } = poolOf(t, () => ({ ...say, never: () => new Promise(() => undefined) }), { maxOpen: 2 })
  const controllers = [1, 2, 3].map(() => new AbortController())
  const reads = controllers.map(({ signal }) => pool.read('never', null, { signal }))
  for (const { signal } of controllers) t.notOk(signal.aborted)
  for (const controller of controllers.toReversed()) controller.abort()
  for (const read of reads) await rejectsWith(t, read, 'CANCELLED')
  const controller = new AbortController()
  await rejectsWith(t, pool.read('say', [], { signal: AbortSignal.abort() }), 'CANCELLED')
  const fresh = poolOf(t, () => say).pool
  const { text } = await fresh.read('say', [LARGE, LARGE], { signal: controller.signal })
  controller.abort()
  await rejectsWith(t, whole({ text }), 'CANCELLED')
})

t.test(
  'readers: a thread that does not react is ended at the limit; its other jobs begin again',
  async (t) => {
    const { pool, seen } = poolOf(t, (number) => (number === 1 ? undefined : say), {
      maxThreads: 1,
      timeLimitMs: 20,
      graceMs: 20,
    })
    const stuck = pool.read('say', ['lost'])
    await rejectsWith(t, stuck, 'TIME_LIMIT', { data: { limitMs: 20 } })
    await until(() => seen.events.includes('terminate 1'))
    t.equal(await whole(await pool.read('say', ['again'])), 'again')
    t.match(seen.logLines.join(''), /did not react/)
    t.same(pool.stats().open, 0)
  },
)

t.test(
  'readers: jobs of an ended thread that have no answer yet are answered by its successor',
  async (t) => {
    const { pool, seen } = poolOf(t, (number) => (number === 1 ? undefined : say), {
      maxThreads: 1,
      graceMs: 5,
    })
    const controller = new AbortController()
    const guilty = pool.read('say', ['guilty'], { signal: controller.signal })
    const innocent = pool.read('say', ['innocent'])
    controller.abort()
    await rejectsWith(t, guilty, 'CANCELLED')
    t.equal(await whole(await innocent), 'innocent')
    t.same(
      seen.events.filter((event) => /^(start|terminate)/.test(event)),
      ['start 1', 'start 2', 'terminate 1'],
    )
  },
)

t.test('readers: an answer that nobody reads gives way when others wait', async (t) => {
  const many = Array.from({ length: 20 }, () => LARGE)
  const { pool } = poolOf(t, () => say, { maxOpen: 1, lyingMs: 10 })
  const lying = await pool.read('say', many)
  const next = pool.read('say', ['next'])
  t.equal(await whole(await next), 'next')
  await rejectsWith(t, whole(lying), 'TIME_LIMIT')
})

t.test('readers: threads end when they have no jobs, and with the pool', async (t) => {
  const { pool, seen } = poolOf(t, () => say, { idleMs: 5 })
  await pool.read('say', ['a'])
  await until(() => seen.events.includes('terminate 1'))
  const { text } = await pool.read(
    'say',
    Array.from({ length: 20 }, () => LARGE),
  )
  await pool.stop()
  await rejectsWith(t, whole({ text }), 'CANCELLED')
  await rejectsWith(t, pool.read('say', ['a']), 'CANCELLED')
})

t.test('readers: a thread that cannot start fails the read alone', async (t) => {
  let isBroken = true
  const { pool } = poolOf(t, () => {
    if (isBroken) throw new Error('no memory')
    return say
  })
  await t.rejects(pool.read('say', ['a']), { message: 'no memory' })
  isBroken = false
  t.equal(await whole(await pool.read('say', ['b'])), 'b')
})
