import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { AppError, ERRORS } from '../../errors.js'
import { errorText, toRpcError } from '../../rpc/envelope.js'
import { requestIdOf } from './request-id.js'

export interface SocketLimits {
  connections: number
  pipelined: number
}

/** Connections beyond the limit that are told so; those beyond them are closed without a word. */
const SPARE_CONNECTIONS = 32
/** A connection beyond the limit is closed after this long, whatever it sends. */
const SPARE_MS = 2000
/** Requests beyond the limit of one connection that are refused by an answer before it is cut. */
const SPARE_REQUESTS = 64

type Listener = (request: IncomingMessage, response: ServerResponse) => unknown

export interface SocketGuard {
  /** the listener behind the limits */
  guard(listener: Listener): Listener
  /** open ones, at this moment */
  connections(): number
  /** begins to count */
  watch(server: Server, isTls: boolean): void
}

/**
 * Holds what one client may take: connections, and requests that it sends before the earlier ones are answered. Node runs
 * those all at once, so a flood of them in one packet would be a flood of calls.
 */
export function createSocketGuard(limits: SocketLimits): SocketGuard {
  const open = new Set<Socket>()
  const refused = new WeakSet<Socket>()
  const unanswered = new WeakMap<Socket, number>()

  const admit = (socket: Socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
    if (open.size <= limits.connections) return
    refused.add(socket)
    setTimeout(() => socket.destroy(), SPARE_MS).unref()
  }
  const faultOf = (socket: Socket): AppError | undefined => {
    if (refused.has(socket)) return tooManyConnections(limits.connections)
    const waiting = unanswered.get(socket) ?? 0
    return waiting > limits.pipelined ? tooManyPipelined(limits.pipelined) : undefined
  }
  return {
    connections: () => open.size,
    watch(server, isTls) {
      server.maxConnections = limits.connections + SPARE_CONNECTIONS
      server.on(isTls ? 'secureConnection' : 'connection', admit)
    },
    guard: (listener) => (request, response) => {
      const { socket } = request
      const waiting = (unanswered.get(socket) ?? 0) + 1
      unanswered.set(socket, waiting)
      response.once('close', () => unanswered.set(socket, (unanswered.get(socket) ?? 1) - 1))
      const fault = faultOf(socket)
      if (fault === undefined) listener(request, response)
      else if (waiting > limits.pipelined + SPARE_REQUESTS) socket.destroy()
      else refuse(response, fault)
    },
  }
}

function refuse(response: ServerResponse, fault: AppError): void {
  const requestId = requestIdOf(undefined)
  response.writeHead(ERRORS[fault.errorName].status, {
    'Content-Type': 'application/json; charset=utf-8',
    'X-Request-Id': requestId,
    'Retry-After': '1',
    Connection: 'close',
  })
  response.end(errorText(null, toRpcError(fault, requestId)))
}

function tooManyConnections(limit: number): AppError {
  const message = `Too many connections, expected at most ${limit} (limits.connections)`
  return new AppError('UNAVAILABLE', { retryAfterS: 1 }, { message })
}

function tooManyPipelined(limit: number): AppError {
  const message = `Too many requests before the earlier ones were answered, expected at most ${limit} on a connection (limits.pipelined)`
  return new AppError('RATE_LIMITED', { retryAfterS: 1 }, { message })
}
