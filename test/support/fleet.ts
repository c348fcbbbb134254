import path from 'node:path'
import type { Test } from 'tap'
import type { Settings } from '../../src/config/config.js'
import { call, FEED_SETTINGS, until } from './feeds.js'
import { type CliRun, cli } from './run-cli.js'
import { type StartOptions, startGateway, type TestGateway } from './start-gateway.js'

const FLEET = '/api/v2/fleet/jsonrpc'
export const ENV = { FIELDGATE_SYNC__ALLOW_LOOPBACK: 'true', FIELDGATE_SYNC__ALLOW_INSECURE: '["127.0.0.1"]' }
export const OFTEN = { fleet: { reportS: 0.1 } }

export const fleet = <T>(node: TestGateway, method: string, params: object = {}): Promise<T> =>
  call<T>(node, FLEET, `fleet.${method}`, params)

/** Runs a verb beside a gateway. */
export const run = (node: Pick<TestGateway, 'dataDir'>, ...argv: string[]): Promise<CliRun> =>
  cli(path.dirname(node.dataDir), [...argv, '--data-dir', node.dataDir], ENV)

/** Gateway as `fleet.list_gateways` prints it. */
export interface Member {
  node: string
  state: string
  applied: number | null
  outcome: string | null
  report: {
    ready: boolean
    backlog: { rows: number }
    position: readonly number[] | null
    profile: { reason: string; items: object[] }
  } | null
}

export const members = (hub: TestGateway): Promise<Member[]> => fleet(hub, 'list_gateways')

/** Waits until the only gateway of a hub is as it is to be. */
export async function untilMember(hub: TestGateway, isDone: (member: Member) => boolean): Promise<Member> {
  const read = async () => (await members(hub))[0]
  return (await until(read, (member) => member !== undefined && isDone(member))) as Member
}

export const setProfile = (hub: TestGateway, profile: object): Promise<{ version: number }> =>
  fleet(hub, 'set_profile', { name: 'field', profile })

/** Makes a token for the profile `field`. */
export async function makeToken(hub: TestGateway, params: object = {}): Promise<string> {
  const token = await fleet<{ text: string }>(hub, 'create_token', { profile: 'field', ...params })
  return token.text
}

/** Joins a hub by the verb. @returns the token */
export async function joined(hub: TestGateway, node: TestGateway, name = 'van'): Promise<string> {
  const token = await makeToken(hub)
  const done = await run(node, 'join', hub.url, '--token', token, '--name', name)
  if (done.code !== 0) throw new Error(done.stderr)
  return token
}

/** Backups of gateways in folders of a test. */
export function backedUp(t: Test, dir: string, settings: Settings = {}) {
  const start = (name: string, port = 0) =>
    stoppable(t, {
      dataDir: path.join(dir, name),
      settings: { ...FEED_SETTINGS, ...settings, server: { port } },
    })
  const succeed = async (...argv: string[]) => {
    const { code, stderr } = await cli(dir, argv, ENV)
    if (code !== 0) throw new Error(stderr)
  }
  return {
    start,
    backup: (name: string, to: string) => succeed('backup', to, '--data-dir', name),
    /** starts a gateway from a backup, where one with the same name of folder never was */
    async restore(from: string, name: string, port = 0) {
      await succeed('restore', from, '--data-dir', name)
      return await start(name, port)
    },
  }
}

/** A gateway that the test stops. */
export async function stoppable(
  t: Test,
  options: StartOptions,
): Promise<{ node: TestGateway; stop(): Promise<void> }> {
  const stops: (() => unknown)[] = []
  const node = await startGateway(
    { testdir: () => t.testdir(), teardown: (work) => stops.push(work) },
    options,
  )
  const stop = async () => {
    for (const work of stops.splice(0)) await work()
  }
  t.teardown(stop)
  return { node, stop }
}
