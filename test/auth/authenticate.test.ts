import t from 'tap'
import { type AuthStores, authenticate } from '../../src/auth/authenticate.js'
import { hashSecret } from '../../src/auth/secret.js'
import { rejectsWith } from '../support/rejects-with.js'

const KEY = 'key-1'
const SECRET = 'sesame'
const TOKEN = 'token-1'
const TOKEN_HEADER = 'svc-session-token'

interface Asked {
  keys: string[]
  used: string[]
}

/** One key, one session of it, and notes of what was asked. */
function storesOf(overrides: Partial<AuthStores> = {}): { stores: AuthStores; asked: Asked } {
  const asked: Asked = { keys: [], used: [] }
  const stores: AuthStores = {
    async findKey(keyId) {
      asked.keys.push(keyId)
      if (keyId !== KEY) return undefined
      const secrets = [
        { digest: hashSecret('older'), expiresAtUs: 7 },
        { digest: hashSecret(SECRET), expiresAtUs: null },
      ]
      return { keyId, keyName: 'name', scopes: ['map:read'], secrets }
    },
    findSession: async (hash) =>
      hashSecret(TOKEN).equals(hash) ? { sessionId: 's-1', keyId: KEY, expiresAtUs: 99 } : undefined,
    noteUse: ({ keyId }) => asked.used.push(keyId),
    ...overrides,
  }
  return { stores, asked }
}

const sign = (headers: Record<string, string>, stores = storesOf().stores, allowsBasic = true) =>
  authenticate((name) => headers[name], TOKEN_HEADER, stores, allowsBasic)

