import { randomUUID } from 'node:crypto'
import { LOADER, SESSION } from '../api.mjs'

/** Callers without a key, or with a wrong one. */
export const STRANGERS = [
  {
    name: 'documents',
    does: '30 connections read /openrpc.json without end',
    run: (client) => client.loop(30, () => client.get('/openrpc.json', {})),
  },
  {
    name: 'unknown-paths',
    does: '50 connections ask for paths that do not exist',
    run: (client) => client.loop(50, () => client.get(`/${randomUUID()}`, {})),
  },
  {
    name: 'wrong-secrets',
    does: 'wrong secrets of a key that exists, from the honest client’s own address',
    localAddress: '127.0.0.1',
    run: (client, { keyId }) =>
      client.loop(4, () =>
        client.call(
          SESSION,
          'session.verify_session_token',
          { token: randomUUID() },
          {
            own: { APIKey: keyId, Secret: 'wrong', 'Content-Type': 'application/json' },
          },
        ),
      ),
  },
  {
    name: 'wrong-bodies',
    does: '20 connections send 4 MB to a path without a key',
    run: (client) => {
      const body = Buffer.alloc(4_000_000, 0x20)
      return client.loop(20, () =>
        client.send({ path: LOADER, body, own: { 'Content-Type': 'application/json' } }),
      )
    },
  },
]
