import { createServer, type ListenOptions, type Server, type Socket } from 'node:net'

/**
 * Sockets that listen on the one address of a server. Node accepts one connection of each in a turn of the
 * event loop, whatever number waits: with one socket, a new connection behind a thousand others waited a
 * thousand turns, of several milliseconds each where a turn commits.
 */
const LISTENERS = 16
/**
 * Connections that may wait at each socket; Linux takes at most `net.core.somaxconn`, 4096. Beyond it a
 * caller's first packet is dropped, and repeated after 1 and 3 s.
 */
const BACKLOG = 512

/** A server of Node that listens on several sockets. */
export interface Listeners {
  /** Listens. @returns the address and the port, which the system picks for port 0. @throws Error of Node */
  listen(host: string, port: number): Promise<{ host: string; port: number }>
  readonly listening: boolean
  /** accepts no further connection; `close` follows when the last one has ended */
  close(): void
  /** calls once, when all sockets are closed and all their connections have ended */
  once(event: 'close', listener: () => void): void
}

/**
 * Has a server listen on several sockets of one address (`SO_REUSEPORT`), among which the system spreads the
 * connections. A system without that option has one.
 *
 * @param server receives all connections as its own
 * @param isTls as `server`: what Node's server for it sets on its connections
 */
export function createListeners(server: Server, isTls: boolean): Listeners {
  const others: Server[] = []
  return {
    async listen(host, port) {
      if (port !== 0) await requireFree(host, port)
      const { isShared, ...address } = await listenShared(server, host, port)
      if (!isShared) return address
      for (let left = LISTENERS - 1; left > 0; left--) {
        const other = createServer({ allowHalfOpen: !isTls, noDelay: true })
        other.on('connection', (socket: Socket) => server.emit('connection', socket))
        await listenOn(other, { ...address, reusePort: true })
        others.push(other)
      }
      return address
    },
    get listening() {
      return server.listening
    },
    close() {
      for (const one of [server, ...others]) if (one.listening) one.close()
    },
    once(event, listener) {
      let open = 1 + others.length
      const closed = () => {
        open--
        if (open === 0) listener()
      }
      for (const one of [server, ...others]) one.once(event, closed)
    },
  }
}

/**
 * Fails when another program listens on an address. Sockets that share one would not: another gateway of the
 * same user could take the connections of this one.
 *
 * @throws Error of Node, such as EADDRINUSE
 */
async function requireFree(host: string, port: number): Promise<void> {
  const probe = createServer()
  await listenOn(probe, { host, port })
  await new Promise((resolve) => probe.close(resolve))
}

async function listenShared(
  server: Server,
  host: string,
  port: number,
): Promise<{ host: string; port: number; isShared: boolean }> {
  try {
    return { ...(await listenOn(server, { host, port, reusePort: true })), isShared: true }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOTSUP') throw error
    return { ...(await listenOn(server, { host, port })), isShared: false }
  }
}

async function listenOn(server: Server, options: ListenOptions): Promise<{ host: string; port: number }> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ ...options, backlog: BACKLOG }, () => {
      server.off('error', reject)
      resolve()
    })
  })
  const address = server.address()
  // no test: of a TCP server; null before it listens, a string for a pipe
  if (address === null || typeof address === 'string') throw new Error('a server has no address')
  return { host: address.address, port: address.port }
}
