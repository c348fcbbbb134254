import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { refused, unreachable } from '../../src/sync/faults.js'
import { startOutbox } from '../../src/sync/outbox.js'
import { outboxParts, rowOf } from '../support/outbox.js'

const { signal } = new AbortController()
/** Longer than any test: what ends a wait earlier is what the test checks. */
const LONG_MS = 1_000_000

async function setUp(
  t: Test,
  prepare: (at: Awaited<ReturnType<typeof outboxParts>>) => unknown = () => undefined,
) {
  const at = await outboxParts(t)
  await prepare(at)
  const outbox = await startOutbox(at.deps)
  let isStopped = false
  const stop = async () => {
    isStopped = true
    await outbox.stop()
  }
  t.teardown(() => (isStopped ? undefined : outbox.stop()))
  /** the attempt of a number, from 0, as soon as it has begun */
  const attempt = async (n: number) => {
    for (;;) {
      const held = at.attempts[n]
      if (held !== undefined) return held
      await turn()
    }
  }
  return { ...at, outbox, stop, attempt }
}

/** Waits until work that has begun is recorded: `isSo` of the row. */
async function settled(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await turn()
}

t.test('outbox: queues again what an earlier run was sending, and says so', async (t) => {
  let id = 0
  const { attempt, lines } = await setUp(t, async (at) => {
    id = await at.queue(await at.upstream())
    await at.state.transfers.begin(id)
  })
  t.equal((await attempt(0)).transferId, id)
  t.match(lines, [{ level: 'info', message: /of an earlier run are queued again/, fields: { transfers: 1 } }])
  const quiet = await setUp(t)
  t.same(quiet.lines, [])
})

t.test('outbox: a wake schedules at once, and the end of an attempt the next one', async (t) => {
  const { outbox, upstream, queue, attempt, state } = await setUp(t)
  const id = await upstream()
  const [first, second] = [await queue(id), await queue(id)]
  outbox.wake()
  const held = await attempt(0)
  t.equal(held.transferId, first)
  t.same([...outbox.running().keys()], [first])
  t.equal(outbox.running().get(first), held.progress)
  held.deliver()
  t.equal((await attempt(1)).transferId, second)
  t.equal((await rowOf(state, first)).state, 'delivered')
  t.match(outbox.metrics.snapshot(), { attempts: 2, delivered: 1 })
})

t.test('outbox: a wake while it is scheduling is not lost', async (t) => {
  let rounds = 0
  let goOn: () => void = () => undefined
  const at = await setUp(t, ({ deps }) => {
    const { lanes } = deps.transfers
    deps.transfers = {
      ...deps.transfers,
      async lanes() {
        const found = await lanes()
        if (++rounds === 2) await new Promise<void>((resolve) => (goOn = resolve))
        return found
      },
    }
  })
  await settled(async () => rounds === 1)
  await turn()
  at.outbox.wake()
  await settled(async () => rounds === 2)
  const id = await at.queue(await at.upstream()) // after the lanes were read
  at.outbox.wake()
  goOn()
  t.equal((await at.attempt(0)).transferId, id)
  t.equal(rounds, 3, 'one more round, at once')
})

t.test('outbox: a scheduler that fails is logged and tries again at the next wake', async (t) => {
  let failures = 1
  const at = await setUp(t, ({ deps }) => {
    const { lanes } = deps.transfers
    deps.transfers = {
      ...deps.transfers,
      async lanes() {
        if (failures-- > 0) throw new Error('disk I/O error')
        return await lanes()
      },
    }
  })
  await settled(async () => at.lines.length > 0)
  t.match(at.lines, [{ level: 'warn', message: 'scheduling of transfers failed', fields: { err: /disk I/ } }])
  await at.queue(await at.upstream())
  at.outbox.wake()
  t.ok(await at.attempt(0))
})

t.test('outbox: it looks again by itself, without a wake', async (t) => {
  const at = await setUp(t)
  const id = await at.queue(await at.upstream())
  t.equal((await at.attempt(0)).transferId, id)
})

t.test('outbox: askNow ends the waits of one upstream', async (t) => {
  const at = await setUp(t, ({ deps }) => {
    deps.waits = { baseMs: LONG_MS, capMs: LONG_MS }
  })
  const id = await at.upstream()
  const transfer = await at.queue(id)
  at.outbox.wake()
  ;(await at.attempt(0)).fail(unreachable(new Error('down')))
  await settled(
    async () => (await rowOf(at.state, transfer)).state === 'queued' && at.outbox.running().size === 0,
  )
  at.outbox.askNow(id + 1)
  for (let i = 0; i < 20; i++) await turn()
  t.equal(at.attempts.length, 1, 'another upstream was asked for')
  at.outbox.askNow(id)
  t.equal((await at.attempt(1)).transferId, transfer)
})

