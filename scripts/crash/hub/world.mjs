import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { FLEET, LOADER, MODELS } from '../../api-paths.mjs'
import { createOwner } from '../../owner.mjs'
import { createHubNode, createNode, FAST, initHub, runVerb } from '../node.mjs'
import { callHub, definitionOf } from './load.mjs'
import { noObjects, startObjects } from './objects.mjs'
import { noPostgres, startPair } from './pair.mjs'
import { noPatroni, startCluster } from './patroni.mjs'

const { makeDatabase, ROLE } = await import('../../../test/support/postgres.ts')
const { makeHub } = await import('../../../test/support/hub.ts')
const { noHaproxy, startHaproxy } = await import('../../../test/support/haproxy.ts')

/** Reason why this cannot run here; false when it can. */
export const withoutEngines = ({ stores, patroni }) =>
  noPostgres('pg_basebackup') || (patroni === 1 && noPatroni()) || noObjects(stores) || noHaproxy()

/** Table that the gateway and the simulated ones send. */
export const SENT = 'crash_sent'
const SIMULATED = 'sim_points'
/** Members of the fleet that are simulated. */
const GATEWAYS = 20

/**
 * Engines, two processes of the program in the role of a hub behind haproxy, and a gateway that joined it.
 *
 * @param options.isSync false for the control: commits do not wait for the standby
 * @param options.stores object servers, 1 or 3
 * @param options.isPatroni true: Patroni runs the servers of PostgreSQL
 */
export async function startWorld(workspace, { isSync, stores, isPatroni }) {
  const owner = { ...createOwner(), testdir: () => path.join(workspace.dir, 'swift') }
  try {
    const pair = isPatroni ? await startCluster(owner) : await startPair({ isSync })
    owner.teardown(pair.remove)
    const objects = await startObjects(owner, stores)
    const place = await prepareHub(owner, { pair, objects })
    await pair.waitForStandby()
    const headers = initHub(workspace, place)
    const processes = []
    for (const name of ['one', 'two'])
      processes.push(await startProcess(owner, workspace, { place, name, headers }))
    const url = await startHaproxy(
      owner,
      processes.map(({ url }) => url),
    )
    const hub = { url, headers }
    await untilReady(hub)
    return { pair, objects, processes, hub, end: owner.end }
  } catch (error) {
    await owner.end()
    throw error
  }
}

async function prepareHub(owner, { pair, objects }) {
  const database = await makeDatabase(pair.primary)
  const hosts = pair.hosts.map(({ host, port }) => `${host}:${port}`)
  const place = await makeHub(owner, { postgres: pair.primary, swift: objects }, { database })
  const settings = JSON.parse(readFileSync(place.config, 'utf8'))
  settings.hub.database = { hosts, name: database, user: ROLE, tls: 'off' }
  settings.server = { trustedProxies: ['127.0.0.1'] }
  writeFileSync(place.config, JSON.stringify(settings))
  return place
}

async function startProcess(owner, workspace, { place, name, headers }) {
  const node = await createHubNode(workspace, place, { name, headers, dataDir: path.join(place.dir, name) })
  owner.teardown(() => node.kill())
  await node.start()
  return node
}

async function untilReady({ url }) {
  for (;;) {
    const status = await fetch(`${url}/readyz`).then(
      (response) => response.status,
      () => 0,
    )
    if (status === 200) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** Makes the table and the model store of the load, and the profile and the token of gateways. @returns the token */
export async function prepareLoad(hub) {
  await callHub(hub, LOADER, 'loaderwebapi.register_loader', definitionOf('crash_rows'))
  await callHub(hub, MODELS, 'model_store.create', { model_store_ddc: 'crash' })
  const profile = { up: [{ table: SENT }, { table: SIMULATED }] }
  await callHub(hub, FLEET, 'fleet.set_profile', { name: 'field', profile })
  const params = { profile: 'field', uses: GATEWAYS + 1 }
  return (await callHub(hub, FLEET, 'fleet.create_token', params)).text
}

/** Starts a gateway that joined the hub and sends a table. */
export async function startMember(workspace, hub, token) {
  const gateway = await createNode(workspace, 'truck', { FIELDGATE_SYNC__BATCH_WAIT_S: '0.2' })
  await gateway.start()
  const argv = ['join', hub.url, '--token', token, '--name', 'truck', '--data-dir', gateway.dataDir]
  runVerb(workspace, argv, FAST)
  await gateway.rpc(LOADER, 'loaderwebapi.register_loader', definitionOf(SENT))
  return gateway
}

/**
 * Starts simulated gateways, which have joined when this comes back: joining is not repeated for as long as a
 * fail-over may take.
 *
 * @returns `stop`, which lets them send what is left and returns their result
 */
export async function startFleet(workspace, hub, { token, seed, drainS }) {
  const keyFile = path.join(workspace.dir, 'fleet-key.json')
  writeFileSync(keyFile, JSON.stringify(hub.headers), { mode: 0o600 })
  const flags = {
    ...{ hub: hub.url, token, gateways: GATEWAYS, 'events-per-second': 200, minutes: 600, seed, json: 'yes' },
    ...{ table: SIMULATED, 'batch-wait-s': 0.5, 'report-s': 10, 'retry-base-s': 0.5, 'retry-cap-s': 3 },
    ...{ outages: 0, storms: 0, 'restarts-per-minute': 6, 'slow-percent': 0, recount: 'yes' },
    ...{ 'key-file': keyFile, 'read-back': 5, 'drain-s': drainS },
  }
  const words = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)])
  const child = spawn(process.execPath, ['scripts/fleet/main.mjs', ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [printed, told] = ['', '']
  child.stdout.on('data', (chunk) => {
    printed += chunk
  })
  const haveJoined = new Promise((resolve) =>
    child.stderr.on('data', (chunk) => {
      told = `${told}${chunk}`.slice(-4000)
      if (told.includes('gateways are members')) resolve()
    }),
  )
  const killAtExit = () => child.kill()
  process.once('exit', killAtExit)
  const ended = once(child, 'exit')
  await Promise.race([haveJoined, ended])
  return {
    async stop() {
      child.kill('SIGTERM')
      await ended
      process.off('exit', killAtExit)
      if (printed === '') throw new Error(`the simulated gateways ended without a result: ${told}`)
      return JSON.parse(printed)
    },
  }
}
