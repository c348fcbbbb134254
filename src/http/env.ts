import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Context as HonoContext } from 'hono'
import type { Caller } from '../auth/caller.js'

/**
 * Values that a request carries through the routes. `incoming` is absent in tests that call routes without a
 * socket.
 */
export interface HttpEnv {
  Bindings: { incoming?: IncomingMessage; outgoing?: ServerResponse }
  Variables: {
    requestId: string
    startedAtMs: number
    /** address of the client, behind trusted proxies; absent below the frame of the routes */
    address?: string
    caller?: Caller
    /** true when the credentials of the request were checked */
    isSignInTried?: boolean
    /** true on paths that accept HTTP Basic */
    acceptsBasic?: boolean
    /** true when the refusal for want of a scope is in the audit log */
    isForbiddenNoted?: boolean
    /** time of the searches of the request in their thread, ms; absent when it had none */
    searchMs?: number
    /** name of the request in metrics, where it is no JSON-RPC; never a text of the caller */
    countedAs?: string
  }
}

export type HttpContext = HonoContext<HttpEnv>

/**
 * True when a request has a header that could sign it in, right or wrong.
 *
 * @param tokenHeader lower-case name of the session token header
 */
export function hasCredentials(c: HttpContext, tokenHeader: string): boolean {
  return [tokenHeader, 'apikey', 'authorization'].some((name) => c.req.header(name) !== undefined)
}

/** Returns the address of the client, as `createClientAddress` reads it; `local` without a socket. */
export function addressOf(c: HttpContext): string {
  return c.get('address') ?? 'local'
}
