import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Silence after which nothing more of a refused body is waited for, ms. */
const SILENCE_MS = 5000
/** What a refused body may take in all before its connection is cut, ms. Both as nginx has them. */
const LINGER_MS = 30_000
const WATCH_EVERY_MS = 500

/**
 * Lets a client read an answer that came before its body was sent, such as a refusal of an upload that does not fit: the
 * rest of the body is read and thrown away. A socket closed with bytes unread is reset by the system, and a reset throws
 * the answer away that the client has not read yet.
 *
 * @see RFC 9112, 9.6
 */
export function lingerAfterEarlyAnswer(request: IncomingMessage, response: ServerResponse): void {
  if (!hasBody(request)) return
  const isLast = !response.shouldKeepAlive
  // Node would close such a connection as soon as the answer is written: here it is closed after the body's rest
  if (isLast) {
    response.shouldKeepAlive = true
    response.removeHeader('Connection')
  }
  response.once('finish', () => {
    const { socket } = request
    if (request.complete) {
      if (isLast) socket.destroySoon()
    } else if (!request.destroyed) discardRest(request, socket, isLast)
  })
}

/** Node reads on and throws away what nobody takes; here is only watched for how long. */
function discardRest(request: IncomingMessage, socket: Socket, isLast: boolean): void {
  const startMs = performance.now()
  let movedMs = startMs
  let bytesRead = socket.bytesRead
  const end = (isClosing: boolean) => {
    clearInterval(watch)
    request.off('end', onEnd)
    socket.off('close', onClose)
    if (isClosing) socket.destroySoon()
  }
  const watch = setInterval(() => {
    const nowMs = performance.now()
    if (socket.bytesRead !== bytesRead) movedMs = nowMs
    bytesRead = socket.bytesRead
    if (nowMs - movedMs > SILENCE_MS || nowMs - startMs > LINGER_MS) end(true)
  }, WATCH_EVERY_MS).unref()
  const onEnd = () => end(isLast)
  const onClose = () => end(false)
  request.on('end', onEnd)
  socket.on('close', onClose)
  request.resume()
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}
