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
 * Returns a header of a request by its lower-case name, as the web's `Headers` do: a repeated one is joined by
 * commas. It is read where Node has it, which costs a tenth: a call asks for twenty.
 */
export function headerOf(c: HttpContext, name: string): string | undefined {
  const raw = c.env?.incoming?.rawHeaders
  if (raw === undefined) return c.req.header(name)
  let found: string | undefined
  for (let at = 0; at < raw.length; at += 2) {
    const key = raw[at]
    if (key?.length !== name.length || (key !== name && key.toLowerCase() !== name)) continue
    const value = raw[at + 1] ?? ''
    found = found === undefined ? value : `${found}, ${value}`
  }
  return found
}

/**
 * True when a request has a header that could sign it in, right or wrong.
 *
 * @param tokenHeader lower-case name of the session token header
 */
export function hasCredentials(c: HttpContext, tokenHeader: string): boolean {
  return [tokenHeader, 'apikey', 'authorization'].some((name) => headerOf(c, name) !== undefined)
}

/** Returns the address of the client, as `createClientAddress` reads it; `local` without a socket. */
export function addressOf(c: HttpContext): string {
  return c.get('address') ?? 'local'
}
