import '../../test/load-typescript.mjs'
import { spawn, spawnSync } from 'node:child_process'
import { chownSync, rmSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../node.mjs'
import { stopSender } from './pair.mjs'

const support = await import('../../../test/support/postgres.ts')
const { spawnTied } = await import('../../../test/support/tied-process.ts')

const PROGRAMS = { patroni: 'patroni', etcd: 'etcd-server' }
/** Time after which a silent primary is replaced, s: the least that Patroni takes. */
const TTL_S = 20
/** Longest wait for a state of the pair, ms. */
const WAIT_MS = 300_000

/** Reason why Patroni cannot run here; false when it can. */
export function noPatroni() {
  for (const [program, name] of Object.entries(PROGRAMS))
    if (spawnSync('which', [program], { stdio: 'ignore' }).status !== 0)
      return `${program} is not installed (Debian: ${name})`
  return support.noPostgres()
}

/**
 * Two nodes of PostgreSQL under Patroni, which decides who is the primary, over one node of etcd. The standby is
 * synchronous; while there is none, the primary goes on alone. The same shape as `startPair`.
 */
export async function startCluster(owner) {
  const dir = support.serverFolder(owner)
  const etcd = await startEtcd(owner, dir)
  const ports = [await freePort(), await freePort()]
  const nodes = []
  for (const [at, port] of ports.entries()) {
    nodes.push(await makeNode(owner, { dir, etcd, name: `n${at + 1}`, port }))
    nodes[at].start()
    await until(async () => (at === 0 ? await isPrimary(nodes[0]) : await answers(nodes[1])), nodes[at].told)
  }
  let [primary, standby] = nodes
  await primary.admin(`CREATE ROLE ${support.ROLE} LOGIN`)
  // what Patroni has noted decides whether it may promote the standby
  const waitForStandby = () =>
    until(async () => {
      const { members } = await (await fetch(`http://${primary.api}/cluster`)).json()
      return members.some(({ name, role }) => name === standby.name && role === 'sync_standby')
    }, standby.told)
  return {
    hosts: nodes.map(({ host }) => host),
    get primary() {
      return primary
    },
    waitForStandby,
    holdLog: () => stopSender(primary),
    /** kills Patroni and all of the server that it runs */
    kill: () => primary.kill(),
    /** waits until Patroni has made the standby the primary */
    promote: () => until(() => isPrimary(standby), standby.told),
    /** starts Patroni again on the node that was killed, which joins as the standby */
    async renew() {
      primary.start()
      ;[primary, standby] = [standby, primary]
      await waitForStandby()
    },
    async remove() {
      for (const node of nodes) await node.kill()
    },
  }
}

async function startEtcd(owner, dir) {
  const [client, peer] = [await freePort(), await freePort()].map((port) => `http://127.0.0.1:${port}`)
  const argv = [
    ...['--name', 'one', '--data-dir', path.join(dir, 'etcd'), '--log-level', 'error'],
    ...['--listen-client-urls', client, '--advertise-client-urls', client],
    ...[
      '--listen-peer-urls',
      peer,
      '--initial-advertise-peer-urls',
      peer,
      '--initial-cluster',
      `one=${peer}`,
    ],
  ]
  const running = spawnTied([...support.asServerUser(), 'etcd', ...argv], { cwd: '/', env: process.env })
  running.stdout.resume()
  owner.teardown(async () => {
    running.end()
    await running.ended
  })
  await until(() => fetch(`${client}/health`).then(({ ok }) => ok))
  return client.replace('http://', '')
}

async function makeNode(owner, { dir, etcd, name, port }) {
  const dataDir = path.join(dir, name)
  const file = path.join(dir, `${name}.json`) // JSON is YAML
  const api = `127.0.0.1:${await freePort()}`
  writeFileSync(file, JSON.stringify(settingsOf({ dir, etcd, name, port, dataDir, api })))
  const { uid, gid } = statSync(dir)
  chownSync(file, uid, gid)
  endWithThisProcess(owner, dataDir)
  const host = { host: '127.0.0.1', port }
  let running
  let told = ''
  return {
    ...{ name, api, host, admin: support.adminOf(host), told: () => told },
    start() {
      running = spawnTied([...support.asServerUser(), 'patroni', file], { cwd: '/', env: process.env })
      running.stdout.on('data', (chunk) => {
        told = `${told}${chunk}`.slice(-4000)
      })
    },
    async kill() {
      if (running === undefined) return
      // the postmaster is no child of Patroni, and is not of its process group
      for (const pid of [running.pid, ...support.processesOf(dataDir)]) killIfThere(pid)
      running.end()
      await running.ended
      while (support.processesOf(dataDir).length > 0) await sleep(10)
      rmSync(path.join(dataDir, 'postmaster.pid'), { force: true }) // the number may be another process soon
      running = undefined
    },
  }
}

function killIfThere(pid) {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if (error.code !== 'ESRCH') throw error
  }
}

function settingsOf({ dir, etcd, name, port, dataDir, api }) {
  const address = `127.0.0.1:${port}`
  const parameters = { synchronous_commit: 'on', wal_log_hints: 'on', max_connections: 40 }
  const user = (username) => ({ username, password: 'x' })
  return {
    ...{ scope: 'field', name, etcd3: { hosts: etcd } },
    restapi: { listen: api, connect_address: api },
    bootstrap: {
      dcs: {
        ...{ ttl: TTL_S, loop_wait: 2, retry_timeout: 5, synchronous_mode: true },
        postgresql: { use_pg_rewind: true, parameters },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }],
    },
    postgresql: {
      ...{ listen: address, connect_address: address, bin_dir: support.binaries(), data_dir: dataDir },
      ...{ pgpass: path.join(dir, `${name}.pass`), remove_data_directory_on_rewind_failure: true },
      authentication: { superuser: user('postgres'), replication: user('copier'), rewind: user('rewinder') },
      parameters: { unix_socket_directories: dir, fsync: 'off', shared_buffers: '16MB' },
      pg_hba: [
        'local all all trust',
        'host all all 127.0.0.1/32 trust',
        'host replication all 127.0.0.1/32 trust',
      ],
    },
  }
}

/** Kills the server of a folder when this process is gone, however that ended. */
function endWithThisProcess(owner, dataDir) {
  const script = 'read -r _ <&3; kill -KILL "$(head -n 1 "$0/postmaster.pid")" 2>/dev/null; true'
  const stdio = ['ignore', 'ignore', 'ignore', 'pipe']
  const child = spawn('bash', ['-c', script, dataDir], { detached: true, stdio })
  child.unref()
  owner.teardown(() => child.stdio[3].destroy())
}

async function isPrimary({ admin }) {
  const [row] = await admin('SELECT pg_is_in_recovery() AS standby').catch(() => [])
  return row?.standby === false
}

async function answers({ admin }) {
  return await admin('SELECT 1').then(
    () => true,
    () => false,
  )
}

/** @param told what is printed with the error */
async function until(check, told = () => '') {
  const untilMs = performance.now() + WAIT_MS
  while (!(await check().catch(() => false))) {
    if (performance.now() > untilMs) throw new Error(`found no such state within ${WAIT_MS} ms: ${told()}`)
    await sleep(100)
  }
}
