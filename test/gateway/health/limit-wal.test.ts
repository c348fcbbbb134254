import { truncateSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import type { AppError } from '../../../src/errors.js'
import { createWalLook } from '../../../src/gateway/health/limit-wal.js'
import { createLog } from '../../../src/log.js'

t.test(
  'log of the database: a slow answer ends when the log is too large, one for each time it grew',
  async (t) => {
    const file = path.join(t.testdir(), 'data.db-wal')
    const ended: string[] = []
    const lines: string[] = []
    let ageMs: number | undefined = 70_000
    const readers = {
      endOldest(minAgeMs: number, error: AppError) {
        if (ageMs === undefined || ageMs < minAgeMs) return undefined
        ended.push(`${error.errorName}: ${error.message}`)
        return ageMs
      },
    }
    const log = createLog('debug', { write: (line) => void lines.push(line) })
    const look = createWalLook({ readers, file, maxBytes: 1000, slowMs: 30_000, log })
    await look()
    t.same(ended, [], 'no log')
    writeFileSync(file, Buffer.alloc(1000))
    await look()
    t.same(ended, [], 'a log within its limit')
    truncateSync(file, 1500)
    await look()
    await look()
    t.equal(ended.length, 1, 'not again: nothing was written since')
    t.match(
      ended[0],
      /^TIME_LIMIT: .* more than 30000 ms while the log .* grew to 1500 bytes \(reads\.walBytes\)/,
    )
    t.match(lines.join(''), /"walBytes":1500,"ageMs":70000/)
    truncateSync(file, 2000)
    await look()
    t.equal(ended.length, 2)
    truncateSync(file, 10)
    await look()
    truncateSync(file, 1500)
    ageMs = 29_999
    await look()
    t.equal(ended.length, 2, 'nobody reads for that long')
    ageMs = 30_000
    await look()
    t.equal(ended.length, 3, 'a log that was reused and has grown again')
  },
)
