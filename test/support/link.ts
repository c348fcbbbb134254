import { once } from 'node:events'
import net from 'node:net'
import type { Test } from 'tap'

/** A TCP link to a port of this machine that counts bytes, and can be cut and led elsewhere. */
export interface Link {
  readonly url: string
  /** Returns the bytes carried so far, both ways. */
  carried(): number
  /** Cuts all connections, and refuses new ones, when so many bytes were carried. */
  cutAfter(bytes: number): void
  isCut(): boolean
  reopen(port: number): void
}

/** Starts a link; it is closed when the test ends. @param onBytes may change what is carried to the target */
export async function startLink(
  t: Pick<Test, 'teardown'>,
  target: number,
  onBytes: (bytes: Buffer) => Buffer = (bytes) => bytes,
): Promise<Link> {
  const state = { target, limit: Number.POSITIVE_INFINITY, carried: 0, isCut: false }
  const open = new Set<net.Socket>()
  const server = net.createServer((client) => {
    if (state.isCut) return void client.destroy()
    const upstream = net.connect(state.target, '127.0.0.1')
    const sockets = [client, upstream]
    for (const socket of sockets) open.add(socket)
    const end = () => {
      for (const socket of sockets) {
        open.delete(socket)
        socket.end() // what was carried arrives
      }
    }
    const carry = (to: net.Socket, chunk: Buffer) => {
      if (state.isCut) return
      state.carried += chunk.length
      to.write(chunk)
      if (state.carried < state.limit) return
      state.isCut = true
      for (const socket of open) socket.end()
    }
    client.on('data', (chunk: Buffer) => carry(upstream, onBytes(chunk)))
    upstream.on('data', (chunk: Buffer) => carry(client, chunk))
    for (const socket of sockets) socket.on('error', end).on('close', end)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`,
    carried: () => state.carried,
    isCut: () => state.isCut,
    cutAfter(bytes) {
      state.limit = bytes
    },
    reopen(port) {
      Object.assign(state, { target: port, limit: Number.POSITIVE_INFINITY, isCut: false })
    },
  }
}
