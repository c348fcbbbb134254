import { AppError } from '../errors.js'
import type { Scope, ScopeArea } from '../rpc/define-method.js'

/** An authenticated caller. */
export interface Caller {
  /** id of the API key, a UUID */
  keyId: string
  keyName: string
  scopes: readonly string[]
  /** session of the call; null when it came with key and secret */
  sessionId: string | null
  /**
   * end of the session, or of a secret that a rotation replaced, µs since 1970 UTC; null for none. A session
   * that the caller opens ends no later
   */
  endsAtUs: number | null
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
  'sync',
]

/** Every scope that a key may be given. */
export const SCOPES: readonly string[] = [
  'admin',
  ...SCOPE_AREAS.flatMap((area) => [`${area}:read`, `${area}:write`]),
  'sync:relay',
  'fleet:admin',
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

/** Refuses a caller whose key lacks a scope. @throws AppError FORBIDDEN */
export function requireScope({ scopes }: Pick<Caller, 'scopes'>, scope: Scope): void {
  if (isAllowed(scopes, scope)) return
  throw new AppError('FORBIDDEN', { scope }, { message: `The key lacks the scope ${scope}` })
}
