import '../../test/load-typescript.mjs'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { userInfo } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../node.mjs'

const { startSwift, withoutSwift } = await import('../../../test/support/swift.ts')
const { spawnTied } = await import('../../../test/support/tied-process.ts')

/** Replicas of an object, each at another server. */
const REPLICAS = 3
/** Partitions of the ring: 2 to this power. */
const PART_POWER = 6

/** Reason why these servers cannot run here; false when they can. */
export function noObjects(servers) {
  if (servers === 1) return withoutSwift()
  const missing = ['swift-ring-builder', 'swift-object-server'].find(
    (name) => spawnSync('which', [name], { stdio: 'ignore' }).status !== 0,
  )
  return missing === undefined ? withoutSwift() : `${missing} is not installed (Debian: swift, swift-object)`
}

/**
 * Starts an object store: Swift in one process, or with three object servers of their own, each with a replica of
 * every object. Then the process of the proxy also holds the accounts and the containers, which stay up. No replicator
 * runs: a server that comes back lacks what was put meanwhile, and has what was removed.
 *
 * @param servers 1 or 3
 * @returns `endpoint`, and `kill`, `start`, `freeze` and `thaw`, each of the server at an index
 */
export async function startObjects(owner, servers) {
  if (servers === 1) return alone(await startSwift(owner))
  const dir = owner.testdir()
  const etc = path.join(dir, 'etc')
  mkdirSync(etc, { recursive: true })
  const places = []
  for (let at = 0; at < REPLICAS; at++) places.push(await makePlace(dir, etc, at))
  makeRing(etc, places)
  const { endpoint } = await startSwift(owner, true)
  const running = await Promise.all(places.map(startServer))
  const kill = async (at) => {
    process.kill(running[at].pid, 'SIGKILL')
    running[at].end()
    await running[at].ended
  }
  owner.teardown(async () => {
    for (const each of running) each.end()
    await Promise.all(running.map(({ ended }) => ended))
  })
  return {
    ...{ endpoint, servers, kill },
    async start(at) {
      running[at] = await startServer(places[at])
    },
    freeze: (at) => process.kill(running[at].pid, 'SIGSTOP'),
    thaw: (at) => process.kill(running[at].pid, 'SIGCONT'),
  }
}

function alone(swift) {
  return {
    ...{ endpoint: swift.endpoint, servers: 1, kill: swift.kill, start: swift.start },
    freeze: () => process.kill(swift.pid, 'SIGSTOP'),
    thaw: () => process.kill(swift.pid, 'SIGCONT'),
  }
}

/** Writes the settings of an object server. */
async function makePlace(dir, etc, at) {
  const port = await freePort()
  const devices = path.join(dir, `node${at}`)
  mkdirSync(path.join(devices, 'disk'), { recursive: true })
  const file = path.join(etc, `object-${at}.conf`)
  const lines = [
    ...['[DEFAULT]', 'bind_ip = 127.0.0.1', `bind_port = ${port}`, 'workers = 0', 'log_level = ERROR'],
    ...[`user = ${userInfo().username}`, `swift_dir = ${etc}`, `devices = ${devices}`, 'mount_check = false'],
    ...['[pipeline:main]', 'pipeline = object-server', '[app:object-server]', 'use = egg:swift#object', ''],
  ]
  writeFileSync(file, lines.join('\n'))
  return { port, file }
}

function makeRing(cwd, places) {
  const build = (...argv) => execFileSync('swift-ring-builder', ['object.builder', ...argv], { cwd })
  build('create', String(PART_POWER), String(REPLICAS), '0')
  for (const [at, { port }] of places.entries()) build('add', `r1z${at + 1}-127.0.0.1:${port}/disk`, '1')
  build('rebalance')
}

async function startServer({ port, file }) {
  const running = spawnTied(['swift-object-server', file], { cwd: '/', env: process.env })
  running.stdout.resume()
  let failed
  void running.ended.then((reason = 'ended') => {
    failed = reason
  })
  while (!(await listens(port))) {
    if (failed !== undefined) throw new Error(`the object server ${failed}`)
    await sleep(20)
  }
  return running
}

async function listens(port) {
  const socket = net.connect(port, '127.0.0.1')
  try {
    return await new Promise((resolve) => {
      socket.once('connect', () => resolve(true))
      socket.once('error', () => resolve(false))
    })
  } finally {
    socket.destroy()
  }
}
