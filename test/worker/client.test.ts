import { MessageChannel, type Worker } from 'node:worker_threads'
import t from 'tap'
import { diskFaultKind } from '../../src/errors.js'
import { createLog } from '../../src/log.js'
import { createWorkerClient } from '../../src/worker/client.js'
import { serveWork } from '../../src/worker/host.js'

t.test('call: an error of the thread keeps its code, by which a fault of the disk is known', async (t) => {
  const { port1, port2 } = new MessageChannel()
  t.teardown(() => port1.close())
  serveWork(port1, {
    read: () => {
      throw Object.assign(new Error('database disk image is malformed'), { code: 'SQLITE_CORRUPT' })
    },
    plain: () => {
      throw new Error('no code')
    },
  })
  const thread: unknown = Object.assign(port2, { terminate: async () => 0 })
  const client = createWorkerClient({
    spawn: () => thread as Worker, // a port has what the client uses of a thread
    log: createLog('silent'),
    maxPending: 2,
  })
  const failed = await client.call('read', null).catch((error: unknown) => error)
  t.match(failed, { message: 'database disk image is malformed', code: 'SQLITE_CORRUPT' })
  t.equal(diskFaultKind(failed), 'damaged')
  const other = await client.call('plain', null).catch((error: unknown) => error)
  t.match(other, { message: 'no code' })
  t.equal(diskFaultKind(other), undefined)
})
