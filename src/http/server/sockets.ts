import type { IncomingMessage, Server as PlainServer, ServerResponse } from 'node:http'
import type { Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import { AppError } from '../../errors.js'
import { createAddressSet, networkOf, plainAddress } from './addresses.js'
import { plainRefusal } from './plain-refusal.js'

interface SocketLimits {
  connections: number
  connectionsPerAddress: number
  pipelined: number
  writeIdleMs: number
  /** addresses and CIDR blocks whose connections belong to many clients */
  trustedProxies: readonly string[]
}

/** Connections beyond the limit that are accepted: one is answered by a refusal, or an idle one makes room. */
const SPARE_CONNECTIONS = 256
/** Time after which a connection beyond the limit is closed, ms. */
const SPARE_MS = 2000
/** Requests beyond the limit of one connection that are refused with an answer; one more cuts the connection. */
const SPARE_REQUESTS = 64
/** Time after which a request of a stranger no longer keeps its connection open when room is needed, ms. */
const STRANGER_MS = 5000

type Server = PlainServer | TlsServer
type Listener = (request: IncomingMessage, response: ServerResponse) => unknown

interface SocketGuard {
  /** wraps a listener with the limits */
  guard(listener: Listener): Listener
  /** open connections */
  connections(): number
  /** network of the far end of a connection; empty for one that has closed */
  networkOf(socket: Socket): string
  /** starts to count the connections of a server */
  watch(server: Server, isTls: boolean): void
}

/** An open connection. */
interface Peer {
  readonly socket: Socket
  readonly network: string
  readonly isProxy: boolean
  /** requests that are not answered yet */
  unanswered: number
  /** connect, or begin or end of the last request */
  activeAtMs: number
  /** why its requests are refused; undefined for a connection within the limits */
  refusal: AppError | undefined
  /** it is within the limits and open */
  isCounted: boolean
}

/** Open connections by the socket of their requests, and the numbers of those within the limits. */
interface Peers {
  readonly open: Map<Socket, Peer>
  counted: number
  /** by network; a network without connections has no entry */
  readonly countedOf: Map<string, number>
}

/** Connections on which a caller has signed in. */
const signedIn = new WeakSet<Socket>()

/** Notes that a caller has signed in on a connection: strangers give way to it. */
export function noteSignIn(socket: Socket): void {
  signedIn.add(socket)
}

/**
 * Makes the limits of connections, of all and of one address, and of requests that a client sends before its
 * earlier ones are answered. Node runs pipelined requests at once, so that many of them in one packet would
 * be as many calls.
 *
 * At a limit of connections an idle one makes room: first one on which nobody signed in, the longest idle
 * first, so that a crowd of strangers cannot keep anybody out. A refusal is left for when all are busy.
 */
export function createSocketGuard(limits: SocketLimits): SocketGuard {
  const open = new Map<Socket, Peer>()
  const peers: Peers = { open, counted: 0, countedOf: new Map() }
  const isProxy = createAddressSet(limits.trustedProxies)
  /** connections whose TLS handshake goes on, by their far end */
  const handshakes = new Map<string, Peer>()

  const admit = (socket: Socket): Peer => {
    const address = plainAddress(socket.remoteAddress ?? '') ?? ''
    const peer: Peer = {
      socket,
      network: networkOf(address),
      isProxy: isProxy(address),
      unanswered: 0,
      activeAtMs: performance.now(),
      refusal: undefined,
      isCounted: false,
    }
    open.set(socket, peer)
    socket.once('close', () => leave(peers, peer, socket))
    peer.refusal = makeRoom(peer, peers, limits)
    if (peer.refusal === undefined) count(peers, peer)
    else setTimeout(() => socket.destroy(), SPARE_MS).unref()
    return peer
  }
  return {
    connections: () => open.size,
    networkOf: (socket) => open.get(socket)?.network ?? '',
    watch(server, isTls) {
      server.on('connection', (socket: Socket) => {
        if (open.size >= limits.connections + SPARE_CONNECTIONS) return void socket.destroy()
        const peer = admit(socket)
        if (!isTls) return
        const far = farEnd(socket)
        handshakes.set(far, peer)
        socket.once('close', () => handshakes.delete(far))
      })
      // Node's requests know the socket of TLS, its events of connections the one below
      server.on('secureConnection', (socket: Socket) => {
        const peer = handshakes.get(farEnd(socket))
        if (peer === undefined) return
        open.delete(peer.socket)
        open.set(socket, Object.assign(peer, { socket }))
        socket.once('close', () => leave(peers, peer, socket))
      })
      cutStalledClients(server, open, limits.writeIdleMs)
    },
    guard: (listener) => (request, response) => {
      const peer = open.get(request.socket)
      if (peer === undefined) {
        request.socket.destroy() // it made room while its request was on the way
        return
      }
      const waiting = ++peer.unanswered
      peer.activeAtMs = performance.now()
      response.once('close', () => {
        peer.unanswered--
        peer.activeAtMs = performance.now()
      })
      const fault =
        peer.refusal ?? (waiting > limits.pipelined ? tooManyPipelined(limits.pipelined) : undefined)
      if (fault === undefined) listener(request, response)
      else if (waiting > limits.pipelined + SPARE_REQUESTS) request.socket.destroy()
      else refuse(response, fault)
    },
  }
}

/** Counts a connection. O(1): a thousand may come at once. */
function count(peers: Peers, peer: Peer): void {
  peer.isCounted = true
  peers.counted++
  peers.countedOf.set(peer.network, (peers.countedOf.get(peer.network) ?? 0) + 1)
}

/** Forgets a connection. @param socket the one that has closed: with TLS a connection has two */
function leave(peers: Peers, peer: Peer, socket: Socket): void {
  peers.open.delete(socket)
  if (!peer.isCounted) return
  peer.isCounted = false
  peers.counted--
  const left = (peers.countedOf.get(peer.network) ?? 0) - 1
  if (left > 0) peers.countedOf.set(peer.network, left)
  else peers.countedOf.delete(peer.network)
}

/**
 * Closes a connection when a new one is beyond a limit. Looks through the others only then.
 *
 * @returns the refusal of the new one when none can be closed
 */
function makeRoom(
  fresh: Peer,
  peers: Peers,
  { connections, connectionsPerAddress }: SocketLimits,
): AppError | undefined {
  if (!fresh.isProxy && (peers.countedOf.get(fresh.network) ?? 0) >= connectionsPerAddress)
    return closeOne(peers, fresh.network) ? undefined : tooManyOfAddress(connectionsPerAddress)
  if (peers.counted < connections || closeOne(peers)) return undefined
  return tooManyConnections(connections)
}

/** Closes the connection that is missed least, of one network if given. @returns false when all are in use */
function closeOne(peers: Peers, network?: string): boolean {
  const nowMs = performance.now()
  let victim: Peer | undefined
  for (const peer of peers.open.values()) {
    if (!peer.isCounted || (network !== undefined && peer.network !== network)) continue
    const isStranger = !signedIn.has(peer.socket)
    const isFree = peer.unanswered === 0 || (isStranger && nowMs - peer.activeAtMs > STRANGER_MS)
    if (!isFree) continue
    const isWorse =
      victim === undefined ||
      (isStranger === !signedIn.has(victim.socket) ? peer.activeAtMs < victim.activeAtMs : isStranger)
    if (isWorse) victim = peer
  }
  if (victim === undefined) return false
  leave(peers, victim, victim.socket) // no longer counted, whatever its far end does
  victim.socket.destroy()
  return true
}

/**
 * Disconnects clients that do not read an answer. Node's time-out of a socket begins again with each byte
 * that moves; a call that is still at work has nothing to send and may take its time.
 */
function cutStalledClients(server: Server, open: ReadonlyMap<Socket, Peer>, writeIdleMs: number): void {
  server.timeout = writeIdleMs
  server.on('timeout', (socket: Socket) => {
    const isWaiting = (open.get(socket)?.unanswered ?? 0) > 0 && socket.writableLength === 0
    if (isWaiting) socket.setTimeout(writeIdleMs)
    else socket.destroy()
  })
}

function refuse(response: ServerResponse, fault: AppError): void {
  const { status, headers, body } = plainRefusal(fault)
  response.writeHead(status, { ...headers, 'Retry-After': '1', Connection: 'close' }).end(body)
}

/** Far end of a connection, the same for the socket of TLS and the one below it. */
function farEnd({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}

function tooManyConnections(limit: number): AppError {
  const message = `Too many connections, expected at most ${limit} (limits.connections)`
  return new AppError('UNAVAILABLE', { retryAfterS: 1 }, { message })
}

function tooManyOfAddress(limit: number): AppError {
  const message = `Too many connections of one address, expected at most ${limit} (limits.connectionsPerAddress)`
  return new AppError('RATE_LIMITED', { retryAfterS: 1 }, { message })
}

function tooManyPipelined(limit: number): AppError {
  const message = `Too many unanswered requests on one connection, expected at most ${limit} (limits.pipelined)`
  return new AppError('RATE_LIMITED', { retryAfterS: 1 }, { message })
}
