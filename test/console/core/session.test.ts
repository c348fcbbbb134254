import t from 'tap'
import { keptSession, session, signedIn, signedOut } from '../../../src/console/core/session.js'

const KEPT = 'fieldgate-session'
const SESSION = { token: 'fgt_1', keyId: 'fgk_1', endsAtMs: 1000 }

/** The storage of a tab. */
const stored = new Map<string, string>()
Object.defineProperty(globalThis, 'sessionStorage', {
  value: {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => void stored.set(key, value),
    removeItem: (key: string) => void stored.delete(key),
  },
})

t.beforeEach(() => stored.clear())

t.test('session: the tab keeps token, key and end, and nothing else, until sign-out', async (t) => {
  const withSecret = { ...SESSION, secret: 'fgs_1' }
  signedIn(withSecret)
  t.same(JSON.parse(stored.get(KEPT) ?? ''), SESSION)
  t.same(keptSession(999), SESSION)
  signedOut('signed-out')
  t.equal(stored.size, 0)
  t.equal(session(), undefined)
  t.equal(keptSession(999), undefined)
})

t.test('session: one whose time is over has ended, once', async (t) => {
  signedIn(SESSION)
  t.equal(keptSession(1000), 'ended')
  t.equal(keptSession(1000), undefined)
})

t.test('session: text that is no session is none', async (t) => {
  const { token, keyId, endsAtMs } = SESSION
  for (const found of [null, 7, 'x', [], {}, { token, keyId }, { token, endsAtMs }, { keyId, endsAtMs }]) {
    stored.set(KEPT, JSON.stringify(found))
    t.equal(keptSession(0), undefined, JSON.stringify(found))
  }
  stored.set(KEPT, '{"token":')
  t.equal(keptSession(0), undefined)
})
