import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Server, Socket } from 'node:net'
import { AppError } from '../../errors.js'
import { plainRefusal } from './plain-refusal.js'

interface SocketLimits {
  connections: number
  pipelined: number
}

/** Connections beyond the limit that are refused with an answer; further ones are closed without one. */
const SPARE_CONNECTIONS = 32
/** Time after which a connection beyond the limit is closed, ms. */
const SPARE_MS = 2000
/**
 * Requests beyond the limit of one connection that are refused with an answer; one more cuts the connection.
 */
const SPARE_REQUESTS = 64

type Listener = (request: IncomingMessage, response: ServerResponse) => unknown

interface SocketGuard {
  /** wraps a listener with the limits */
  guard(listener: Listener): Listener
  /** open connections */
  connections(): number
  /** starts to count the connections of a server */
  watch(server: Server, isTls: boolean): void
}

/**
 * Makes the limits of connections, and of requests that a client sends before its earlier ones are answered.
 * Node runs pipelined requests at once, so that many of them in one packet would be as many calls.
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
  const { status, headers, body } = plainRefusal(fault)
  response.writeHead(status, { ...headers, 'Retry-After': '1', Connection: 'close' }).end(body)
}

function tooManyConnections(limit: number): AppError {
  const message = `Too many connections, expected at most ${limit} (limits.connections)`
  return new AppError('UNAVAILABLE', { retryAfterS: 1 }, { message })
}

function tooManyPipelined(limit: number): AppError {
  const message = `Too many unanswered requests on one connection, expected at most ${limit} (limits.pipelined)`
  return new AppError('RATE_LIMITED', { retryAfterS: 1 }, { message })
}
