import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { unpackAddon } from '../../../../src/storage/sqlite/connection/unpack-addon.js'

const BYTES = Buffer.from('not really an addon')

/** Runs with these directories, and remembers which file was loaded. */
function unpack(t: Test, dirs: { named?: string; cache?: string }, offered?: string, refuse = /^$/): string {
  // the system's own list: os.tmpdir() does not look at process.env as an object
  setEnv(t, { TMPDIR: '/proc/none', FIELDGATE_NATIVE_DIR: dirs.named, CACHE_DIRECTORY: dirs.cache })
  let loaded = ''
  unpackAddon(BYTES, undefined, offered, (file) => {
    if (refuse.test(file)) throw new Error(`${file}: failed to map segment from shared object`)
    loaded = file
    return {}
  })
  return loaded
}

function setEnv(t: Test, values: Record<string, string | undefined>): void {
  for (const [name, value] of Object.entries(values)) {
    const before = process.env[name]
    const put = (to: string | undefined) => {
      if (to === undefined) delete process.env[name]
      else process.env[name] = to
    }
    put(value)
    t.teardown(() => put(before))
  }
}

t.test('unpack addon: one private file under its digest, used again while its bytes are right', async (t) => {
  const dir = path.join(t.testdir(), 'new dir')
  const file = unpack(t, { named: dir })
  t.equal(path.dirname(file), dir)
  t.same([statSync(dir).mode & 0o777, statSync(file).mode & 0o777], [0o700, 0o500])
  const { ino } = statSync(file)
  t.equal(unpack(t, { named: dir }), file)
  t.equal(statSync(file).ino, ino, 'not written again')
  chmodSync(file, 0o700)
  writeFileSync(file, 'something else')
  unpack(t, { named: dir })
  t.same([readFileSync(file), readdirSync(dir).length], [BYTES, 1], 'written anew')
})

t.test('unpack addon: a directory that forbids programs or is open to others is passed over', async (t) => {
  const root = t.testdir({ open: {}, noexec: {} })
  chmodSync(path.join(root, 'open'), 0o777)
  const noexec = path.join(root, 'noexec')
  chmodSync(noexec, 0o700)
  const offered = path.join(root, 'data/native')
  mkdirSync(path.join(root, 'data'))
  const file = unpack(t, { named: path.join(root, 'open'), cache: `${noexec}:/other` }, offered, /noexec/)
  t.equal(path.dirname(file), offered)
  t.notOk(existsSync(path.join(root, 'open', path.basename(file))))
})

t.test('unpack addon: no directory at all is told in one line with what was wrong with each', async (t) => {
  const root = t.testdir({ 'a-file': '' })
  t.throws(
    () => unpack(t, { named: path.join(root, 'a-file/below') }),
    /^no directory to unpack the SQLite addon to \(.*a-file.*; .*none.*\): set FIELDGATE_NATIVE_DIR/,
  )
})

t.test(
  'unpack addon: a directory of another user is passed over',
  { skip: process.geteuid?.() === 0 ? false : 'only root may give a directory away' },
  async (t) => {
    const root = t.testdir({ theirs: {}, ours: {} })
    for (const name of ['theirs', 'ours']) chmodSync(path.join(root, name), 0o700)
    chownSync(path.join(root, 'theirs'), 12_345, 12_345)
    const file = unpack(t, { named: path.join(root, 'theirs') }, path.join(root, 'ours'))
    t.equal(path.dirname(file), path.join(root, 'ours'))
    t.same(readdirSync(path.join(root, 'theirs')), [])
  },
)
