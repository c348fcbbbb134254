import type { Server, ServerResponse } from 'node:http'
import type { Listeners } from './listeners.js'

/** Time from the last answer to the cut of idle connections, ms: its bytes may still be on their way. */
const LINGER_MS = 250

/** The part of Node's servers, with TLS or without, that a drain needs. */
type StoppableServer = Pick<Server, 'closeAllConnections' | 'closeIdleConnections'>

interface Drain {
  /** records a request, before it is answered */
  onRequest(response: ServerResponse): void
  /**
   * Waits for the requests that run now, while the server still listens for new ones, which the routes refuse
   * with 503. Then closes the server.
   *
   * @param drainMs time after which every connection is cut
   */
  stop(drainMs: number): Promise<void>
}

/** Counts the running requests of a server, so that it can be stopped without cutting one. */
export function createDrain(
  server: StoppableServer,
  listeners: Pick<Listeners, 'listening' | 'close' | 'once'>,
): Drain {
  /** unanswered requests */
  const open = new Set<ServerResponse>()
  /** those of them that came before the drain began */
  const awaited = new Set<ServerResponse>()
  let isDraining = false
  let onProgress = (): void => undefined
  return {
    onRequest(response) {
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
      if (!listeners.listening) return Promise.resolve()
      isDraining = true
      // a connection ends with the answer that it waits for
      for (const response of awaited) if (!response.headersSent) response.shouldKeepAlive = false
      return new Promise((resolve) => {
        let linger: NodeJS.Timeout | undefined
        const limit = setTimeout(() => {
          listeners.close()
          server.closeAllConnections()
        }, drainMs)
        listeners.once('close', () => {
          clearTimeout(limit)
          clearTimeout(linger)
          onProgress = (): void => undefined
          resolve()
        })
        onProgress = () => {
          if (awaited.size > 0) return
          if (listeners.listening) listeners.close()
          server.closeIdleConnections()
          // the connections that are left have sent no request, or a part of one
          if (open.size === 0) linger ??= setTimeout(() => server.closeAllConnections(), LINGER_MS)
        }
        onProgress()
      })
    },
  }
}
