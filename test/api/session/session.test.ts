import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { closeSession } from '../../../src/api/session/close-session.js'
import { endSession } from '../../../src/api/session/end-session.js'
import { SESSION_METHODS, type SessionContext } from '../../../src/api/session/index.js'
import { listSessions } from '../../../src/api/session/list-sessions.js'
import { openSession } from '../../../src/api/session/open-session.js'
import { DEFAULT_LIFE_S, ListSessionsResult, OpenSessionResult } from '../../../src/api/session/schema.js'
import { verifySessionToken } from '../../../src/api/session/verify-session-token.js'
import { hashSecret } from '../../../src/auth/secret.js'
import { loadConfig } from '../../../src/config/config.js'
import { sessionKey } from '../../support/conformance/keys-and-sessions.js'
import { type MemoryState, memoryState, START_MS } from '../../support/memory-state.js'
import { rejectsWith } from '../../support/rejects-with.js'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** What a call comes with, over a store in memory. */
async function contextOf(t: Test, maxAgeS = 31_536_000, maxPerKey = 10_000) {
  const state = await memoryState(t)
  const keyId = randomUUID()
  await state.keys.create({
    keyId,
    name: 'k',
    scopes: ['session:write'],
    secretHash: hashSecret('s'),
    expiresAtUs: null,
  })
  const loaded = loadConfig(null, {}, { session: { maxAgeS, maxPerKey } })
  if ('faults' in loaded) throw new Error('bad settings')
  const caller = { keyId, keyName: 'k', scopes: [], sessionId: null, endsAtUs: null }
  const context: SessionContext = {
    caller,
    config: loaded.config,
    newId: randomUUID,
    sessions: state.sessions,
    timeZoneMin: 540,
    clock: state.clock,
  }
  return { state, context, keyId }
}

async function open(context: SessionContext, params: unknown = {}) {
  return (await openSession.call(params, context)) as { access_token: string; expires_in: number }
}

async function isActive(context: SessionContext, token: unknown): Promise<boolean> {
  return ((await verifySessionToken.call({ token }, context)) as { active: boolean }).active
}

t.test('session.open_session: a token that works, for 30 days unless asked otherwise', async (t) => {
  const { context, state } = await contextOf(t)
  const opened = await open(context)
  t.match(opened.access_token, UUID)
  t.equal(opened.expires_in, DEFAULT_LIFE_S)
  t.ok(OpenSessionResult.safeParse(opened).success)
  t.ok(await isActive(context, opened.access_token))
  state.advance(DEFAULT_LIFE_S * 1000 + 1)
  t.notOk(await isActive(context, opened.access_token))
})

t.test('session.open_session: null and nothing are the same', async (t) => {
  const { context } = await contextOf(t)
  for (const params of [undefined, {}, { expires_in: null }, { expires_in: undefined }, []]) {
    t.equal((await open(context, params)).expires_in, DEFAULT_LIFE_S)
  }
})

t.test('session.open_session: one second and session.maxAgeS are the ends of the range', async (t) => {
  const { context } = await contextOf(t, 1000)
  t.equal((await open(context, { expires_in: 1 })).expires_in, 1)
  t.equal((await open(context, { expires_in: 1000 })).expires_in, 1000)
  t.equal((await open(context)).expires_in, 1000, 'the default is cut to the maximum')
  await rejectsWith(t, open(context, { expires_in: 1001 }), 'INVALID_PARAMS', {
    message: /found 1001, expected 1 to 1000 seconds/,
    data: { faults: [{ path: '$.expires_in' }] },
  })
})

t.test('session.open_session: through a session it gives the same key, ending no later', async (t) => {
  const { context, state, keyId } = await contextOf(t)
  const endsAtUs = START_MS * 1000 + 100_500_000
  const caller = { ...context.caller, sessionId: randomUUID(), endsAtUs: endsAtUs }
  const opened = await open({ ...context, caller }, { expires_in: 5000 })
  t.equal(opened.expires_in, 100)
  t.match(await state.sessions.findOpen(hashSecret(opened.access_token)), { keyId, expiresAtUs: endsAtUs })
  t.equal((await open({ ...context, caller }, { expires_in: 50 })).expires_in, 50)
})

