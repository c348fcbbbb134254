// A process of a hub on PostgreSQL and an S3-compatible store, in place of a gateway.
import '../test/load-typescript.mjs'
import { cpSync } from 'node:fs'
import path from 'node:path'
import { startGateway } from '../bench/gateway.mjs'
import { hubVerbs, startHubProcess } from '../hub-process.mjs'
import { createOwner } from '../owner.mjs'
import { statusMb } from '../proc.mjs'

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

async function startProcess(owner, place, { env, program, wrap, onLog }) {
  const verb = hubVerbs(place, 'process', program)
  const admin = verb('hub', 'init')
  await copyDemoMap(program, path.join(place.dir, 'process'))
  const running = await startHubProcess(place, 'process', {
    ...{ program, wrap, onLog },
    env: { FIELDGATE_LOG__LEVEL: 'warn', ...env },
  })
  const { url, pid, isRunning } = running
  return {
    ...{ url, pid, isRunning, port: Number(new URL(url).port) },
    headers: { APIKey: admin.apiKey, Secret: admin.secret, 'Content-Type': 'application/json' },
    rssMb: () => statusMb(pid, 'VmRSS'),
    makeKey: (name, scopes) =>
      verb('key', 'create', '--name', name, ...scopes.flatMap((scope) => ['--scope', scope])),
    async stop() {
      await running.stop()
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
