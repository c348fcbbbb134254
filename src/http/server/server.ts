import { createServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Duplex } from 'node:stream'
import { getRequestListener } from '@hono/node-server'
import type { Config } from '../../config/config.js'
import { AppError, messageOf } from '../../errors.js'
import { createDrain } from './drain.js'
import { createLines, lineOf } from './lines.js'
import { createLinger } from './linger.js'
import { createListeners } from './listeners.js'
import { plainRefusal } from './plain-refusal.js'
import { createRequestTurns } from './request-turns.js'
import { createSocketGuard } from './sockets.js'
import type { TlsPair } from './tls-pair.js'

export interface HttpServer {
  /** @returns the port, which the system picks for port 0. @throws Error of Node, such as EADDRINUSE */
  listen(host: string, port: number): Promise<{ host: string; port: number }>
  /** open connections */
  connections(): number
  /** uses another pair for new connections; open ones are not affected */
  setTls(pair: TlsPair): void
  /**
   * waits up to `drainMs` for running requests, while new ones still reach the routes; then cuts every
   * connection
   */
  stop(drainMs: number): Promise<void>
}

/** A web handler, such as hono's `app.fetch`, with Node's own request and response beside the web's. */
export type Fetch = (
  request: Request,
  env: { incoming: IncomingMessage; outgoing: ServerResponse },
) => Response | Promise<Response>

/** Time that the far end of a refused connection has to read the refusal, ms. */
const REFUSED_MS = 1000

/** Longest time between two looks of Node for connections whose headers are late, ms. Each wakes the processor. */
const CHECK_MS = 5000

type NodeServer = ReturnType<typeof createServer> | ReturnType<typeof createTlsServer>

/**
 * Makes the server of the routes: limits and time-outs of sockets, and error bodies that Node's own refusals
 * lack.
 */
export function createHttpServer(
  fetch: Fetch,
  { limits, server: { trustedProxies } }: Pick<Config, 'limits' | 'server'>,
  tls: TlsPair | null,
): HttpServer {
  const guard = createSocketGuard({ ...limits, trustedProxies })
  // the library types Node's request for HTTP/2, too, which this server does not speak
  const answer = getRequestListener(fetch as Parameters<typeof getRequestListener>[0], {
    autoCleanupIncoming: false, // it cuts a refused body after half a second, response and all
    errorHandler(error) {
      const { status, headers, body } = plainRefusal(badHttp(error))
      return new Response(body, { status, headers })
    },
  })
  const server = openServer(limits, tls)
  const listeners = createListeners(server, tls !== null)
  const drain = createDrain(server, listeners)
  const linger = createLinger()
  const turns = createRequestTurns()
  const lines = createLines()
  const listener = guard.guard((request, response) => {
    if (countHosts(request) > 1) return refuseHosts(request, response)
    linger.afterEarlyAnswer(request, response, limits.bodyMs)
    const begin = async () => {
      try {
        await answer(request, response)
      } catch (error) {
        // what the library cannot send, such as a header that Node refuses, cuts this connection and nothing else
        response.destroy(error as Error)
      }
    }
    if (isHealth(request)) return void begin() // it costs as little as a wait
    const network = guard.networkOf(request.socket)
    const beginInTurn = () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      turns.run(network, () => resolve(request.destroyed ? undefined : begin()))
      return promise
    }
    const line = lineOf(request)
    if (line === undefined) return void beginInTurn()
    // Node reads the rest of the packet after this event
    setImmediate(() => (request.complete ? lines[line].run(network, beginInTurn) : void beginInTurn()))
  })
  const onRequest = (request: IncomingMessage, response: ServerResponse) => {
    drain.onRequest(response)
    listener(request, response)
  }
  server.on('request', onRequest)
  server.on('connection', turns.accepted)
  // without Node's own 100-continue: the body reader sends it, so that a call refused by its headers never
  // sends its body
  server.on('checkContinue', onRequest)
  server.on('clientError', answerClientError)
  guard.watch(server, tls !== null)
  return {
    listen: listeners.listen,
    connections: guard.connections,
    setTls(pair) {
      if ('setSecureContext' in server) server.setSecureContext(pair)
    },
    stop: drain.stop,
  }
}

function openServer(limits: Config['limits'], tls: TlsPair | null): NodeServer {
  const options = {
    headersTimeout: limits.headerMs,
    requestTimeout: 0, // it would cut an upload that still moves; bodies have their own silence limit
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: Math.min(CHECK_MS, limits.headerMs),
    maxHeaderSize: limits.headerBytes,
    requireHostHeader: false, // Node's own refusal has no body; the listener refuses it with one
  }
  if (tls === null) return createServer(options)
  return createTlsServer({ ...options, ...tls, handshakeTimeout: limits.headerMs })
}

function isHealth({ url }: IncomingMessage): boolean {
  return url === '/healthz' || url === '/readyz'
}

/** Host headers of a request: Node reads the first, a proxy before it may have read another. */
function countHosts({ rawHeaders }: IncomingMessage): number {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? ''
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  return hosts
}

/** Refuses a request with several Host headers. @see RFC 9112 section 3.2 */
function refuseHosts(request: IncomingMessage, response: ServerResponse): void {
  const message = `The HTTP request cannot be read: found ${countHosts(request)} Host headers, expected one`
  const { status, headers, body } = plainRefusal(new AppError('BAD_HTTP', {}, { message }))
  response.writeHead(status, { ...headers, Connection: 'close' }).end(body)
}

/** Answers a request that Node could not read, with the body that Node's own answer lacks. */
function answerClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  const { status, headers, body } = plainRefusal(clientFault(error))
  const head = Object.entries({ ...headers, Connection: 'close' }).map(([name, value]) => `${name}: ${value}`)
  // the far end may never close its side
  const cut = setTimeout(() => socket.destroy(), REFUSED_MS).unref()
  socket.once('close', () => clearTimeout(cut))
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join('\r\n')}\r\n\r\n${body}`)
}

function clientFault(error: NodeJS.ErrnoException): AppError {
  if (error.code === 'HPE_HEADER_OVERFLOW') return new AppError('HEADERS_TOO_LARGE')
  if (error.code !== 'ERR_HTTP_REQUEST_TIMEOUT') return badHttp(error)
  return new AppError('BODY_TIMEOUT', {}, { message: 'The request headers took too long' })
}

function badHttp(error: unknown): AppError {
  const message = `The HTTP request cannot be read: ${messageOf(error)}`
  return new AppError('BAD_HTTP', {}, { cause: error, message })
}
