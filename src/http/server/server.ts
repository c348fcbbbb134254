import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import type { Config } from '../../config.js'
import { AppError, messageOf } from '../../errors.js'
import { errorText, toRpcError } from '../../rpc/envelope.js'
import { createDrain } from './drain.js'
import { lingerAfterEarlyAnswer } from './linger.js'
import { requestIdOf } from './request-id.js'
import { createSocketGuard } from './sockets.js'
import type { TlsPair } from './tls-pair.js'

export interface HttpServer {
  listen(host: string, port: number): Promise<{ host: string; port: number }>
  /** open ones, at this moment */
  connections(): number
  /** new connections use the new pair, running ones go on */
  setTls(pair: TlsPair): void
  /** lets running calls end within `drainMs`, new ones still come to the routes; then closes and cuts */
  stop(drainMs: number): Promise<void>
}

type Fetch = (
  request: Request,
  env: { incoming: IncomingMessage; outgoing: ServerResponse },
) => Response | Promise<Response>

/** The socket side: time-outs, limits and error bodies that Node's own server leaves out. */
export function createHttpServer(fetch: Fetch, limits: Config['limits'], tls: TlsPair | null): HttpServer {
  const guard = createSocketGuard(limits)
  const answer = getRequestListener(fetch as Parameters<typeof getRequestListener>[0], {
    autoCleanupIncoming: false, // gives a refused body half a second and then cuts, answer and all
    errorHandler: (error) =>
      plainRefusal(
        new AppError(
          'BAD_HTTP',
          {},
          { cause: error, message: `The HTTP request cannot be read: ${messageOf(error)}` },
        ),
      ),
  })
  const listener = guard.guard((request, response) => {
    lingerAfterEarlyAnswer(request, response, limits.bodyMs)
    return answer(request, response)
  })
  const options = {
    headersTimeout: limits.headerMs,
    requestTimeout: 0, // would cut an upload that still moves; bodies have their own silence limit
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: Math.min(1000, limits.headerMs),
    maxHeaderSize: limits.headerBytes,
    requireHostHeader: false, // Node's own refusal has no body; the listener refuses it with one
  }
  const server: Server =
    tls === null
      ? createServer(options)
      : (createTlsServer({ ...options, ...tls, handshakeTimeout: limits.headerMs }) as unknown as Server)
  const drain = createDrain(server)
  server.on('request', drain.onRequest)
  server.on('request', listener)
  guard.watch(server, tls !== null)
  server.on('clientError', answerClientError)
  // the body reader answers 100-continue, so that a call refused by its headers never sends its body
  server.on('checkContinue', (request, response) => server.emit('request', request, response))
  return {
    listen: (host, port) => listen(server, host, port),
    connections: guard.connections,
    setTls(pair) {
      if ('setSecureContext' in server) (server as unknown as TlsServer).setSecureContext(pair)
    },
    stop: drain.stop,
  }
}

/** A refusal outside any route: no request id of the caller's is known. */
function plainRefusal(error: AppError): Response {
  const requestId = requestIdOf(undefined)
  return new Response(errorText(null, toRpcError(error, requestId)), {
    status: 400,
    headers: { 'Content-Type': 'application/json; charset=utf-8', 'X-Request-Id': requestId },
  })
}

/** Node answers these without a body; the contract wants one. */
function answerClientError(
  error: NodeJS.ErrnoException,
  socket: Socket | import('node:stream').Duplex,
): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  const [statusLine, fault] = clientFault(error)
  const requestId = requestIdOf(undefined)
  const body = errorText(null, toRpcError(fault, requestId))
  socket.end(
    `HTTP/1.1 ${statusLine}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `X-Request-Id: ${requestId}\r\nConnection: close\r\n\r\n${body}`,
  )
}

function clientFault(error: NodeJS.ErrnoException): [string, AppError] {
  if (error.code === 'HPE_HEADER_OVERFLOW')
    return ['431 Request Header Fields Too Large', new AppError('HEADERS_TOO_LARGE')]
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return [
      '408 Request Timeout',
      new AppError('BODY_TIMEOUT', {}, { message: 'The request headers took too long' }),
    ]
  }
  return [
    '400 Bad Request',
    new AppError('BAD_HTTP', {}, { message: `The HTTP request cannot be read: ${messageOf(error)}` }),
  ]
}

function listen(server: Server, host: string, port: number): Promise<{ host: string; port: number }> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port }, () => {
      server.off('error', reject)
      const address = server.address() as AddressInfo
      resolve({ host: address.address, port: address.port })
    })
  })
}
