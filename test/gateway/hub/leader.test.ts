import t from 'tap'
import { type LeaderTask, startLeaderTasks } from '../../../src/gateway/hub/leader.js'
import { createLog } from '../../../src/log.js'
import type { Leases } from '../../../src/storage/postgres/leases/lease.js'

/** Leases of which this process gets the first, as long as `renews` says. */
function fakeLeases(renews: boolean[]) {
  const facts = { begun: 0, ended: 0 }
  const leases = {
    async begin() {
      if (facts.begun > 0) return undefined
      facts.begun++
      return {
        epoch: 1,
        renew: async () => renews.shift() ?? false,
        write: async () => undefined,
        run: <T>(work: () => Promise<T>) => work(),
        end: async () => void facts.ended++,
      }
    },
  } satisfies Leases
  return { facts, leases }
}

/** Starts tasks that end after some waits. @returns log lines */
async function runTask(leases: Leases, task: Partial<LeaderTask>, waits: number) {
  const lines: Record<string, unknown>[] = []
  let left = waits
  let isDone: () => void = () => undefined
  const done = new Promise<void>((resolve) => {
    isDone = resolve
  })
  const tasks = startLeaderTasks({
    leases,
    log: createLog('debug', { write: (line) => lines.push(JSON.parse(line)) }),
    tasks: [{ name: 'x', everyMs: 30_000, run: async () => undefined, ...task }],
    async wait(_ms, signal) {
      if (--left > 0) return await new Promise((resolve) => setImmediate(resolve))
      isDone()
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve))
    },
  })
  await done
  await tasks.stop()
  return lines
}

t.test('leader: runs a task at its interval while the lease is renewed, and gives it back', async (t) => {
  const { facts, leases } = fakeLeases([true, true, true, true, false])
  let runs = 0
  await runTask(leases, { run: async () => runs++ }, 11) // one wait of each run is for a renewal during it
  t.equal(runs, 3, 'at once, after 30 s and after 60 s, with renewals each 15 s')
  t.match(facts, { begun: 1, ended: 1 })
})

t.test('leader: a process without the lease runs nothing', async (t) => {
  let runs = 0
  await runTask({ begin: async () => undefined }, { run: async () => runs++ }, 3)
  t.equal(runs, 0)
})

t.test('leader: a task that fails is logged and tried again', async (t) => {
  const run = async () => {
    throw new Error('no space')
  }
  const { facts, leases } = fakeLeases([true])
  const lines = await runTask(leases, { run }, 3)
  t.match(lines, [{ task: 'x', msg: 'a task of the hub failed' }])
  t.equal(facts.ended, 1)
})

t.test('leader: the lease is renewed during a run, and a run hears that it was lost', async (t) => {
  const { facts, leases } = fakeLeases([true, true, false])
  let isLost = false
  const run = (signal: AbortSignal) =>
    new Promise<void>((resolve) =>
      signal.addEventListener('abort', () => {
        isLost = signal.aborted
        resolve()
      }),
    )
  await runTask(leases, { run }, 6)
  t.ok(isLost)
  t.match(facts, { begun: 1, ended: 1 })
})

t.test('leader: a renewal that fails during a run is tried again', async (t) => {
  const { leases } = fakeLeases([])
  let renewals = 0
  const failing: Leases = {
    async begin(task) {
      const term = await leases.begin()
      if (term === undefined) return undefined
      const renew = async () => {
        if (++renewals === 1) throw new Error(`no database for ${task}`)
        return renewals < 3
      }
      return { ...term, renew }
    },
  }
  const run = (signal: AbortSignal) =>
    new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
  await runTask(failing, { run }, 6)
  t.ok(renewals >= 3, `${renewals} renewals`)
})
