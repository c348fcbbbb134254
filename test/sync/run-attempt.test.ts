import t, { type Test } from 'tap'
import type { TransferRecord } from '../../src/storage/transfers.js'
import type { UpstreamRecord } from '../../src/storage/upstreams.js'
import type { AttemptDeps, Progress } from '../../src/sync/attempt.js'
import type { UpstreamClient } from '../../src/sync/http-client.js'
import { createRunner } from '../../src/sync/run-attempt.js'
import { rejectsWith } from '../support/rejects-with.js'

const settings = {
  idleTimeoutMs: 1000,
  connectTimeoutMs: 1000,
  maxReplyBytes: 1000,
  allowPrivate: false,
  allowLoopback: false,
  allowInsecure: [],
  userAgent: 'test',
}
const transfer = { transferId: 1, upstreamId: 1, kind: 'feedback', modelId: null } as TransferRecord
const progress: Progress = { doneBytes: 0, movedBytes: 0, onMoved: () => undefined }
const { signal } = new AbortController()

/** A runner over clients that log their calls; `finishClose` ends the close that waits. */
function setUp(t: Test) {
  const calls: string[] = []
  const closing: (() => void)[] = []
  let clients = 0
  const upstream = { upstreamId: 1, updatedAtUs: 1, endpoint: 'https://upstream.example' } as UpstreamRecord
  const createClient = (): UpstreamClient => {
    const id = ++clients
    return {
      send: () => Promise.reject(new Error('not used')),
      async rpc(_path, method) {
        calls.push(`${method} by ${id}`)
        return { 'x-node-id': 'upstream' }
      },
      close() {
        calls.push(`close ${id}`)
        return new Promise<void>((resolve) => closing.push(resolve))
      },
    }
  }
  const runner = createRunner({} as AttemptDeps, {
    upstreams: { find: async (id) => (id === 1 ? { ...upstream } : undefined) },
    settings,
    createClient,
  })
  const run = () => rejectsWith(t, runner.run(transfer, signal, progress), 'UNKNOWN_MODEL')
  return { runner, run, upstream, calls, finishClose: () => closing.shift()?.() }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

t.test('runner: asks an upstream once for its kind, and again after forgetPeer', async (t) => {
  const { runner, run, calls } = setUp(t)
  await run()
  await run()
  t.same(calls, ['rpc.discover by 1'])
  runner.forgetPeer(1)
  runner.forgetPeer(2)
  await run()
  t.same(calls, ['rpc.discover by 1', 'rpc.discover by 1'])
})

t.test('runner: a changed upstream: old connections are closed before new ones open', async (t) => {
  const { run, upstream, calls, finishClose } = setUp(t)
  await run()
  upstream.updatedAtUs = 2
  const second = run()
  await turn()
  t.same(calls, ['rpc.discover by 1', 'close 1'], 'it waits for the close')
  finishClose()
  await second
  t.same(calls.slice(2), ['rpc.discover by 2'])
})

t.test('runner: close waits until every connection is closed', async (t) => {
  const { runner, run, finishClose } = setUp(t)
  await run()
  let isClosed = false
  const closing = runner.close().then(() => {
    isClosed = true
  })
  await turn()
  t.equal(isClosed, false)
  finishClose()
  await closing
  t.equal(isClosed, true)
})

t.test('runner: NO_UPSTREAM when the upstream information is gone', async (t) => {
  const { runner } = setUp(t)
  await rejectsWith(t, runner.run({ ...transfer, upstreamId: 7 }, signal, progress), 'NO_UPSTREAM')
})