t.test('outbox: interrupt stops the attempt of a transfer, and only that one', async (t) => {
  const at = await setUp(t)
  const [a, b] = [await at.queue(await at.upstream()), await at.queue(await at.upstream())]
  at.outbox.wake()
  await at.attempt(1)
  await at.state.transfers.cancel(a)
  at.outbox.interrupt(a)
  at.outbox.interrupt(99)
  await settled(async () => at.outbox.running().size === 1)
  t.same([...at.outbox.running().keys()], [b])
  t.match(at.attempts.find(({ transferId }) => transferId === a)?.signal.reason, {
    errorName: 'CANCELLED',
    data: { reason: 'cancelled' },
  })
  t.equal((await rowOf(at.state, a)).state, 'failed')
})

t.test(
  'outbox: stop queues running attempts again, closes the connections and starts nothing more',
  async (t) => {
    const at = await setUp(t)
    const id = await at.upstream()
    const [first, second] = [await at.queue(id), await at.queue(id)]
    at.outbox.wake()
    const { signal } = await at.attempt(0)
    await at.stop()
    t.match(signal.reason, { errorName: 'CANCELLED', data: { reason: 'the gateway stops' } })
    t.equal(at.clock.isClosed, true)
    t.match(await rowOf(at.state, first), { state: 'queued', lastError: null })
    t.equal((await rowOf(at.state, second)).state, 'queued')
    at.outbox.wake()
    for (let i = 0; i < 20; i++) await turn()
    t.equal(at.attempts.length, 1)
  },
)

t.test('outbox: closedReason is that of the operator or of the settings', async (t) => {
  const at = await setUp(t, ({ state }) => state.control.setPaused(true))
  t.equal(at.outbox.closedReason(), 'paused by an operator')
  const other = await setUp(t, ({ clock }) => {
    clock.reason = 'outside sync.windows'
  })
  t.equal(other.outbox.closedReason(), 'outside sync.windows')
  t.equal((await setUp(t)).outbox.closedReason(), null)
})

t.test('expedite: waits for the delivery, and answers a settled transfer at once', async (t) => {
  const at = await setUp(t)
  const id = await at.queue(await at.upstream())
  const outcome = at.outbox.expedite(id, LONG_MS, signal)
  ;(await at.attempt(0)).deliver()
  t.match(await outcome, { transfer: { transferId: id, state: 'delivered' }, fault: null })
  t.match(await at.outbox.expedite(id, LONG_MS, signal), { transfer: { state: 'delivered' }, fault: null })
  const failed = await at.queue(await at.upstream())
  await at.state.transfers.cancel(failed)
  t.match(await at.outbox.expedite(failed, LONG_MS, signal), { transfer: { state: 'failed' }, fault: null })
  t.equal(at.attempts.length, 1)
})

t.test('expedite: ends the waits of the upstream', async (t) => {
  const at = await setUp(t, ({ deps }) => {
    deps.waits = { baseMs: LONG_MS, capMs: LONG_MS }
  })
  const id = await at.queue(await at.upstream())
  at.outbox.wake()
  ;(await at.attempt(0)).fail(unreachable(new Error('down')))
  await settled(async () => at.outbox.running().size === 0)
  const outcome = at.outbox.expedite(id, LONG_MS, signal)
  ;(await at.attempt(1)).fail(unreachable(new Error('still down')))
  t.match(await outcome, { transfer: { state: 'queued' }, fault: { message: /still down/ } })
})

t.test('expedite: a failure ahead in the lane answers, unless it ended that transfer', async (t) => {
  const at = await setUp(t)
  const id = await at.upstream()
  await at.queue(id)
  const second = await at.queue(id)
  const waits = at.outbox.expedite(second, LONG_MS, signal)
  ;(await at.attempt(0)).fail(refused(422, 'for good'))
  const next = await at.attempt(1)
  t.equal(next.transferId, second, 'the outcome was still open')
  next.deliver()
  t.match(await waits, { transfer: { transferId: second, state: 'delivered' }, fault: null })
  await at.queue(id)
  const last = await at.queue(id)
  const delayed = at.outbox.expedite(last, LONG_MS, signal)
  ;(await at.attempt(2)).fail(unreachable(new Error('down')))
  t.match(await delayed, { transfer: { transferId: last, state: 'queued' }, fault: { scope: 'lane' } })
})

