import type { IncomingMessage, Server, ServerResponse } from 'node:http'

/** Connections that nobody uses any more are cut so long after the last answer, ms: time for its bytes to be fetched. */
const LINGER_MS = 250

export interface Drain {
  /** to be told of each request before it is answered */
  onRequest(request: IncomingMessage, response: ServerResponse): void
  /**
   * Lets the requests of before end while the listener stays open for new ones (which the routes refuse with 503), then closes.
   *
   * @param drainMs after so long everything is cut
   */
  stop(drainMs: number): Promise<void>
}

/** Knows which requests run, so that a server can end without cutting one. */
export function createDrain(server: Server): Drain {
  /** requests that are not answered yet */
  const open = new Set<ServerResponse>()
  /** of these the ones that came before the drain began */
  const awaited = new Set<ServerResponse>()
  let isDraining = false
  let onProgress = (): void => undefined
  return {
    onRequest(_request, response) {
      open.add(response)
      if (isDraining) response.shouldKeepAlive = false
      else awaited.add(response)
      response.once('close', () => {
        open.delete(response)
        awaited.delete(response)
        onProgress()
      })
    },
    stop(drainMs) {
      if (!server.listening) return Promise.resolve()
      isDraining = true
      // a connection whose answer is still to come ends with it
      for (const response of awaited) if (!response.headersSent) response.shouldKeepAlive = false
      return new Promise((resolve) => {
        let linger: NodeJS.Timeout | undefined
        const limit = setTimeout(() => {
          server.close()
          server.closeAllConnections()
        }, drainMs)
        server.once('close', () => {
          clearTimeout(limit)
          clearTimeout(linger)
          onProgress = (): void => undefined
          resolve()
        })
        onProgress = () => {
          if (awaited.size > 0) return
          if (server.listening) server.close()
          server.closeIdleConnections()
          // what is left has sent no request, or only a part of one
          if (open.size === 0) linger ??= setTimeout(() => server.closeAllConnections(), LINGER_MS)
        }
        onProgress()
      })
    },
  }
}
