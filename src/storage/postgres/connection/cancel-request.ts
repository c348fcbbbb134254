import net from 'node:net'
import type { PostgresHost } from './options.js'

/** Code of a cancel request: 1234 and 5678, as in the manual of the protocol, "Message Formats". */
const CANCEL_CODE = 80_877_102
/** Longest time for sending it, ms. */
const SEND_MS = 1000

/**
 * Asks a server to end what a connection is doing. The server answers nothing on this socket, it answers on the
 * connection itself. It needs no free connection, unlike `pg_cancel_backend`.
 *
 * @param processId and `secretKey` the server named when the connection was opened
 */
export function sendCancelRequest(
  { host, port }: PostgresHost,
  processId: number,
  secretKey: number,
): Promise<void> {
  const message = Buffer.alloc(16)
  message.writeInt32BE(16, 0)
  message.writeInt32BE(CANCEL_CODE, 4)
  message.writeInt32BE(processId, 8)
  message.writeInt32BE(secretKey, 12)
  return new Promise((resolve) => {
    // no test: servers of tests listen on TCP
    const socket = host.startsWith('/') ? net.connect(`${host}/.s.PGSQL.${port}`) : net.connect(port, host)
    socket.setTimeout(SEND_MS, () => socket.destroy())
    // a request that does not arrive changes nothing: the caller ends the connection when no answer comes
    socket.on('error', () => socket.destroy())
    socket.on('close', () => resolve())
    socket.on('connect', () => socket.end(message))
    socket.resume()
  })
}
