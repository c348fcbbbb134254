import '../../test/load-typescript.mjs'
import { setTimeout as sleep } from 'node:timers/promises'
import { createOwner } from '../../owner.mjs'
import { freePort } from '../node.mjs'

const { noPostgres, startServer, startStandby } = await import('../../../test/support/postgres.ts')

export { noPostgres }

/**
 * Stops what sends the log of a primary to its standby. Both servers share a machine: what was sent survives a kill
 * there, as it would not survive the end of a machine.
 */
export async function stopSender(primary) {
  const [sender] = await primary.admin('SELECT pid FROM pg_stat_replication')
  process.kill(sender.pid, 'SIGSTOP')
}

/**
 * A primary of PostgreSQL and its standby, at two ports that they keep: after a fail-over the other one is the primary.
 *
 * @param options.isSync false for the control: commits do not wait for the standby
 */
export async function startPair({ isSync }) {
  const ports = [await freePort(), await freePort()]
  let primary = await owned((owner) => startServer(owner, ports[0]))
  let standby = await owned((owner) => startStandby(owner, primary, ports[1]))
  const waitForStandby = () => followed(primary, isSync)
  return {
    /** both hosts, of which either may be the primary */
    hosts: ports.map((port) => ({ host: '127.0.0.1', port })),
    get primary() {
      return primary
    },
    waitForStandby,
    holdLog: () => stopSender(primary),
    kill: () => primary.kill(),
    /** Makes the standby take writes, without a standby of its own. */
    async promote() {
      await standby.admin('SELECT pg_promote()')
      await standby.admin(`ALTER SYSTEM SET synchronous_standby_names = ''`)
      await standby.admin('SELECT pg_reload_conf()')
    },
    /** Makes a new standby of the promoted server, in the place of the one that was killed. */
    async renew() {
      const { port } = primary.host
      await primary.remove()
      primary = standby
      standby = await owned((owner) => startStandby(owner, primary, port))
      await waitForStandby()
    },
    async remove() {
      for (const server of [primary, standby]) await server.remove()
    },
  }
}

/** A server with `remove`, which ends it and removes its folder. */
async function owned(start) {
  const owner = createOwner()
  return { ...(await start(owner)), remove: owner.end }
}

/** Waits until the standby has all of the log, and commits wait for it unless this is the control. */
async function followed(primary, isSync) {
  const names = isSync ? 'ANY 1 (standby)' : ''
  await primary.admin(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`)
  await primary.admin('SELECT pg_reload_conf()')
  const wanted = isSync ? 'quorum' : 'async'
  for (let tries = 0; ; tries++) {
    const [row] = await primary.admin('SELECT state, sync_state FROM pg_stat_replication')
    if (row?.state === 'streaming' && row.sync_state === wanted) return
    if (tries > 600) throw new Error(`found ${JSON.stringify(row)}, expected a standby of state ${wanted}`)
    await sleep(50)
  }
}
