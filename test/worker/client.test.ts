import { MessageChannel, type MessagePort, type Worker } from 'node:worker_threads'
import t from 'tap'
import { createLog } from '../../src/log.js'
import { createWorkerClient } from '../../src/worker/client.js'
import { moved, serveWork, type Work, type WorkHandler } from '../../src/worker/host.js'
import { rejectsWith } from '../support/rejects-with.js'

type Handlers = Record<string, WorkHandler>

/** threads in the order of their start */
const threads: Worker[] = []

/** A client whose threads are ports of this thread. @param handlersOf undefined for one that is stuck once it has started */
function clientOf(
  t: { teardown(work: () => unknown): unknown },
  handlersOf: (number: number) => Handlers | undefined,
  graceMs = 10,
) {
  const events: string[] = []
  const client = createWorkerClient({
    spawn: () => {
      events.push('start')
      const worker = portWorker(handlersOf(events.filter((event) => event === 'start').length), events)
      threads.push(worker)
      return worker
    },
    log: createLog('silent'),
    maxPending: 10,
    graceMs,
  })
  t.teardown(() => client.stop())
  return { client, events }
}

function portWorker(handlers: Handlers | undefined, events: string[]): Worker {
  const { port1, port2 } = new MessageChannel()
  let onExit: ((code: number) => void) | undefined
  if (handlers !== undefined) serveWork(port2 as MessagePort, handlers, { isOverlapping: true })
  else port2.postMessage({ kind: 'ready' })
  return {
    postMessage: (message: unknown) => port1.postMessage(message),
    on(name: string, listener: (value: unknown) => void) {
      if (name === 'message') port1.on('message', listener)
      if (name === 'exit') onExit = listener
    },
    async terminate() {
      events.push('terminate')
      port1.close()
      port2.close()
      onExit?.(1)
    },
  } as unknown as Worker
}

const echo: Handlers = { echo: (value: unknown) => value, wait: () => new Promise(() => undefined) }

t.test(
  'worker client: a stuck thread is ended when a call is given up; the others are answered',
  async (t) => {
    const { client, events } = clientOf(t, (number) => (number === 1 ? undefined : echo))
    const controller = new AbortController()
    const guilty = client.call('echo', 'guilty', { signal: controller.signal, timeLimitMs: 60_000 })
    const innocent = client.call('echo', 'innocent', { timeLimitMs: 60_000 })
    await started()
    t.equal(await client.isAlive(5), true, 'it is bounded by the limits of its calls')
    controller.abort()
    await rejectsWith(t, guilty, 'CANCELLED')
    t.equal(await innocent, 'innocent')
    t.same(events, ['start', 'terminate', 'start'])
    t.equal(await client.isAlive(60_000), true)
    t.equal(client.pending(), 0)
  },
)

t.test('worker client: a call that takes its second thread down ends with TIME_LIMIT', async (t) => {
  const { client, events } = clientOf(t, () => undefined)
  const first = client.call('echo', 1, { timeLimitMs: 20 })
  const other = client.call('echo', 2, { timeLimitMs: 60_000 })
  await rejectsWith(t, first, 'TIME_LIMIT')
  await until(() => events.filter((event) => event === 'start').length === 2)
  await started()
  await rejectsWith(t, client.call('echo', 3, { timeLimitMs: 20 }), 'TIME_LIMIT')
  await rejectsWith(t, other, 'TIME_LIMIT')
})

t.test('worker client: a thread that turns is not ended, nor one whose work may hold it', async (t) => {
  // it answers at once, though perhaps not within the usual 10 ms of a machine that is busy
  const busy = clientOf(t, () => echo, 60_000)
  await rejectsWith(t, busy.client.call('wait', null, { timeLimitMs: 5 }), 'TIME_LIMIT')
  t.equal(await busy.client.call('echo', 'on'), 'on')
  t.same(busy.events, ['start'])
  const loading = clientOf(t, () => undefined)
  const held = loading.client.call('load', null, { mayHoldThread: true })
  await started()
  await rejectsWith(t, loading.client.call('echo', 1, { timeLimitMs: 5 }), 'TIME_LIMIT')
  t.equal(await loading.client.isAlive(30), false, 'nothing bounds that call')
  t.same(loading.events, ['start'])
  held.catch(() => undefined)
})

t.test('worker client: calls that a stop cuts off end with CANCELLED, as later ones do', async (t) => {
  const { client } = clientOf(t, () => echo)
  const held = client.call('wait', null)
  await started()
  const stopped = client.stop()
  await rejectsWith(t, held, 'CANCELLED')
  await stopped
  await rejectsWith(t, client.call('echo', 1), 'CANCELLED')
})

t.test('worker client: calls of a thread that died by itself say so', async (t) => {
  const { client } = clientOf(t, () => echo)
  const held = client.call('wait', null)
  await started()
  threads.at(-1)?.terminate()
  await t.rejects(held, { message: 'the worker thread ended with code 1' })
  t.equal(await client.call('echo', 'again'), 'again')
})

/** Waits until a thread has said that it is ready. */
async function started(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

async function until(isDone: () => boolean): Promise<void> {
  while (!isDone()) await new Promise((resolve) => setImmediate(resolve))
}

t.test('worker host: the buffer of a moved result leaves the thread, that of another stays', async (t) => {
  const bytes = new Uint8Array([1, 2, 3])
  const { client } = clientOf(t, () => ({ move: () => moved(bytes), copy: () => bytes }))
  t.same([...(await client.call<Uint8Array>('copy', null))], [1, 2, 3])
  t.equal(bytes.length, 3)
  t.same([...(await client.call<Uint8Array>('move', null))], [1, 2, 3])
  t.equal(bytes.length, 0, 'nothing was copied')
})

t.test('worker client: owners have turns in the thread, whatever the number of their calls', async (t) => {
  const seen: string[] = []
  const { client } = clientOf(t, () => ({
    async slices(count: number, work: Work) {
      for (let slice = 0; slice < count; slice++) {
        await work.nextTurn()
        seen.push(work.owner)
        await busy(2)
      }
    },
  }))
  const ask = (owner: string) => client.call('slices', 3, { owner })
  await Promise.all([...Array.from({ length: 6 }, () => ask('many')), ask('one')])
  t.ok(seen.lastIndexOf('one') < 9, seen.join(' '))
  t.equal(seen.length, 21)
})

/** Keeps the thread for some time. */
async function busy(ms: number): Promise<void> {
  const endMs = performance.now() + ms
  while (performance.now() < endMs);
}
