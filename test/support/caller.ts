import type { Caller } from '../../src/auth/caller.js'

/** A caller with key and secret, which may do everything. */
export const adminCaller: Caller = {
  keyId: 'k',
  keyName: 'site 7',
  scopes: ['admin'],
  sessionId: null,
  endsAtUs: null,
}
