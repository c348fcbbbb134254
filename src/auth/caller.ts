import type { Scope, ScopeArea } from '../rpc/define-method.js'

/** An authenticated caller. */
export interface Caller {
  /** id of the API key, a UUID */
  keyId: string
  keyName: string
  scopes: readonly string[]
  /** session of the call; null when it came with key and secret */
  sessionId: string | null
  /** end of that session, µs since 1970 UTC; null without one */
  sessionEndsAtUs: number | null
}

export const SCOPE_AREAS: readonly ScopeArea[] = [
  'session',
  'dataproc',
  'loader',
  'map',
  'dataset',
  'fl',
  'model',
  'route',
]

/** Every scope that a key may be given. */
export const SCOPES: readonly string[] = [
  'admin',
  ...SCOPE_AREAS.flatMap((area) => [`${area}:read`, `${area}:write`]),
]

/**
 * True when scopes allow a call. `admin` includes every scope, `x:write` includes `x:read`.
 *
 * @param needed scope of the method
 */
export function isAllowed(scopes: readonly string[], needed: Scope): boolean {
  if (needed === 'none' || scopes.includes('admin') || scopes.includes(needed)) return true
  return needed.endsWith(':read') && scopes.includes(needed.replace(/:read$/, ':write'))
}
