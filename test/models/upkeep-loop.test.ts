import { randomBytes } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { startUpkeep } from '../../src/models/upkeep-loop.js'
import { attemptParts } from '../support/attempts.js'
import { chunksOf } from '../support/blob-store-conformance.js'

type Loop = Parameters<typeof startUpkeep>[0]

/** Upkeep of a model store, whose waits end when the test lets them pass. */
async function setUp(
  t: Test,
  prepare: (at: Awaited<ReturnType<typeof attemptParts>>) => unknown = () => undefined,
  hasOldDelta = false,
) {
  const at = await attemptParts(t)
  await prepare(at)
  const lines: string[] = []
  const log = {
    info: (_: object, m: string) => void lines.push(m),
    warn: (_: object, m: string) => void lines.push(m),
  }
  const idle: { beforeUs: number; kept: boolean[] }[] = []
  const expired: number[] = []
  const clock = { isTrusted: true, nowUs: 9_000_000_000 }
  /** waits that have begun: duration → end */
  const held = new Map<number, () => void>()
  const finished = { run: async (_onFault: (id: string, error: unknown) => void) => 0 }
  const notes = new Map<string, string>()
  let sweeps = 0
  const { register } = at.deps
  const loop: Loop = {
    ...register,
    log,
    clock: { nowUs: () => clock.nowUs, isTrusted: () => clock.isTrusted },
    settings: { sweepMinutes: 10, scrubBytesPerSecond: 1e9, uploadExpiryS: 1000, modelsKept: 0 },
    deltas: {
      async expire(beforeMs) {
        expired.push(beforeMs)
        return hasOldDelta ? 1 : 0
      },
    },
    keptParts: async () => new Set(['fetch-1']),
    notes: {
      noted: async (name) => notes.get(name),
      note: async (name, value) => void notes.set(name, value),
    },
    async wait(ms, signal) {
      signal.throwIfAborted()
      const { promise, resolve } = Promise.withResolvers<void>()
      signal.addEventListener('abort', () => resolve(), { once: true })
      held.set(ms, resolve)
      await promise
    },
    uploads: {
      finishComplete: (onFault) => finished.run(onFault),
      async removeIdle(beforeUs, isPartKept) {
        sweeps++
        idle.push({ beforeUs, kept: ['fetch-1', 'up-1'].map(isPartKept) })
        return 0
      },
    },
  }
  const orphan = async () => {
    const staged = await register.blobs.stage(chunksOf(randomBytes(10), 10))
    await staged.keep()
    return staged.sha256
  }
  return {
    ...at,
    loop,
    lines,
    idle,
    expired,
    clock,
    finished,
    sweeps: () => sweeps,
    orphan,
    /** waits until a wait of this duration has begun */
    waits: (ms: number) => until(() => held.has(ms)),
    /** ends it */
    pass(ms: number) {
      held.get(ms)?.()
      held.delete(ms)
    },
  }
}

/** Lets everything that has begun come to its next timer. */
async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await turn()
}

t.test('upkeep: checks the models at the start, then sweeps', async (t) => {
  let sha256 = ''
  const at = await setUp(t, async ({ put, deps }) => {
    sha256 = (await put(randomBytes(100))).sha256
    await deps.blobs.remove(sha256)
  })
  const orphan = await at.orphan()
  const upkeep = startUpkeep(at.loop)
  t.equal(upkeep.damagedCount(), 0)
  await until(() => at.sweeps() === 1)
  await upkeep.stop()
  t.equal(upkeep.damagedCount(), 1)
  t.equal(await at.deps.blobs.stat(orphan), undefined)
  t.same(at.lines, ['damaged model bytes moved to quarantine', 'unreferenced model bytes removed'])
  t.same(at.idle, [{ beforeUs: 8_000_000_000, kept: [true, false] }])
})

t.test('upkeep: sweep answers the number of removed files, and is quiet when there are none', async (t) => {
  const at = await setUp(t)
  const upkeep = startUpkeep(at.loop)
  await until(() => at.sweeps() === 1)
  t.same([await upkeep.sweep(), at.lines], [0, []])
  await at.orphan()
  await at.orphan()
  t.same([await upkeep.sweep(), at.lines], [2, ['unreferenced model bytes removed']])
  await upkeep.stop()
})

