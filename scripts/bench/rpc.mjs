// What the envelope, authentication and checks cost: small calls beside a bare hono server answering constant
// JSON.
import { fork } from 'node:child_process'
import { startGateway } from './gateway.mjs'
import { load } from './load.mjs'

const CLIENTS = 8
const SECONDS = 6

export async function run() {
  const gateway = await startGateway()
  const bare = await startBare()
  try {
    const body = (i) =>
      JSON.stringify({
        jsonrpc: '2.0',
        id: i,
        method: 'session.verify_session_token',
        params: { token: 'c0ffee00-0000-4000-8000-000000000000' },
      })
    const rows = [
      ['bare hono, constant JSON', await measure(bare.port, '/', {}, body)],
      [
        'session.verify_session_token',
        await measure(gateway.port, '/api/v1/session/jsonrpc', gateway.headers, body),
      ],
      [
        'the same, REST form',
        await measure(
          gateway.port,
          '/api/v1/session/jsonrpc/call/session.verify_session_token',
          gateway.headers,
          () => '{"token":"x"}',
        ),
      ],
      [
        'batch of 100, calls',
        await measure(
          gateway.port,
          '/api/v1/session/jsonrpc',
          gateway.headers,
          (i) => `[${Array.from({ length: 100 }, (_, k) => body(i * 100 + k)).join(',')}]`,
          100,
        ),
      ],
    ]
    const base = rows[0][1].perS
    console.log(`${CLIENTS} clients, ${SECONDS} s each, client in the same process as this bench`)
    for (const [title, row] of rows) {
      console.log(
        `${title.padEnd(32)} ${row.perS.toFixed(0).padStart(8)} /s  p50 ${row.p50Ms.toFixed(2)} ms  p99 ${row.p99Ms.toFixed(2)} ms  ${(row.perS / base).toFixed(2)} x bare  failures ${row.failures}`,
      )
    }
    console.log(`gateway RSS ${gateway.rssMb().toFixed(0)} MB`)
  } finally {
    await gateway.stop()
    bare.child.kill()
  }
}

async function measure(port, path, headers, body, callsEach = 1) {
  const next = (i) => ({ path, headers: { 'Content-Type': 'application/json', ...headers }, body: body(i) })
  await load({ port, clients: CLIENTS, seconds: 1, next })
  const row = await load({ port, clients: CLIENTS, seconds: SECONDS, next })
  return { ...row, perS: row.perS * callsEach }
}

function startBare() {
  const child = fork('scripts/bench/bare-hono.mjs', { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  return new Promise((resolve, reject) => {
    child.once('message', (port) => resolve({ port, child }))
    child.once('exit', (code) => reject(new Error(`the bare server ended with ${code}`)))
  })
}
