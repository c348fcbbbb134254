import { existsSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { hashSecret, isWellFormedSecret } from '../../../src/auth/secret.js'
import { openState } from '../../../src/storage/sqlite/state.js'
import { cli } from '../../support/run-cli.js'

/** A data directory of a test, and how its verbs are called. */
async function prepared(t: Test) {
  const cwd = t.testdir()
  await cli(cwd, ['init'])
  const key = (...argv: string[]) => cli(cwd, ['key', ...argv])
  return {
    key,
    create: async (name: string, ...argv: string[]) =>
      JSON.parse((await key('create', '--name', name, '--json', ...argv)).stdout) as {
        apiKey: string
        secret: string
      },
    list: async () => JSON.parse((await key('list', '--json')).stdout) as Record<string, unknown>[],
    async secretWorks(apiKey: string, secret: string) {
      const state = await openState(path.join(cwd, 'data/state.db'))
      const active = await state.keys.findActive(apiKey)
      await state.close()
      return active?.secrets.some(({ digest }) => hashSecret(secret).equals(digest)) ?? false
    },
  }
}

t.test('key create: prints a pair that works, and nothing else', async (t) => {
  const { key, secretWorks } = await prepared(t)
  const { code, stdout, stderr } = await key(
    'create',
    '--name',
    'meter 7',
    '--scope',
    'loader:write',
    '--json',
  )
  t.same([code, stderr], [0, ''])
  const pair = JSON.parse(stdout)
  t.same(Object.keys(pair), ['apiKey', 'secret'])
  t.ok(isWellFormedSecret(pair.secret))
  t.ok(await secretWorks(pair.apiKey, pair.secret))
  t.match(
    (await key('create', '--name', 'x', '--scope', 'admin')).stdout,
    /APIKey {2}\S+\nSecret {2}fgs_\S+\n/,
  )
})

t.test('key create: scopes come in every spelling, each once', async (t) => {
  const { create, list } = await prepared(t)
  await create('a', '--scope', 'map:read,route:read')
  await create('b', '--scope', 'map:read', 'route:read')
  await create('c', '--scope', 'map:read', '--scope', 'route:read', '--scope', 'map:read')
  const scopes = (await list()).slice(1).map((row) => row.scopes)
  t.same(scopes, Array(3).fill(['map:read', 'route:read']))
})

t.test('key list: prints every field of every key except its secret', async (t) => {
  const { create, list, key } = await prepared(t)
  const { apiKey, secret } = await create('日本', '--scope', 'map:read', '--expires-in', '90d')
  const rows = await list()
  t.match(rows[0], { name: 'admin', state: 'active', scopes: ['admin'], lastUsedAt: null, expiresAt: null })
  t.match(rows[1], { apiKey, name: '日本', createdAt: /\+09:00$/, expiresAt: /^20\d\d-/, revokedAt: null })
  const { stdout } = await key('list')
  t.match(stdout, new RegExp(`${apiKey} {2}active {3}日本 {2}\\[map:read\\]`))
  t.notMatch(stdout + JSON.stringify(rows), secret)
})

t.test('key rotate: a new secret, the old one for the overlap', async (t) => {
  const { create, key, secretWorks } = await prepared(t)
  const { apiKey, secret } = await create('a', '--scope', 'map:read')
  const rotated = JSON.parse((await key('rotate', apiKey, '--json')).stdout)
  t.match(rotated, { apiKey, oldValidUntil: /^20\d\d-/ })
  t.ok(await secretWorks(apiKey, rotated.secret))
  t.ok(await secretWorks(apiKey, secret))
  const again = JSON.parse((await key('rotate', 'a', '--overlap', '0', '--json')).stdout)
  t.ok(await secretWorks(apiKey, again.secret))
  t.notOk(await secretWorks(apiKey, rotated.secret))
  t.notOk(await secretWorks(apiKey, secret))
})

t.test('key revoke: for good; a second time says so', async (t) => {
  const { create, key, list, secretWorks } = await prepared(t)
  const { apiKey, secret } = await create('a', '--scope', 'map:read')
  t.match(await key('revoke', 'a'), { code: 0, stdout: /is revoked; its sessions ended with it/ })
  t.notOk(await secretWorks(apiKey, secret))
  t.match((await list())[1], { state: 'revoked', revokedAt: /^20\d\d-/ })
  const before = await list()
  for (const which of [apiKey, 'a']) {
    t.match(await key('revoke', which), {
      code: 0,
      stdout: /^The key a \(\S+\) was already revoked at 20\d\d-\S+; nothing changed\.\n$/,
    })
  }
  t.match(JSON.parse((await key('revoke', 'a', '--json')).stdout), { apiKey, revoked: true, already: true })
  t.same(await list(), before)
  t.match(await key('rotate', apiKey), {
    code: 1,
    stderr: /is revoked: create a new one with `fieldgate key create`/,
  })
})

t.test('key: an unknown key, and a name that several keys have', async (t) => {
  const { create, key, list } = await prepared(t)
  await create('twin', '--scope', 'map:read')
  await create('twin', '--scope', 'map:read')
  const before = await list()
  for (const verb of ['rotate', 'revoke']) {
    t.match(await key(verb, 'nobody'), { code: 1, stderr: /no key has the id or name nobody/ })
    t.match(await key(verb, 'twin'), { code: 1, stderr: /2 keys are named twin: give the id of one/ })
  }
  t.same(await list(), before, 'nothing changed')
})

t.test("key: without a gateway's data nothing is made", async (t) => {
  const cwd = t.testdir()
  for (const argv of [
    ['create', '--name', 'n', '--scope', 'admin'],
    ['list'],
    ['rotate', 'x'],
    ['revoke', 'x'],
  ]) {
    const { code, stdout, stderr } = await cli(cwd, ['key', ...argv, '--data-dir', 'typo'])
    t.same([code, stdout], [1, ''])
    t.match(stderr, /typo holds no gateway's data: run `fieldgate init`/)
  }
  t.notOk(existsSync(path.join(cwd, 'typo')))
})
