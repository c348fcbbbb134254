import type { IncomingMessage, ServerResponse } from 'node:http'
import { networkOf, plainAddress } from './addresses.js'

/** Silence after which the rest of a refused body is given up, ms. As in nginx. */
const SILENCE_MS = 5000
/** The longest that the rest of a refused body is read, ms; nginx has the same two limits. */
const MAX_LINGER_MS = 30_000
/** Interval of the turns, ms. */
const TURN_MS = 20
/** Bytes that are read in a turn, of all refused bodies: 16 MiB a second. */
const TURN_BYTES = (16 * 1024 * 1024 * TURN_MS) / 1000
/** Bytes that are read in a turn of the bodies of one address. */
const ADDRESS_TURN_BYTES = TURN_BYTES / 2

/** The part of a request that is read in turns. */
interface RefusedBody extends Events {
  readonly socket: Events & Pick<IncomingMessage['socket'], 'remoteAddress' | 'destroySoon'>
  read(): Buffer | null
}

/** Declared bodies of up to this size come in one packet as a rule: they are not worth turns. */
const SMALL_BYTES = 1400

interface Events {
  on(event: 'end' | 'close', listener: () => void): unknown
  off(event: 'end' | 'close', listener: () => void): unknown
}

/** Rest of a refused body. */
interface Rest {
  readonly request: RefusedBody
  readonly network: string
  readonly endsAtMs: number
  silentSinceMs: number | undefined
  /** ends the reading. @param isClosing closes the connection, too */
  end(isClosing: boolean): void
}

interface Linger {
  /**
   * Reads and discards the rest of a body after an early answer, such as the refusal of an upload that is too
   * large. Closing a socket with unread bytes resets the connection, and the client would lose the answer.
   *
   * @param bodyMs what an accepted body may take, ms: a refused one gets no more
   * @see RFC 9112, 9.6
   */
  afterEarlyAnswer(request: IncomingMessage, response: ServerResponse, bodyMs: number): void
  /** Reads a piece of each body whose turn it is. @returns bytes that were read */
  turn(): number
  /** Starts to read a body in turns. @param isLast the connection is closed after the body */
  add(request: RefusedBody, isLast: boolean, lingerMs: number): void
}

/**
 * Creates the reader of refused bodies. They are read in turns, a piece each, so that many of them take
 * neither the processor nor more memory than a piece; the others wait in their clients.
 *
 * @param nowMs clock
 */
export function createLinger(nowMs = () => performance.now()): Linger {
  /** in the order of their turns */
  const rests = new Set<Rest>()
  let timer: NodeJS.Timeout | undefined
  const turn = () => readTurn(rests, nowMs())
  const add: Linger['add'] = (request, isLast, lingerMs) => {
    const { socket } = request
    const rest: Rest = {
      request,
      network: networkOf(plainAddress(socket.remoteAddress ?? '') ?? ''),
      endsAtMs: nowMs() + lingerMs,
      silentSinceMs: undefined,
      end(isClosing) {
        rests.delete(rest)
        request.off('end', onEnd)
        socket.off('close', onClose)
        if (isClosing) socket.destroySoon()
        if (rests.size > 0) return
        clearInterval(timer)
        timer = undefined
      },
    }
    const onEnd = () => rest.end(isLast)
    const onClose = () => rest.end(false)
    request.on('end', onEnd)
    socket.on('close', onClose)
    rests.add(rest)
    timer ??= setInterval(turn, TURN_MS).unref()
  }
  return {
    turn,
    add,
    afterEarlyAnswer(request, response, bodyMs) {
      if (!hasBody(request)) return
      const isLast = !response.shouldKeepAlive
      // Node would close such a connection once the answer is written; here it is closed after the rest of
      // the body
      if (isLast) {
        response.shouldKeepAlive = true
        response.removeHeader('Connection')
      }
      response.once('prefinish', () => {
        // Node discards a body at full speed that nobody has begun to read
        if (!request.complete) request.read(0)
      })
      response.once('finish', () => {
        if (request.complete) {
          request.resume() // what is left of it is in memory, or nothing
          if (isLast) request.socket.destroySoon()
        } else if (!isLast && isSmall(request))
          request.resume() // in the packet that is being read, or soon
        else if (!request.destroyed) add(request, isLast, Math.min(MAX_LINGER_MS, bodyMs))
      })
    },
  }
}

/** Reads a piece of each body until the bytes of the turn are used up. Those that were read go behind the others. */
function readTurn(rests: Set<Rest>, nowMs: number): number {
  let total = 0
  const bytesOf = new Map<string, number>()
  for (const rest of [...rests]) {
    if (nowMs > rest.endsAtMs) {
      rest.end(true)
      continue
    }
    const used = bytesOf.get(rest.network) ?? 0
    if (total >= TURN_BYTES || used >= ADDRESS_TURN_BYTES) continue
    const bytes = readPiece(rest, nowMs)
    total += bytes
    bytesOf.set(rest.network, used + bytes)
    if (bytes === 0 || !rests.delete(rest)) continue
    rests.add(rest)
  }
  return total
}

function readPiece(rest: Rest, nowMs: number): number {
  const piece = rest.request.read()
  if (piece !== null) {
    rest.silentSinceMs = undefined
    return piece.length
  }
  rest.silentSinceMs ??= nowMs
  if (nowMs - rest.silentSinceMs > SILENCE_MS) rest.end(true)
  return 0
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

function isSmall({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] === undefined && Number(headers['content-length']) <= SMALL_BYTES
}