t.test(
  'upkeep: deltas expire with the uploads that they would continue; none where they are off',
  async (t) => {
    const at = await setUp(t, undefined, true)
    const upkeep = startUpkeep(at.loop)
    await upkeep.sweep()
    await upkeep.stop()
    t.same(new Set(at.expired), new Set([8_000_000]))
    t.ok(at.lines.includes('deltas that were not used for long removed'))
    const off = startUpkeep({ ...at.loop, deltas: null })
    const count = at.expired.length
    t.equal(await off.sweep(), 0)
    await off.stop()
    t.equal(at.expired.length, count)
  },
)

t.test('upkeep: an untrusted clock expires no upload and no delta', async (t) => {
  const at = await setUp(t)
  at.clock.isTrusted = false
  const upkeep = startUpkeep(at.loop)
  await upkeep.sweep()
  await upkeep.stop()
  t.match(at.idle, [{ beforeUs: 0, kept: [true, false] }])
  t.same(new Set(at.expired), new Set([0]))
})

t.test('upkeep: sweeps and scrubs are repeated at their intervals until it is stopped', async (t) => {
  const at = await setUp(t)
  let scrubs = 0
  const { digests } = at.loop.models
  at.loop.models = {
    ...at.loop.models,
    async digests(...args) {
      scrubs++
      return await digests(...args)
    },
  }
  const upkeep = startUpkeep(at.loop)
  await at.waits(60_000)
  await at.waits(10 * 60_000)
  t.equal(scrubs, 1, 'the check at the start, but no scrub in the first minute')
  for (let round = 1; round <= 3; round++) {
    await at.waits(10 * 60_000)
    t.equal(at.sweeps(), round)
    at.pass(10 * 60_000)
  }
  at.pass(60_000)
  for (let round = 2; round <= 4; round++) {
    await at.waits(24 * 3600 * 1000)
    t.equal(scrubs, round)
    at.pass(24 * 3600 * 1000)
  }
  await upkeep.stop()
})

t.test('upkeep: a sweep that fails is logged and repeated, and its error reaches a caller', async (t) => {
  const at = await setUp(t)
  let failures = 2
  const { purge } = at.loop.models
  at.loop.models = {
    ...at.loop.models,
    async purge() {
      if (failures-- > 0) throw new Error('disk I/O error')
      return await purge()
    },
  }
  const upkeep = startUpkeep(at.loop)
  for (let round = 1; round <= 2; round++) {
    await at.waits(10 * 60_000)
    t.same(at.lines, Array(round).fill('the sweep of models failed'))
    at.pass(10 * 60_000)
  }
  await until(() => at.sweeps() === 1)
  failures = 1
  await t.rejects(upkeep.sweep(), /disk I\/O error/)
  await upkeep.stop()
})

t.test('upkeep: a failure while it is stopped is not logged', async (t) => {
  const at = await setUp(t)
  let fail: () => void = () => undefined
  let isWaiting = false
  at.loop.keptParts = () =>
    new Promise((_resolve, reject) => {
      isWaiting = true
      fail = () => reject(new Error('the database is closed'))
    })
  const upkeep = startUpkeep(at.loop)
  await until(() => isWaiting)
  const stopped = upkeep.stop()
  fail()
  await stopped
  t.same(at.lines, [])
})

t.test('upkeep: complete uploads are registered before anything else, and by each sweep', async (t) => {
  const at = await setUp(t)
  const order: string[] = []
  let count = 2
  at.finished.run = async (onFault) => {
    order.push('finish')
    onFault('upload', new Error('EIO'))
    return count--
  }
  const { digests } = at.loop.models
  at.loop.models = {
    ...at.loop.models,
    async digests(...args) {
      order.push('check')
      return await digests(...args)
    },
  }
  const upkeep = startUpkeep(at.loop)
  await until(() => at.sweeps() === 1)
  await upkeep.sweep()
  await upkeep.stop()
  t.same(order, ['finish', 'check', 'finish', 'finish'])
  const fault = 'a complete upload could not be registered'
  const done = 'complete uploads of an earlier run registered'
  t.same(at.lines, [fault, done, fault, done, fault], 'a count of 0 is not logged')
})

t.test('upkeep: the check and the sweeps begin, even if complete uploads cannot be listed', async (t) => {
  const at = await setUp(t)
  let calls = 0
  at.finished.run = async () => {
    if (calls++ === 0) throw new Error('EIO')
    return 0
  }
  const upkeep = startUpkeep(at.loop)
  await until(() => at.sweeps() === 1)
  await upkeep.stop()
  t.same(at.lines, ['complete uploads could not be listed'])
})