t.test('session.open_session: every token and session id is another', async (t) => {
  const { context } = await contextOf(t)
  const tokens = await Promise.all(Array.from({ length: 20 }, async () => (await open(context)).access_token))
  t.equal(new Set(tokens).size, 20)
})

t.test(
  'session.verify_session_token: what no session has is not active, whatever it looks like',
  async (t) => {
    const { context } = await contextOf(t)
    const { access_token: token } = await open(context)
    const others = [
      '',
      ' ',
      randomUUID(),
      token.toUpperCase(),
      `${token} `,
      token.slice(1),
      `{${token}}`,
      '\u0000',
      '😀'.repeat(2000),
    ]
    for (const other of others)
      t.equal(await isActive(context, other), false, JSON.stringify(other.slice(0, 40)))
    t.equal(await isActive(context, token), true)
  },
)

t.test('session.verify_session_token: the token of a revoked key is not active', async (t) => {
  const { context, state, keyId } = await contextOf(t)
  const { access_token: token } = await open(context)
  await state.keys.revoke(keyId)
  t.equal(await isActive(context, token), false)
})

t.test('session.close_session: true always, and the session is over', async (t) => {
  const { context } = await contextOf(t)
  const [a, b] = [await open(context), await open(context)]
  for (const token of [a.access_token, a.access_token, randomUUID(), '', 'x'.repeat(4096)]) {
    t.equal(await closeSession.call({ token }, context), true)
  }
  t.equal(await isActive(context, a.access_token), false)
  t.equal(await isActive(context, b.access_token), true, 'the other one goes on')
})

t.test('session.list_sessions: those of the key of the caller, with the current one marked', async (t) => {
  const { context, state, keyId } = await contextOf(t)
  const other = await sessionKey(state)
  await open({ ...context, caller: { ...context.caller, keyId: other } })
  const first = await open(context)
  state.advance(1000)
  await open(context, { expires_in: 60 })
  const [newest, oldest] = await state.sessions.list({ keyId, limit: 10, offset: 0 })
  const caller = { ...context.caller, sessionId: oldest?.sessionId ?? '' }
  const listed = await listSessions.call({}, { ...context, caller })
  t.ok(ListSessionsResult.safeParse(listed).success)
  t.match(listed, [
    { session_id: newest?.sessionId, is_current: false },
    { session_id: oldest?.sessionId, is_current: true, idle_at: null },
  ])
  const [{ created_at, expires_at }] = listed as [{ created_at: string; expires_at: string }]
  t.match(created_at, /^2027-01-01T09:00:01(?:\.\d+)?\+09:00$/, 'in the time zone of the service')
  t.match(expires_at, /^2027-01-01T09:01:01/)
  t.notMatch(JSON.stringify(listed), first.access_token, 'no token')
  t.same(await listSessions.call({ limit: 1, offset: 1 }, { ...context, caller }), [(listed as unknown[])[1]])
})

t.test('session.end_session: by the id of an open session of the same key, and nothing else', async (t) => {
  const { context, state, keyId } = await contextOf(t)
  const { access_token: token } = await open(context)
  const [{ sessionId } = { sessionId: '' }] = await state.sessions.list({ keyId, limit: 1, offset: 0 })
  const end = (id: string, of = context.caller) =>
    endSession.call({ session_id: id }, { ...context, caller: of })
  t.equal(await end(randomUUID()), false)
  t.equal(await end(token), false, 'the token is not the id')
  t.equal(await end(sessionId, { ...context.caller, keyId: await sessionKey(state) }), false)
  t.equal(await isActive(context, token), true)
  t.equal(await end(sessionId), true)
  t.equal(await isActive(context, token), false)
  t.equal(await end(sessionId), false)
})

