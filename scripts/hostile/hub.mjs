// A process of a hub on PostgreSQL and an S3-compatible store, in place of a gateway.
import '../test/load-typescript.mjs'
import { execFileSync, spawn } from 'node:child_process'
import { cpSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { readyOf, startGateway } from '../bench/gateway.mjs'
import { NODE_FLAGS } from '../node-flags.mjs'
import { createOwner } from '../owner.mjs'
import { statusMb } from '../proc.mjs'

const PROGRAM = path.resolve('dist/fieldgate.cjs')

/**
 * Starts the engines once. Attacks have their share of the processor beside them.
 *
 * @returns { start(options), end() }; `start` as `startGateway`, over a new database and bucket, with the demo's map;
 *   undefined, and prints why, where engines are missing
 */
export async function startEnginesOfHub() {
  const { makeHub, noHub, startEngines } = await import('../../test/support/hub.ts')
  const why = noHub()
  if (why !== false) {
    console.log(`skipped: ${why}`)
    return undefined
  }
  const all = createOwner()
  const engines = await startEngines(all)
  return {
    async start(options) {
      const owner = createOwner()
      const place = await makeHub(owner, engines)
      return await startProcess(owner, place, options)
    },
    end: () => all.end(),
  }
}

async function startProcess(owner, place, { env, program = PROGRAM, wrap = [], onLog }) {
  const dataDir = path.join(place.dir, 'process')
  const settings = ['--config', place.config, '--data-dir', dataDir, '--json']
  const verb = (...words) =>
    JSON.parse(execFileSync(process.execPath, [program, ...words, ...settings], { encoding: 'utf8' }))
  const admin = verb('hub', 'init')
  await copyDemoMap(program, dataDir)
  const serve = [program, 'serve', '--port', '0', ...settings]
  const [command, ...words] = [...wrap, process.execPath, ...NODE_FLAGS, ...serve]
  const child = spawn(command, words, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, FIELDGATE_LOG__LEVEL: 'warn', ...env },
  })
  createInterface(child.stderr).on('line', onLog)
  const isRunning = () => child.exitCode === null && child.signalCode === null
  const { url } = await readyOf(child)
  return {
    port: Number(new URL(url).port),
    url,
    pid: child.pid,
    isRunning,
    headers: { APIKey: admin.apiKey, Secret: admin.secret, 'Content-Type': 'application/json' },
    rssMb: () => statusMb(child.pid, 'VmRSS'),
    makeKey: (name, scopes) =>
      verb('key', 'create', '--name', name, ...scopes.flatMap((scope) => ['--scope', scope])),
    async stop() {
      if (isRunning()) {
        child.kill('SIGTERM')
        await new Promise((resolve) => child.once('exit', resolve))
      }
      await owner.end()
    },
  }
}

/** A gateway makes the map of the demo. */
async function copyDemoMap(program, dataDir) {
  const gateway = await startGateway({ args: ['--demo'], program })
  try {
    cpSync(path.join(gateway.dataDir, 'maps'), path.join(dataDir, 'maps'), { recursive: true })
  } finally {
    await gateway.stop()
  }
}
