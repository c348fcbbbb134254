import fs, {
  type linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import path from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { copyKeyFile, createKeyring, openKeyring } from '../../src/storage/keyring.js'

const NOTHING_YET = { hasEncrypted: () => false }

t.test('property: what was encrypted comes back, and never twice the same bytes', async (t) => {
  const keyring = createKeyring(new Uint8Array(32).fill(1))
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string(), (text, context) => {
      const [a, b] = [keyring.encrypt(text, context), keyring.encrypt(text, context)]
      return keyring.decrypt(a, context) === text && Buffer.compare(a, b) !== 0
    }),
  )
  t.pass()
})

t.test('keyring: refuses bytes that were changed, moved, cut, or made with another key', async (t) => {
  const keyring = createKeyring(new Uint8Array(32).fill(1))
  const stored = keyring.encrypt('secret', 'table/column')
  for (let at = 0; at < stored.length; at++) {
    const changed = Uint8Array.from(stored)
    changed[at] = (changed[at] as number) ^ 1
    t.throws(() => keyring.decrypt(changed, 'table/column'), `byte ${at}`)
  }
  t.throws(() => keyring.decrypt(stored, 'table/other'))
  t.throws(() => keyring.decrypt(stored.subarray(0, 20), 'table/column'), /found an encrypted value of/)
  t.throws(() => createKeyring(new Uint8Array(32).fill(2)).decrypt(stored, 'table/column'))
})

t.test('key file: made once, for this user alone, and never replaced', async (t) => {
  const dir = t.testdir()
  const file = path.join(dir, 'secret.key')
  const stored = openKeyring(file, NOTHING_YET).encrypt('x', 'c')
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.same(readdirSync(dir), ['secret.key'], 'no temporary file is left')
  t.match(readFileSync(file, 'utf8'), /^fieldgate-key-1 [A-Za-z0-9+/]{43}=\n$/)
  t.equal(openKeyring(file, NOTHING_YET).decrypt(stored, 'c'), 'x')

  const other = path.join(dir, 'other.key')
  for (const content of ['', 'abc', 'fieldgate-key-1 AAAA', `fieldgate-key-2 ${'A'.repeat(43)}=`]) {
    writeFileSync(other, content)
    t.throws(() => openKeyring(other, NOTHING_YET), /is not a key file/)
    t.equal(readFileSync(other, 'utf8'), content)
  }
  mkdirSync(path.join(dir, 'folder.key'))
  t.throws(() => openKeyring(path.join(dir, 'folder.key'), NOTHING_YET))
  t.throws(() => openKeyring(path.join(dir, 'none', 'secret.key'), NOTHING_YET), { code: 'ENOENT' })
})

t.test('key file: a copy is whole, for this user alone, and replaces none', async (t) => {
  const dir = t.testdir()
  const [from, to] = [path.join(dir, 'from.key'), path.join(dir, 'to.key')]
  t.throws(() => copyKeyFile(from, to), /from\.key is missing/)
  const { fingerprint } = openKeyring(from, NOTHING_YET)
  await t.test('one that is cut off before it has its name leaves no file that is no key file', async (t) => {
    replaceLink(t, () => {
      throw new Error('cut off')
    })
    t.throws(() => copyKeyFile(from, to), /cut off/)
    t.same(readdirSync(dir), ['from.key'])
  })
  copyKeyFile(from, to)
  t.equal(readFileSync(to, 'utf8'), readFileSync(from, 'utf8'))
  t.equal(statSync(to).mode & 0o777, 0o600)
  const other = path.join(dir, 'other.key')
  openKeyring(other, NOTHING_YET)
  copyKeyFile(other, to)
  t.equal(openKeyring(to, NOTHING_YET).fingerprint, fingerprint)
})

t.test('key file: a link to a file that is gone is an error, not a new key', async (t) => {
  const dir = t.testdir()
  const file = path.join(dir, 'secret.key')
  symlinkSync(path.join(dir, 'lost.key'), file)
  t.throws(() => openKeyring(file, NOTHING_YET), { code: 'EEXIST' })
  t.same(readdirSync(dir), ['secret.key'])
  t.equal(readlinkSync(file), path.join(dir, 'lost.key'))
})

/** Lets `link` of the file system do something else until the test ends. */
function replaceLink(t: Test, link: typeof linkSync): void {
  const set = (to: typeof linkSync) => {
    fs.linkSync = to
    syncBuiltinESMExports()
  }
  const before = fs.linkSync
  t.teardown(() => set(before))
  set(link)
}

t.test('key file: a file system that has no links is an error, and nothing is left', async (t) => {
  const dir = t.testdir()
  replaceLink(t, () => {
    throw Object.assign(new Error('EPERM: operation not permitted, link'), { code: 'EPERM' })
  })
  t.throws(() => openKeyring(path.join(dir, 'secret.key'), NOTHING_YET), { code: 'EPERM' })
  t.same(readdirSync(dir), [])
})

t.test('key file: of two starts at once the second takes the key of the first', async (t) => {
  const dir = t.testdir()
  const file = path.join(dir, 'secret.key')
  const first = createKeyring(new Uint8Array(32).fill(3))
  const link = fs.linkSync
  replaceLink(t, (from, to) => {
    writeFileSync(file, `fieldgate-key-1 ${Buffer.alloc(32, 3).toString('base64')}\n`)
    link(from, to)
  })
  const second = openKeyring(file, NOTHING_YET)
  t.equal(second.decrypt(first.encrypt('x', 'c'), 'c'), 'x')
  t.same(readdirSync(dir), ['secret.key'])
})

t.test('key file: a missing one is not replaced when values were encrypted with it', async (t) => {
  const dir = t.testdir()
  const file = path.join(dir, 'secret.key')
  t.throws(() => openKeyring(file, { hasEncrypted: () => true }), {
    message: /^the key file \S+secret\.key is missing, but values are encrypted with it: put it back/,
  })
  t.same(readdirSync(dir), [])
})

t.test('keyring: read gives null for a value of another key, and reports each place once', async (t) => {
  const places: string[] = []
  const keyring = createKeyring(new Uint8Array(32).fill(1), (context) => places.push(context))
  const other = createKeyring(new Uint8Array(32).fill(2)).encrypt('x', 'a')
  t.equal(keyring.read(keyring.encrypt('x', 'a'), 'a'), 'x')
  t.same([keyring.read(other, 'a'), keyring.read(other, 'a'), keyring.read(other, 'b')], [null, null, null])
  t.same(places, ['a', 'b'])
  t.not(keyring.fingerprint, createKeyring(new Uint8Array(32).fill(2)).fingerprint)
})