const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` })

t.test('authenticate: APIKey and Secret', async (t) => {
  t.strictSame(await sign({ apikey: KEY, secret: SECRET }), {
    keyId: KEY,
    keyName: 'name',
    scopes: ['map:read'],
    sessionId: null,
    endsAtUs: null,
  })
})

t.test('authenticate: either secret works while a rotation overlaps', async (t) => {
  t.equal((await sign({ apikey: KEY, secret: 'older' })).keyId, KEY)
})

t.test('authenticate: a session token, as its key', async (t) => {
  const caller = await sign({ [TOKEN_HEADER]: TOKEN })
  t.match(caller, { keyId: KEY, scopes: ['map:read'], sessionId: 's-1', endsAtUs: 99 })
})

t.test('authenticate: the token wins over a key, also a wrong token over a good key', async (t) => {
  const pair = { apikey: KEY, secret: SECRET }
  t.equal((await sign({ ...pair, [TOKEN_HEADER]: TOKEN })).sessionId, 's-1')
  t.equal((await sign({ apikey: KEY, secret: 'wrong', [TOKEN_HEADER]: TOKEN })).sessionId, 's-1')
  await rejectsWith(t, sign({ ...pair, [TOKEN_HEADER]: 'wrong' }), 'UNAUTHENTICATED')
  await rejectsWith(t, sign({ ...pair, [TOKEN_HEADER]: '' }), 'UNAUTHENTICATED')
})

t.test('authenticate: HTTP Basic, key as user and secret as password', async (t) => {
  t.equal((await sign(basic(`${KEY}:${SECRET}`))).keyId, KEY)
  t.equal(
    (await sign({ authorization: basic(`${KEY}:${SECRET}`).authorization.replace('Basic', 'basic') })).keyId,
    KEY,
  )
  const colons = storesOf({
    findKey: async (keyId) => ({
      keyId,
      keyName: 'n',
      scopes: [],
      secrets: [{ digest: hashSecret('a:b:c'), expiresAtUs: null }],
    }),
  })
  t.equal((await sign(basic('k:a:b:c'), colons.stores)).keyId, 'k', 'colons belong to the password')
})

t.test('authenticate: Basic is refused where a route does not accept it, and says what is', async (t) => {
  const good = basic(`${KEY}:${SECRET}`)
  const { stores, asked } = storesOf()
  for (const header of [good, basic('unknown:wrong')])
    await rejectsWith(t, sign(header, stores, false), 'UNAUTHENTICATED', {
      message: /Found the header Authorization, expected the headers APIKey and Secret/,
    })
  t.same(asked.used, [])
  t.equal(
    (await sign({ ...good, apikey: KEY, secret: SECRET }, stores, false)).keyId,
    KEY,
    'a pair beside it',
  )
  t.equal((await sign({ ...good, [TOKEN_HEADER]: TOKEN }, stores, false)).sessionId, 's-1')
})

t.test('authenticate: APIKey and Secret win over Basic', async (t) => {
  const both = { apikey: KEY, secret: 'wrong', ...basic(`${KEY}:${SECRET}`) }
  await rejectsWith(t, sign(both), 'UNAUTHENTICATED')
  t.equal((await sign({ apikey: 'x', ...basic(`${KEY}:${SECRET}`) })).keyId, KEY, 'half a pair is none')
})

t.test('authenticate: every refusal of wrong credentials is the same answer', async (t) => {
  const noKeys = storesOf({ findKey: async () => undefined }).stores // unknown, revoked and expired look alike here
  const noSecrets = storesOf({
    findKey: async (keyId) => ({ keyId, keyName: 'n', scopes: [], secrets: [] }),
  }).stores
  const refusals = [
    sign({}),
    sign({ apikey: KEY }),
    sign({ secret: SECRET }),
    sign({ apikey: '', secret: '' }),
    sign({ apikey: 'unknown', secret: SECRET }),
    sign({ apikey: KEY, secret: 'wrong' }),
    sign({ apikey: KEY, secret: SECRET.toUpperCase() }),
    sign({ apikey: KEY, secret: SECRET }, noKeys),
    sign({ apikey: KEY, secret: SECRET }, noSecrets),
    sign({ [TOKEN_HEADER]: TOKEN }, noKeys),
    sign({ authorization: `Bearer ${TOKEN}` }),
    sign({ authorization: 'Basic' }),
    sign({ authorization: 'Basic !!!' }),
    sign(basic(KEY)),
    sign(basic('')),
    sign(basic(`${KEY}:`)),
  ]
  const answers = await Promise.all(
    refusals.map((refusal) =>
      refusal.catch(({ errorName, message, data }) => ({ errorName, message, data })),
    ),
  )
  const founds = new Set<string>()
  for (const answer of answers) {
    if (!('errorName' in answer)) return t.fail('signed in')
    const { errorName, message, data } = answer
    t.same([errorName, data], ['UNAUTHENTICATED', {}])
    const match =
      /^Found (.*), expected the headers APIKey and Secret of a key, or the header .* of a session/
    founds.add(match.exec(message)?.[1] ?? message)
  }
  t.same(
    [...founds].sort(),
    [
      'a Svc-Session-Token that is unknown or has ended',
      'an APIKey and a Secret that are wrong, revoked or expired',
      'an Authorization that is wrong, revoked or expired',
      'no credentials',
      'the header APIKey without Secret',
      'the header Secret without APIKey',
    ],
    'it depends on the headers that are there alone',
  )
})

t.test('authenticate: an unknown key costs the same look-up and comparison as a known one', async (t) => {
  const { stores, asked } = storesOf()
  await rejectsWith(t, sign({ apikey: 'unknown', secret: 'x' }, stores), 'UNAUTHENTICATED')
  await rejectsWith(t, sign({ apikey: KEY, secret: 'x' }, stores), 'UNAUTHENTICATED')
  t.same(asked.keys, ['unknown', KEY])
})

t.test('authenticate: a secret of 32 zero bytes is not what unknown keys are compared with', async (t) => {
  const zeroHash = storesOf({ findKey: async () => undefined }).stores
  await rejectsWith(t, sign({ apikey: 'unknown', secret: '\u0000'.repeat(32) }, zeroHash), 'UNAUTHENTICATED')
})

t.test('authenticate: the store is told of each success and of no refusal', async (t) => {
  const { stores, asked } = storesOf()
  await sign({ apikey: KEY, secret: SECRET }, stores)
  await sign({ [TOKEN_HEADER]: TOKEN }, stores)
  await sign({ apikey: KEY, secret: 'wrong' }, stores).catch(() => undefined)
  await sign({ [TOKEN_HEADER]: 'wrong' }, stores).catch(() => undefined)
  t.same(asked.used, [KEY, KEY])
})

t.test('authenticate: a broken store is not a refusal', async (t) => {
  const broken = storesOf({ findKey: () => Promise.reject(new Error('disk')) }).stores
  await t.rejects(sign({ apikey: KEY, secret: SECRET }, broken), { message: 'disk' })
})

t.test('authenticate: a store that does not note uses is enough', async (t) => {
  const { findKey, findSession } = storesOf().stores
  t.equal((await sign({ apikey: KEY, secret: SECRET }, { findKey, findSession })).keyId, KEY)
})

t.test('authenticate: either half of APIKey and Secret alone leaves the choice to Basic', async (t) => {
  const good = basic(`${KEY}:${SECRET}`)
  for (const half of [{ apikey: 'x' }, { secret: 'x' }])
    t.equal((await sign({ ...half, ...good })).keyId, KEY)
})

t.test(
  'authenticate: the header of Basic is the scheme and one base64 text, nothing before or after',
  async (t) => {
    const { authorization } = basic(`${KEY}:${SECRET}`)
    for (const header of [
      `x${authorization}`,
      `Digest ${authorization}`,
      `${authorization} x`,
      `${authorization},`,
    ]) {
      await rejectsWith(t, sign({ authorization: header }), 'UNAUTHENTICATED')
    }
  },
)

t.test('authenticate: Basic without a colon has no password, which is not an empty one', async (t) => {
  const { stores } = storesOf({
    findKey: async (keyId) => ({
      keyId,
      keyName: 'n',
      scopes: [],
      secrets: [{ digest: hashSecret(''), expiresAtUs: null }],
    }),
  })
  t.equal((await sign(basic(`${KEY}:`), stores)).keyId, KEY)
  await rejectsWith(t, sign(basic(KEY), stores), 'UNAUTHENTICATED')
})
