import net from 'node:net'
import type { PostgresHost } from '../../src/storage/postgres/connection/options.js'

/** A proxy in front of a server of PostgreSQL that loses the answers of commits. */
export interface CommitCutter {
  readonly host: PostgresHost
  /** commits whose answer was lost; all of them took place */
  cuts(): number
}

/**
 * Starts a proxy that ends a connection when the server answers a commit on it, before the answer arrives.
 *
 * @param isCut decides for the n-th commit, from 1
 */
export async function commitCutter(
  t: { teardown(work: () => unknown): unknown },
  host: PostgresHost,
  isCut: (commits: number) => boolean,
): Promise<CommitCutter> {
  let commits = 0
  let cuts = 0
  const proxy = net.createServer((client) => {
    const server = net.connect(host.port, host.host)
    let isWaiting = false
    client.on('data', (bytes) => {
      isWaiting = bytes.includes('COMMIT') && isCut(++commits)
      server.write(bytes)
    })
    server.on('data', (bytes) => {
      if (!isWaiting) {
        client.write(bytes)
        return
      }
      cuts++
      client.destroy()
      server.destroy()
    })
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      one.on('close', () => other.destroy())
      one.on('error', () => other.destroy())
    }
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  t.teardown(() => proxy.close())
  const address = proxy.address()
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port')
  return { host: { host: '127.0.0.1', port: address.port }, cuts: () => cuts }
}
