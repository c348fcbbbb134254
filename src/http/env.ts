import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Context as HonoContext } from 'hono'
import type { Caller } from '../auth/caller.js'

/** What a request carries through the routes. `incoming` is absent in tests that call the routes without a socket. */
export interface HttpEnv {
  Bindings: { incoming?: IncomingMessage; outgoing?: ServerResponse }
  Variables: {
    requestId: string
    startedAtMs: number
    caller?: Caller
    /** what the metrics count this request as, where it is no JSON-RPC; never a text of the caller's */
    countedAs?: string
  }
}

export type HttpContext = HonoContext<HttpEnv>

/** Address of the client's end of the connection, `local` without a socket. Forwarding headers are not believed. */
export function addressOf(c: HttpContext): string {
  return c.env?.incoming?.socket?.remoteAddress ?? 'local'
}
