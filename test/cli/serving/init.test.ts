import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { hashSecret, isWellFormedSecret } from '../../../src/auth/secret.js'
import { openState } from '../../../src/storage/sqlite/state.js'
import { cli } from '../../support/run-cli.js'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

t.test('init: makes a node id and an admin key whose secret works', async (t) => {
  const cwd = t.testdir()
  const { code, stdout, stderr } = await cli(cwd, ['init', '--data-dir', 'd', '--json'])
  t.same([code, stderr], [0, ''])
  const facts = JSON.parse(stdout)
  t.same(Object.keys(facts), ['nodeId', 'apiKey', 'secret'])
  t.match(facts.nodeId, UUID)
  t.match(facts.apiKey, UUID)
  t.ok(isWellFormedSecret(facts.secret))
  const state = await openState(path.join(cwd, 'd/state.db'))
  t.teardown(() => state.close())
  t.equal(await state.meta.nodeId(), facts.nodeId)
  const key = await state.keys.findActive(facts.apiKey)
  t.match(key, { keyName: 'admin', scopes: ['admin'] })
  t.ok(hashSecret(facts.secret).equals(key?.secrets[0]?.digest ?? new Uint8Array()))
})

t.test('init: run again it creates nothing and reports that', async (t) => {
  const cwd = t.testdir()
  const first = JSON.parse((await cli(cwd, ['init', '--json'])).stdout)
  const second = await cli(cwd, ['init', '--json'])
  t.equal(second.code, 0)
  t.same(JSON.parse(second.stdout), { ...first, secret: null })
  t.match(second.stderr, /existed before; no admin key was created/)
  const inWords = await cli(cwd, ['init'])
  t.match(inWords.stdout, /existed before/)
  t.notMatch(inWords.stdout, /Secret/)
  t.equal(JSON.parse((await cli(cwd, ['key', 'list', '--json'])).stdout).length, 1)
})

t.test('init: names no admin key and creates none when every one is revoked', async (t) => {
  const cwd = t.testdir()
  const { apiKey, nodeId } = JSON.parse((await cli(cwd, ['init', '--json'])).stdout)
  await cli(cwd, ['key', 'revoke', apiKey])
  t.same(JSON.parse((await cli(cwd, ['init', '--json'])).stdout), { nodeId, apiKey: null, secret: null })
})

t.test(
  'init: fails in one line that names the path when the directory or a database cannot be used',
  async (t) => {
    const cwd = t.testdir({ file: 'x', broken: { 'state.db': 'no database at all' } })
    for (const dir of ['file', 'file/below', '/proc/none']) {
      const { code, stdout, stderr } = await cli(cwd, ['init', '--data-dir', dir])
      t.same([code, stdout], [1, ''], dir)
      t.match(stderr, /^fieldgate: the data directory \S+ cannot be made: .*; choose another --data-dir\n$/)
    }
    const { code, stderr } = await cli(cwd, ['init', '--data-dir', 'broken'])
    t.equal(code, 1)
    t.match(
      stderr,
      /^fieldgate: \S+state\.db cannot be opened \(file is not a database\): move the data directory away, .*\n$/,
    )
  },
)

t.test('init: two processes at once create one node and one key', async (t) => {
  const cwd = t.testdir()
  const runs = await Promise.all([1, 2, 3].map(() => cli(cwd, ['init', '--json'])))
  const facts = runs.map(({ stdout }) => JSON.parse(stdout))
  t.equal(new Set(facts.map((fact) => fact.nodeId)).size, 1)
  t.equal(new Set(facts.map((fact) => fact.apiKey)).size, 1)
  t.equal(facts.filter((fact) => fact.secret !== null).length, 1)
})

t.test('init: only the owner can read the files of the data directory', async (t) => {
  const cwd = t.testdir()
  await cli(cwd, ['init', '--data-dir', 'd'])
  const dir = path.join(cwd, 'd')
  t.equal(statSync(dir).mode & 0o777, 0o700)
  for (const name of readdirSync(dir)) {
    const { mode } = statSync(path.join(dir, name))
    t.equal(mode & 0o077, 0, name)
  }
})

t.test('init: accepts a directory name with spaces, quotes and non-Latin letters', async (t) => {
  const cwd = t.testdir()
  const name = `a b/日本 "x" 'y' #?%20`
  const { code, stderr } = await cli(cwd, ['init', '--data-dir', name, '--json'])
  t.same([code, stderr], [0, ''])
  t.ok(existsSync(path.join(cwd, name, 'state.db')))
})

t.test('init: fails in one line when the directory cannot be created', async (t) => {
  const cwd = t.testdir()
  writeFileSync(path.join(cwd, 'file'), '')
  const { code, stdout, stderr } = await cli(cwd, ['init', '--data-dir', 'file/d'])
  t.same([code, stdout], [1, ''])
  t.match(stderr, /^fieldgate: [^\n]*(ENOTDIR|EEXIST)[^\n]*\n$/)
})

t.test('init: does not change a database of a newer version', async (t) => {
  const cwd = t.testdir()
  await cli(cwd, ['init', '--data-dir', 'd'])
  const { default: Database } = await import('better-sqlite3')
  const db = new Database(path.join(cwd, 'd/state.db'))
  db.pragma('user_version = 999')
  db.close()
  const { code, stderr } = await cli(cwd, ['init', '--data-dir', 'd'])
  t.equal(code, 1)
  t.match(stderr, /schema version 999, this Fieldgate knows \d+: install a newer Fieldgate/)
})
