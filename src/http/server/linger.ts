import type { IncomingMessage, ServerResponse } from 'node:http'

/** Silence after which the rest of a refused body is given up, ms. As in nginx. */
const SILENCE_MS = 5000
/** The longest that the rest of a refused body is read, ms; nginx has the same two limits. */
const MAX_LINGER_MS = 30_000
const WATCH_EVERY_MS = 500

/**
 * Reads and discards the rest of a body after an early answer, such as the refusal of an upload that is too
 * large. Closing a socket with unread bytes resets the connection, and the client would lose the answer.
 *
 * @param bodyMs what an accepted body may take, ms: a refused one gets no more
 * @see RFC 9112, 9.6
 */
export function lingerAfterEarlyAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  bodyMs: number,
): void {
  if (!hasBody(request)) return
  const isLast = !response.shouldKeepAlive
  // Node would close such a connection once the answer is written; here it is closed after the rest of the
  // body
  if (isLast) {
    response.shouldKeepAlive = true
    response.removeHeader('Connection')
  }
  response.once('finish', () => {
    if (request.complete) {
      if (isLast) request.socket.destroySoon()
    } else if (!request.destroyed) discardRest(request, isLast, Math.min(MAX_LINGER_MS, bodyMs))
  })
}

/** Lets Node discard the rest of a body, within the limits of time. */
function discardRest(request: IncomingMessage, isLast: boolean, lingerMs: number): void {
  const { socket } = request
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
    if (nowMs - movedMs > SILENCE_MS || nowMs - startMs > lingerMs) end(true)
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
