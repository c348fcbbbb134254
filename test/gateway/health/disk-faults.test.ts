import { existsSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { watchDiskFaults } from '../../../src/gateway/health/disk-faults.js'
import { createLog } from '../../../src/log.js'

/** An error with a code, as the system and SQLite have them. */
function fault(code: string, message = code): Error {
  return Object.assign(new Error(message), { code })
}

function watching(t: { testdir(): string }, noteFile = path.join(t.testdir(), 'damaged')) {
  const lines: { msg: string; level: string; alike?: number }[] = []
  let nowMs = 0
  const log = createLog('info', { write: (line: string) => void lines.push(JSON.parse(line)) })
  const faults = watchDiskFaults(log, noteFile, () => nowMs)
  return { faults, lines, noteFile, pass: (ms: number) => (nowMs += ms) }
}

t.test(
  'watchDiskFaults: failing reads and writes are counted; alike ones are one line in ten seconds',
  (t) => {
    const { faults, lines, pass } = watching(t)
    for (const code of ['EIO', 'EROFS', 'SQLITE_IOERR_WRITE', 'SQLITE_CANTOPEN'])
      faults.log.error({ err: fault(code, `${code}, open '/data/${code}'`) }, 'a call failed')
    faults.log.child({ part: 'sync' }).error({ err: fault('EIO') }, 'a call failed')
    faults.log.error({ err: fault('EIO') }, 'another thing failed')
    t.equal(faults.failures(), 6)
    t.same(
      lines.map(({ msg }) => msg),
      ['a call failed', 'another thing failed'],
    )
    pass(10_000)
    faults.log.error({ err: fault('EIO') }, 'a call failed')
    t.match(lines.at(-1), { msg: 'a call failed', alike: 4 })
    t.notOk(faults.isDamaged())
    t.end()
  },
)

t.test('watchDiskFaults: each damaged thing has its line, and the note is written', (t) => {
  const { faults, lines, noteFile } = watching(t)
  faults.log.error({ err: fault('DIGEST_MISMATCH', 'row 7 of rain') }, 'a call failed')
  faults.log.error({ err: fault('DIGEST_MISMATCH', 'row 8 of rain') }, 'a call failed')
  t.equal(lines.length, 2)
  t.equal(faults.damages(), 2)
  t.ok(faults.mayBeRow())
  t.ok(existsSync(noteFile) && faults.isDamaged())
  faults.withdraw()
  t.notOk(existsSync(noteFile) || faults.isDamaged() || faults.mayBeRow())
  t.end()
})

t.test('watchDiskFaults: other errors and lines without one pass as they are', (t) => {
  const { faults, lines } = watching(t)
  for (let i = 0; i < 3; i++) faults.log.warn({ err: new Error('no fault of the disk') }, 'a call failed')
  faults.log.warn('words alone')
  faults.log.info({ err: fault('EIO') }, 'told')
  t.same([lines.length, faults.failures(), faults.damages()], [5, 0, 0])
  t.end()
})
