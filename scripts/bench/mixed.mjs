// Mixed calls of 8 clients for a minute, in turns with a bare hono server answering constant JSON: requests a
// second, p50, p99 and their ratio, with memory and what the event loop waited. Options: --seconds=N (60 of
// mixed calls, a third of that of the other)
import { fork } from 'node:child_process'
import { startGateway } from './gateway.mjs'
import { load } from './load.mjs'
import { createTraffic } from './traffic.mjs'

const CLIENTS = 8
/** of each, one after the other: what else the machine does meets both */
const TURNS = 6

export async function run() {
  const seconds = Number(process.argv.find((word) => word.startsWith('--seconds='))?.slice(10) ?? 60)
  const gateway = await startGateway({ args: ['--demo'] })
  const bare = await startBare()
  try {
    const next = await createTraffic(gateway, 11)
    const counts = new Map()
    const kinds = {
      bare: { port: bare.port, share: 1 / 3, next: () => ({ path: '/', headers: {}, body: '{}' }) },
      mixed: {
        port: gateway.port,
        share: 1,
        next() {
          const call = next()
          counts.set(call.name, (counts.get(call.name) ?? 0) + 1)
          return call
        },
      },
    }
    const runs = { bare: [], mixed: [] }
    for (const kind of Object.values(kinds)) await load({ ...kind, clients: CLIENTS, seconds: 2 })
    for (let turn = 0; turn < TURNS; turn++)
      for (const [name, kind] of Object.entries(kinds))
        runs[name].push(await load({ ...kind, clients: CLIENTS, seconds: (seconds * kind.share) / TURNS }))
    print(runs, seconds)
    console.log(`calls: ${[...counts].map(([name, n]) => `${name} ${n}`).join(', ')}`)
    console.log(`gateway RSS ${gateway.rssMb().toFixed(0)} MB, at most ${gateway.peakRssMb().toFixed(0)} MB`)
  } finally {
    await gateway.stop()
    bare.child.kill()
  }
}

function print(runs, seconds) {
  console.log(`${CLIENTS} clients, ${seconds} s in ${TURNS} turns, the client in the process of this bench`)
  const mean = (name, field) => runs[name].reduce((sum, row) => sum + row[field], 0) / TURNS
  for (const [name, title] of [
    ['bare', 'bare hono, constant JSON'],
    ['mixed', 'mixed calls'],
  ]) {
    const perS = runs[name].map((row) => row.perS)
    const failures = runs[name].reduce((sum, row) => sum + row.failures, 0)
    console.log(
      `${title.padEnd(26)} ${mean(name, 'perS').toFixed(0).padStart(6)} /s (${Math.min(...perS).toFixed(0)} to ${Math.max(...perS).toFixed(0)})  p50 ${mean(name, 'p50Ms').toFixed(2)} ms  p99 ${mean(name, 'p99Ms').toFixed(2)} ms  failures ${failures}`,
    )
  }
  const ratio = (field) => (mean('mixed', field) / mean('bare', field)).toFixed(2)
  console.log(
    `ratio: requests a second ${ratio('perS')} x bare, p50 ${ratio('p50Ms')} x, p99 ${ratio('p99Ms')} x`,
  )
}

function startBare() {
  const child = fork('scripts/bench/bare-hono.mjs', { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  return new Promise((resolve, reject) => {
    child.once('message', (port) => resolve({ port, child }))
    child.once('exit', (code) => reject(new Error(`the bare server ended with ${code}`)))
  })
}