t.test('expedite: deliveries ahead, and failures of other lanes, do not answer', async (t) => {
  const at = await setUp(t)
  const [id, other] = [await at.upstream(), await at.upstream()]
  await at.queue(id)
  await at.queue(id, 'fetch')
  await at.queue(other)
  const own = await at.queue(id)
  let isAnswered = false
  const outcome = at.outbox.expedite(own, LONG_MS, signal).finally(() => {
    isAnswered = true
  })
  await at.attempt(2)
  for (const [n, held] of at.attempts.slice(0, 3).entries()) {
    const row = await rowOf(at.state, held.transferId)
    if (row.upstreamId === id && row.kind === 'feedback') held.deliver()
    else held.fail(unreachable(new Error(`down ${n}`)))
  }
  const held = await at.attempt(3)
  t.match([held.transferId, isAnswered], [own, false])
  held.deliver()
  t.match(await outcome, { fault: null, transfer: { state: 'delivered' } })
})

t.test('expedite: the end of its time and the signal answer the state so far', async (t) => {
  const at = await setUp(t)
  const id = await at.queue(await at.upstream())
  t.match(await at.outbox.expedite(id, 1, signal), { transfer: { transferId: id }, fault: null })
  const caller = new AbortController()
  const outcome = at.outbox.expedite(id, LONG_MS, caller.signal)
  await at.attempt(0)
  caller.abort()
  t.match(await outcome, { transfer: { state: 'sending' }, fault: null })
})

t.test('expedite: nothing is waited for while sending is not allowed', async (t) => {
  const at = await setUp(t, ({ clock }) => {
    clock.reason = 'outside sync.windows'
  })
  const id = await at.queue(await at.upstream())
  t.match(await at.outbox.expedite(id, LONG_MS, signal), { transfer: { state: 'queued' }, fault: null })
})

t.test('expedite: a transfer that is delivered before it is watched is answered', async (t) => {
  let finds = 0
  const at = await setUp(t, ({ deps }) => {
    const { find } = deps.transfers
    deps.transfers = {
      ...deps.transfers,
      async find(transferId) {
        const row = await find(transferId)
        if (++finds === 1) await at0.state.transfers.deliver(transferId, '{}')
        return row
      },
    }
  })
  const at0 = at
  at.clock.reason = null
  const id = await at.queue(await at.upstream())
  t.match(await at.outbox.expedite(id, LONG_MS, signal), { transfer: { state: 'delivered' }, fault: null })
})

t.test(
  'expedite: an error for a row that is missing, the row as it was for one removed meanwhile',
  async (t) => {
    const at = await setUp(t, ({ clock }) => {
      clock.reason = 'paused'
    })
    await t.rejects(at.outbox.expedite(99, LONG_MS, signal), /the row of a queued transfer is missing/)
    let finds = 0
    const removed = await setUp(t, ({ deps, clock }) => {
      clock.reason = 'paused'
      const { find } = deps.transfers
      deps.transfers = { ...deps.transfers, find: async (id) => (finds++ === 0 ? await find(id) : undefined) }
    })
    const id = await removed.queue(await removed.upstream())
    t.match(await removed.outbox.expedite(id, LONG_MS, signal), {
      transfer: { transferId: id, state: 'queued' },
    })
  },
)

t.test('expedite: leaves no watcher, timer or listener behind', async (t) => {
  const at = await setUp(t)
  const id = await at.queue(await at.upstream())
  const caller = new AbortController()
  const listeners: string[] = []
  const { signal } = caller
  const remove = signal.removeEventListener.bind(signal)
  signal.removeEventListener = (type: string, listener: never) => {
    listeners.push(type)
    remove(type, listener)
  }
  const outcome = at.outbox.expedite(id, LONG_MS, signal)
  ;(await at.attempt(0)).fail(unreachable(new Error('down')))
  await outcome
  t.same(listeners, ['abort'])
  let reads = 0
  const { find } = at.state.transfers
  at.deps.transfers.find = async (transferId) => {
    reads++
    return await find(transferId)
  }
  at.outbox.askNow()
  ;(await at.attempt(1)).fail(unreachable(new Error('down')))
  await settled(async () => at.outbox.running().size === 0)
  t.equal(reads, 0, 'without a watcher the end of an attempt reads no row')
})
