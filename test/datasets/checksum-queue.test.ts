import t from 'tap'
import { createChecksumQueue } from '../../src/datasets/checksum-queue.js'
import { createLog } from '../../src/log.js'

t.test(
  'checksums: a database that cannot be read ends the work, not the gateway; the next call begins again',
  async (t) => {
    const logged: string[] = []
    const fault = Object.assign(new Error('database disk image is malformed'), { code: 'SQLITE_CORRUPT' })
    let reads = 0
    const queue = createChecksumQueue({
      citations: {
        findById: async () => undefined,
        pending: async () => {
          reads++
          if (reads === 1) throw fault
          return []
        },
        openChecksum: async () => undefined,
        recordSums: async () => true,
      },
      log: createLog('error', { write: (line) => logged.push(JSON.parse(line).msg) }),
    })
    queue.wake()
    await queue.settled()
    t.same(logged, ['the checksums that are due cannot be read'])
    queue.wake()
    await queue.settled()
    t.equal(reads, 2)
    await queue.close()
  },
)
