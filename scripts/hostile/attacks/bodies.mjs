import { LOADER, SESSION } from '../api.mjs'

const headOf = (client, path, length) =>
  [
    `POST ${path} HTTP/1.1`,
    'Host: x',
    ...Object.entries(client.headers).map(([name, value]) => `${name}: ${value}`),
    `Content-Length: ${length}`,
    '\r\n',
  ].join('\r\n')

/** Holds `count` bodies open for ever. */
const holdOpen = (count, path, bytes) => async (client) => {
  for (let i = 0; i < count; i++) halfSend(client, path, bytes)
}

/** Sends all but the last bytes of a body, then one byte a second. */
function halfSend(client, path, bytes) {
  const socket = client.socket(() => {
    socket.write(headOf(client, path, bytes))
    socket.write(Buffer.alloc(bytes - 1000, 0x20))
    const drip = setInterval(() => socket.write(' '), 1000)
    socket.once('close', () => clearInterval(drip))
  })
  socket.on('data', (part) => client.count(part.toString('latin1', 9, 12)))
}

/** Bodies that come slowly, or for nothing. */
export const BODIES = [
  {
    name: 'half-bodies',
    does: '300 bodies of 4 MB that never end, by a key that may read sessions',
    scopes: ['session:read'],
    run: holdOpen(300, SESSION, 4_000_000),
  },
  {
    name: 'half-spools',
    does: 'five bodies of 90 MB that never end on the loader’s path, by a key that may not load',
    scopes: ['session:read'],
    run: holdOpen(5, LOADER, 90_000_000),
  },
  {
    name: 'half-loads',
    does: '20 bodies of 90 MB that never end, by a key that may load',
    scopes: ['loader:write'],
    run: holdOpen(20, LOADER, 90_000_000),
  },
  {
    name: 'deep-json',
    does: 'bodies of 4 MB of brackets',
    scopes: ['session:read'],
    run: (client) => {
      const body = Buffer.alloc(4_000_000, '[')
      return client.loop(8, () => client.send({ path: SESSION, body }))
    },
  },
  {
    name: 'large-strings',
    does: '40 callers send valid bodies of 4 MB',
    scopes: ['session:read'],
    run: (client) => {
      const body = JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'session.verify_session_token',
        params: { token: '"\\'.repeat(900_000) },
      })
      return client.loop(40, () => client.send({ path: SESSION, body }))
    },
  },
]
