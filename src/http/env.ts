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
    caller?: Caller
    /** name of the request in metrics, where it is no JSON-RPC; never a text of the caller */
    countedAs?: string
  }
}

export type HttpContext = HonoContext<HttpEnv>

/**
 * Returns the address of the client's end of the connection, `local` without a socket. Forwarding headers are
 * ignored.
 */
export function addressOf(c: HttpContext): string {
  return c.env?.incoming?.socket?.remoteAddress ?? 'local'
}
