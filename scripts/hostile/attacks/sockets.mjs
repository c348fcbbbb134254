import { setTimeout as sleep } from 'node:timers/promises'

const MANY = 512

/** Keeps `MANY` sockets open, each used as `use` says. */
async function keepOpen(client, use) {
  let open = 0
  for (;;) {
    while (open < MANY) {
      open++
      const socket = client.socket(use)
      socket.once('close', () => open--)
      socket.resume()
    }
    await sleep(200)
  }
}

/** Connections without a key. */
export const SOCKETS = [
  {
    name: 'idle-sockets',
    does: '512 sockets, one GET /healthz in 25 s each',
    run: (client) =>
      keepOpen(client, (socket) => {
        const ask = () => socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
        ask()
        const timer = setInterval(ask, 25_000)
        socket.once('close', () => clearInterval(timer))
      }),
  },
  {
    name: 'silent-sockets',
    does: '512 sockets that send nothing and keep their side open',
    run: (client) => keepOpen(client),
  },
  {
    name: 'slow-headers',
    does: '512 sockets that send a header line a second',
    run: (client) =>
      keepOpen(client, (socket) => {
        socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n')
        const timer = setInterval(() => socket.write('X-A: b\r\n'), 1000)
        socket.once('close', () => clearInterval(timer))
      }),
  },
]
