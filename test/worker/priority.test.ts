import os from 'node:os'
import { Worker } from 'node:worker_threads'
import t from 'tap'
import { lowerPriority } from '../../src/worker/priority.js'

function fake(now: number, refusal?: Error) {
  const set: number[] = []
  const priorities = {
    getPriority: () => now,
    setPriority: (_pid: number, priority?: number) => {
      if (refusal !== undefined) throw refusal
      set.push(Number(priority))
    },
  }
  return { set, priorities: priorities as Pick<typeof os, 'getPriority' | 'setPriority'> }
}

const noFault = (error: unknown) => {
  throw error
}

t.test('priority: lowered from what the thread has, down to the lowest', async (t) => {
  for (const [now, steps, expected] of [
    [0, 5, 5],
    [10, 5, 15],
    [18, 5, 19],
  ] as const) {
    const { set, priorities } = fake(now)
    lowerPriority(steps, noFault, { platform: 'linux', priorities })
    t.same(set, [expected])
  }
})

t.test('priority: outside Linux the call would lower the whole process, so there is none', async (t) => {
  const { set, priorities } = fake(0)
  lowerPriority(5, noFault, { platform: 'darwin', priorities })
  t.same(set, [])
})

t.test('priority: a system that refuses ends nothing', async (t) => {
  const faults: unknown[] = []
  const refusal = new Error('EPERM')
  const { priorities } = fake(0, refusal)
  lowerPriority(5, (error) => faults.push(error), { platform: 'linux', priorities })
  t.same(faults, [refusal])
})

t.test('priority: of one thread alone', { skip: process.platform !== 'linux' }, async (t) => {
  const before = os.getPriority()
  const source = `const os = require('node:os')
    os.setPriority(0, Math.min(19, os.getPriority(0) + 3))
    require('node:worker_threads').parentPort.postMessage(os.getPriority(0))`
  const worker = new Worker(source, { eval: true })
  const found = await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))
  t.equal(found, Math.min(19, before + 3))
  t.equal(os.getPriority(), before)
})
