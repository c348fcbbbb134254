import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { lockFileFault } from '../../../../src/storage/sqlite/connection/lock-file-fault.js'
import { openFile } from '../../../../src/storage/sqlite/connection/open-file.js'

const FILE = '/data/lock.db'
const withCode = (code: string) => Object.assign(new Error(`it said ${code}`), { code })

t.test('lock file: an error of permission names the file, the user, and what to do', async (t) => {
  for (const code of ['EACCES', 'EPERM', 'SQLITE_READONLY']) {
    const error = withCode(code)
    t.match(lockFileFault(error, FILE), {
      message: `${FILE} cannot be written by user ${process.geteuid?.()} (it said ${code}): run as the user that owns the directory, or give the file to this user`,
      cause: error,
    })
  }
})

t.test('lock file: a file that is no database may be removed', async (t) => {
  const file = path.join(t.testdir(), 'lock.db')
  writeFileSync(file, 'x'.repeat(600))
  let thrown: unknown
  try {
    openFile(file, {}).pragma('journal_mode = WAL')
  } catch (error) {
    thrown = error
  }
  t.match(lockFileFault(thrown, file), { message: /lock\.db is not a lock file \(.*\): .* remove the file/ })
})

t.test('lock file: any other error is returned as it is', async (t) => {
  for (const error of [withCode('ENOSPC'), new Error('without a code'), 'no error at all', undefined])
    t.equal(lockFileFault(error, FILE), error)
})
