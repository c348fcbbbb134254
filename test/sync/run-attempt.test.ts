import t, { type Test } from 'tap'
import type { TransferRecord } from '../../src/storage/models/transfers.js'
import type { UpstreamRecord } from '../../src/storage/models/upstreams.js'
import type { AttemptDeps, Progress } from '../../src/sync/attempt.js'
import { classify, unreachable } from '../../src/sync/faults.js'
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
  const endpoint = 'https://upstream.example'
  const upstream = { upstreamId: 1, updatedAtUs: 1, endpoint, apikey: 'key', secret: 's' } as UpstreamRecord
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

/** A runner whose upstream is of one kind and knows no model; `calls` are the requests of an attempt. */
function setUpAttempt(kind: 'gateway' | 'server', model?: object, known: object[] = []) {
  const calls: string[] = []
  const discovered = {
    'x-node-id': 'upstream',
    'x-resumable-upload': {},
    'x-uploads': ['model_store.model.put_feedback'],
  }
  const client: UpstreamClient = {
    async send({ method, path }) {
      calls.push(`${method} ${path.split('/').at(-1)}`)
      throw unreachable(new Error('not there'))
    },
    async rpc(_path, method) {
      if (method === 'rpc.discover') return kind === 'gateway' ? discovered : {}
      calls.push(method)
      return method === 'fl.announce' ? { have: true, model_info: { model_id: 'theirs' } } : known
    },
    close: async () => undefined,
  }
  const upstream = {
    upstreamId: 1,
    updatedAtUs: 1,
    endpoint: 'https://upstream.example',
    storeId: 1,
    upstreamStore: 'store',
  } as UpstreamRecord
  const models = { findForTransfer: async () => model, newest: async () => model }
  const deps = {
    register: { models },
    transfers: { note: async () => undefined },
    blobs: {
      open: async () =>
        (async function* () {
          yield new Uint8Array(1)
        })(),
    },
    nodeId: 'here',
  } as unknown as AttemptDeps
  const options = { upstreams: { find: async () => upstream }, settings, createClient: () => client }
  return { runner: createRunner(deps, options), calls }
}

const modelOf = (sizeBytes: number, isDamaged = false) => ({
  modelId: 'm-1',
  sha256: 'aa',
  md5: 'bb',
  sizeBytes,
  isDamaged,
  meta: '{}',
  chain: [],
})
const feedback = { ...transfer, modelId: 'm-1', resumeUrl: null, delta: null }

t.test('runner: MODEL_DAMAGED, and nothing is sent of a damaged model', async (t) => {
  const { runner, calls } = setUpAttempt('gateway', modelOf(1, true))
  await rejectsWith(t, runner.run(feedback, signal, progress), 'MODEL_DAMAGED', { data: { model_id: 'm-1' } })
  t.same(calls, [])
})

t.test('runner: UNKNOWN_MODEL when the model was removed', async (t) => {
  const { runner } = setUpAttempt('gateway', undefined)
  await rejectsWith(t, runner.run(feedback, signal, progress), 'UNKNOWN_MODEL', { data: { model_id: 'm-1' } })
})

t.test('runner: up to 32 KiB go to a gateway in one request, more is announced first', async (t) => {
  const small = setUpAttempt('gateway', modelOf(32 * 1024))
  await rejectsWith(t, small.runner.run(feedback, signal, progress), 'UPSTREAM_UNREACHABLE')
  t.same(small.calls, ['POST model_store.model.put_feedback'])
  const large = setUpAttempt('gateway', modelOf(32 * 1024 + 1))
  t.equal(await large.runner.run(feedback, signal, progress), '{"model_id":"theirs"}')
  t.same(large.calls, ['fl.announce'])
})

t.test('runner: another server gets a model of any size by the public interface', async (t) => {
  for (const sizeBytes of [1, 1_000_000]) {
    const { runner, calls } = setUpAttempt('server', modelOf(sizeBytes))
    await rejectsWith(t, runner.run(feedback, signal, progress), 'UPSTREAM_UNREACHABLE')
    t.same(calls, ['POST model_store.model.put'])
  }
})

t.test('runner: a fetch of a model that is here answers its id and sends nothing', async (t) => {
  const known = [{ model_id: 'theirs', model_hash: 'BB', model_size: 5 }]
  const { runner, calls } = setUpAttempt('server', modelOf(5), known)
  t.equal(await runner.run({ ...transfer, kind: 'fetch' }, signal, progress), '{"model_id":"m-1"}')
  t.same(calls, ['model_store.model.get_info'])
})

t.test('runner: after a close the upstream is connected to again', async (t) => {
  const { runner, run, calls, finishClose } = setUp(t)
  await run()
  const closing = runner.close()
  finishClose()
  await closing
  await run()
  t.same(calls, ['rpc.discover by 1', 'close 1', 'rpc.discover by 2'])
})

t.test(
  'runner: a secret of another key file sends nothing, waits, and is found when it is set again',
  async (t) => {
    const { runner, run, upstream, calls } = setUp(t)
    upstream.secret = null
    const fault = await runner.run(transfer, signal, progress).catch((error: unknown) => error)
    t.match(fault, {
      errorName: 'UPSTREAM_UNREACHABLE',
      message: /another key file.*fl\.update_upstream_info/,
    })
    t.equal(classify(fault).scope, 'lane', 'it is tried again')
    t.same(calls, [])
    Object.assign(upstream, { secret: 'set again', updatedAtUs: 2 })
    await run()
    t.same(calls, ['rpc.discover by 1'])
  },
)