/** Everything that state.db holds of sessions. */
async function snapshot(state: MemoryState, tokens: readonly string[]) {
  return {
    keys: await state.keys.list(),
    ended: await state.sessions.listEnded(100),
    open: await Promise.all(tokens.map((token) => state.sessions.findOpen(hashSecret(token)))),
  }
}

const BAD_CALLS: Record<string, unknown[]> = {
  'session.open_session': [
    null,
    [{ expires_in: 5 }],
    'x',
    7,
    { expires_in: 0 },
    { expires_in: -1 },
    { expires_in: 1.5 },
    { expires_in: '60' },
    { expires_in: true },
    { expires_in: [60] },
    { expires_in: {} },
    { expires_in: Number.NaN },
    { expires_in: Infinity },
    { expires_in: 31_536_001 },
    { expires_in: 315_360_001 },
    { expires_in: Number.MAX_SAFE_INTEGER + 1 },
    { expiresIn: 60 },
    { EXPIRES_IN: 60 },
    { expires_in: 60, scope: 'admin' },
    JSON.parse('{"__proto__":{"expires_in":60}}'),
  ],
  'session.verify_session_token': tokenCalls(),
  'session.close_session': tokenCalls(),
  'session.list_sessions': [
    null,
    'x',
    7,
    { limit: 0 },
    { limit: 1001 },
    { limit: '10' },
    { limit: 1.5 },
    { limit: null },
    { offset: -1 },
    { offset: 1e300 },
    { key: 'x' },
  ],
  'session.end_session': [
    undefined,
    null,
    [],
    {},
    { session_id: null },
    { session_id: 7 },
    { session_id: 'x' },
    { session_id: '' },
    { session_id: ['x'] },
    { token: 'x' },
    { session_id: randomUUID(), force: true },
  ],
}

function tokenCalls(): unknown[] {
  return [
    undefined,
    null,
    [],
    ['x'],
    {},
    { token: null },
    { token: undefined },
    { token: 7 },
    { token: true },
    { token: ['x'] },
    { token: { token: 'x' } },
    { token: 'x'.repeat(4097) },
    { access_token: 'x' },
    { Token: 'x' },
    { token: 'x', force: true },
    JSON.parse('{"token":"x","__proto__":{"a":1}}'),
    JSON.parse('{"__proto__":{"token":"x"}}'),
  ]
}

for (const method of SESSION_METHODS) {
  t.test(
    `${method.name}: bad calls are refused with the place of the fault and change nothing`,
    async (t) => {
      const { context, state } = await contextOf(t)
      const { access_token: token } = await open(context)
      const before = await snapshot(state, [token])
      for (const params of BAD_CALLS[method.name] ?? []) {
        await rejectsWith(t, method.call(params, context), 'INVALID_PARAMS', {
          message: /^Invalid params: \$/,
        })
      }
      t.strictSame(await snapshot(state, [token]), before)
      state.advance(400 * 86_400_000)
      t.equal((await state.sessions.listEnded(1000)).length, 1, 'there is the one session and no other')
    },
  )
}

t.test('session: every method has a table of bad calls', async (t) => {
  t.same(SESSION_METHODS.map((method) => method.name).sort(), Object.keys(BAD_CALLS).sort())
})

t.test('session.open_session: TOO_MANY_SESSIONS at the limit of a key, until one ends', async (t) => {
  const { context, state } = await contextOf(t, 31_536_000, 3)
  const [first] = [await open(context, { expires_in: 60 }), await open(context), await open(context)]
  await rejectsWith(t, open(context), 'TOO_MANY_SESSIONS', { data: { maxPerKey: 3 } })
  await closeSession.call({ token: first.access_token }, context)
  await open(context, { expires_in: 60 })
  await rejectsWith(t, open(context), 'TOO_MANY_SESSIONS', { message: /session\.maxPerKey/ })
  state.advance(60_001)
  await open(context)
  await rejectsWith(t, open(context), 'TOO_MANY_SESSIONS')
})
