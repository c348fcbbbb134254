import type { Scope, ScopeArea } from '../rpc/define-method.js'

/** Who is calling, after authentication. */
export interface Caller {
  /** id of the API key, a UUID */
  keyId: string
  keyName: string
  scopes: readonly string[]
  /** the session that the call came through, null when it came with key and secret */
  sessionId: string | null
  /** when that session ends, µs; null without one */
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

/** `admin` may everything; `x:write` includes `x:read`. */
export function isAllowed(scopes: readonly string[], needed: Scope): boolean {
  if (needed === 'none' || scopes.includes('admin') || scopes.includes(needed)) return true
  return needed.endsWith(':read') && scopes.includes(needed.replace(/:read$/, ':write'))
}
