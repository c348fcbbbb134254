import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { writeGraphFile } from '../../src/mapbuild/graph/write-graph.js'
import { DATAPROC, makeModule } from '../support/dataproc.js'
import { call, MAP, startNode, until } from '../support/feeds.js'
import { type Link, startLink } from '../support/link.js'
import { makeGraph } from '../support/make-graph.js'
import { program, signatureOf, TARGET, trusted } from '../support/releases.js'
import { type CliRun, cli } from '../support/run-cli.js'
import { startGateway, type TestGateway } from '../support/start-gateway.js'
import { at, town } from '../support/town.js'

const FLEET = '/api/v2/fleet/jsonrpc'
const ENV = { FIELDGATE_SYNC__ALLOW_LOOPBACK: 'true', FIELDGATE_SYNC__ALLOW_INSECURE: '["127.0.0.1"]' }
const LOCAL = { sync: { allowLoopback: true, allowInsecure: ['127.0.0.1'], retryBaseS: 0.05 } }
const OFTEN = { fleet: { reportS: 0.1 } }
const QUESTION = {
  ...{ themes: {}, start_lonlat: at(0, 0), goal_lonlat: at(3, 0) },
  start_datetime: '2026-01-01 12:00:00+09',
}

const fleet = <T>(node: TestGateway, method: string, params: object = {}): Promise<T> =>
  call<T>(node, FLEET, `fleet.${method}`, params)

const run = (node: Pick<TestGateway, 'dataDir'>, ...argv: string[]): Promise<CliRun> =>
  cli(path.dirname(node.dataDir), [...argv, '--data-dir', node.dataDir], ENV)

const setProfile = (hub: TestGateway, profile: object): Promise<{ version: number; changes: object[] }> =>
  fleet(hub, 'set_profile', { name: 'field', profile: { ready_within_s: 1, ...profile } })

/** Adds a file at the hub. @returns its digest */
async function add(hub: TestGateway, file: string): Promise<string> {
  const { code, stdout, stderr } = await run(hub, 'fleet', 'file', 'add', file, '--json')
  if (code !== 0) throw new Error(stderr)
  return JSON.parse(stdout).sha256
}

interface Membership {
  profile: { version: number } | null
  items: { item: string; state: string; reason: string | null }[]
  put_back: { version: number; reason: string } | null
  fetching: { version: number; items: { item: string; state: string; reason: string }[] } | null
}

/** Waits until the membership of a gateway is as it is to be. */
async function untilMember(van: TestGateway, isDone: (member: Membership) => boolean): Promise<Membership> {
  return await until(() => fleet<Membership>(van, 'get_membership'), isDone)
}

const untilVersion = (van: TestGateway, version: number): Promise<Membership> =>
  untilMember(van, ({ profile }) => profile?.version === version)

async function routeCost(van: TestGateway): Promise<number> {
  return (await call<{ total_cost: number }>(van, MAP, 'routing.dijkstra', [QUESTION])).total_cost
}

/** A hub with a profile, and a gateway that joined it, over a link where one is given. */
async function fleetOfTwo(
  t: Test,
  settings: object = {},
): Promise<{ hub: TestGateway; van: TestGateway; dir: string; link: Link }> {
  const dir = t.testdir()
  const hub = await startNode(t, path.join(dir, 'hub'), OFTEN)
  const van = await startNode(t, path.join(dir, 'van'), { ...OFTEN, ...settings })
  await setProfile(hub, {})
  const link = await startLink(t, Number(new URL(hub.url).port))
  const { text } = await fleet<{ text: string }>(hub, 'create_token', { profile: 'field' })
  const joined = await run(van, 'join', link.url, '--token', text, '--name', 'van')
  if (joined.code !== 0) throw new Error(joined.stderr)
  await untilVersion(van, 1)
  return { hub, van, dir, link }
}

/** Writes the map of a town with a speed, so that routes differ. */
function writeMap(file: string, speed: number): string {
  const network = town()
  const roads = network.roads.map((road) => ({ ...road, speed: [speed, speed] as [number, number] }))
  writeGraphFile(file, makeGraph({ ...network, roads }))
  return file
}

/** Writes bytes that no compression shortens. */
function writeBytes(file: string, bytes: number): string {
  const parts: Buffer[] = []
  for (let at = 0; at < bytes; at += 32) parts.push(createHash('sha256').update(`${file} ${at}`).digest())
  writeFileSync(file, Buffer.concat(parts).subarray(0, bytes))
  return file
}

t.test('files of profiles: a map comes, changes routes, is replaced, put back, and goes', async (t) => {
  const { hub, van, dir } = await fleetOfTwo(t)
  const slow = await add(hub, writeMap(path.join(dir, 'slow.graph'), 25))
  const fast = await add(hub, writeMap(path.join(dir, 'fast.graph'), 50))
  const broken = await add(hub, writeBytes(path.join(dir, 'broken.graph'), 1000))
  const place = path.join(van.dataDir, 'maps', 'town.graph')
  const held = () =>
    readdirSync(path.join(van.dataDir, 'fleet', 'held'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => name)

  t.match((await setProfile(hub, { maps: { town: slow } })).changes, [{ item: 'maps town', after: slow }])
  const applied = await untilVersion(van, 2)
  t.match(applied, { items: [{ item: 'map town', state: 'applied' }], fetching: null })
  const before = await routeCost(van)
  t.equal(statSync(place).mode & 0o777, 0o600)

  await setProfile(hub, { maps: { town: fast } })
  await untilVersion(van, 3)
  t.ok((await routeCost(van)) < before, 'the new map is used at once')
  t.same(
    await until(
      async () => held(),
      ({ length }) => length === 1,
    ),
    [fast],
    'the old one is removed',
  )

  await setProfile(hub, { maps: { town: broken } })
  const back = await untilMember(van, ({ put_back }) => put_back !== null)
  t.match(back, { profile: { version: 3 }, put_back: { version: 4, reason: /not ready within 1 s: maps/ } })
  t.ok((await routeCost(van)) < before, 'the former map serves again')
  t.equal(createHash('sha256').update(readFileSync(place)).digest('hex'), fast)

  await setProfile(hub, {})
  await untilVersion(van, 5)
  t.notOk(existsSync(place))
  t.match((await van.call(MAP, 'routing.dijkstra', [QUESTION])).body.error, { data: { name: 'UNKNOWN_MAP' } })
})

t.test('releases of profiles: one is staged, installed by an operator, and then in force', async (t) => {
  const { hub, van, dir } = await fleetOfTwo(t, { update: { publicKey: trusted } })
  const bytes = Buffer.from(program('9.0.0'))
  writeFileSync(path.join(dir, 'release'), bytes)
  const digest = await add(hub, path.join(dir, 'release'))
  const release = { version: '9.0.0', digest, signature: signatureOf('9.0.0', bytes) }
  await setProfile(hub, { releases: { [TARGET]: release } })
  const isStaged = ({ items }: Membership) => items.some(({ state }) => state === 'staged')
  t.match(await untilMember(van, isStaged), {
    profile: { version: 2 },
    items: [{ item: `release ${TARGET}` }],
  })
  t.match(await run(van, 'fleet', 'status'), {
    stdout: /release linux-.*: staged: version 9\.0\.0 waits for/,
  })
  const seen = await until(
    () => fleet<{ outcome: string; report: object }[]>(hub, 'list_gateways'),
    ([gateway]) => JSON.stringify(gateway?.report ?? {}).includes('staged'),
  )
  t.match(seen, [{ outcome: 'partly', report: { profile: { items: [{ state: 'staged' }] } } }])
  t.match(await fleet(hub, 'get_rollout', { name: 'field' }), { gateways: 1, applied: 0, trouble: 0 })
  t.match(await run(van, 'doctor', '--offline'), { stdout: /a release is staged: version 9\.0\.0/ })

  await van.gateway.stop()
  const executable = path.join(dir, 'fieldgate')
  writeFileSync(executable, program('1.2.3'), { mode: 0o755 })
  const env = { ...ENV, FIELDGATE_UPDATE__PUBLIC_KEY: trusted, PATH: process.env.PATH }
  const argv = ['update', '--staged', '--executable', executable, '--data-dir', van.dataDir]
  const updated = await cli(dir, argv, env)
  t.equal(updated.code, 0, updated.stderr)
  t.same(readFileSync(executable), bytes)
  const fresh = { dataDir: van.dataDir, version: '9.0.0' }
  const again = await startGateway(t, {
    ...fresh,
    settings: { ...LOCAL, ...OFTEN, update: { publicKey: trusted } },
  })
  t.match(await untilMember(again, ({ items }) => items.every(({ state }) => state === 'applied')), {
    items: [{ item: `release ${TARGET}` }],
  })
  t.same(readdirSync(path.join(van.dataDir, 'fleet', 'release')), [])
  await until(
    () => fleet<{ applied: number }>(hub, 'get_rollout', { name: 'field' }),
    ({ applied }) => applied === 1,
  )
})

t.test('files of profiles: what an operator installed stays', async (t) => {
  const { hub, van, dir } = await fleetOfTwo(t)
  const place = writeMap(path.join(van.dataDir, 'maps', 'town.graph'), 30)
  const bytes = readFileSync(place)
  const sha256 = await add(hub, writeMap(path.join(dir, 'slow.graph'), 25))
  await setProfile(hub, { maps: { town: sha256 } })
  const { items } = await untilVersion(van, 2)
  t.match(items, [{ item: 'map town', state: 'refused', reason: /operator installed the map town/ }])
  await setProfile(hub, {})
  await untilVersion(van, 3)
  t.same(readFileSync(place), bytes)
})

t.test('files of profiles: a cut download goes on where it ended, also after a restart', async (t) => {
  const { hub, van, dir, link } = await fleetOfTwo(t)
  const sizeBytes = 3_000_000
  const sha256 = await add(hub, writeBytes(path.join(dir, 'large.graph'), sizeBytes))
  const part = path.join(van.dataDir, 'fleet', 'parts', `${sha256}.part`)
  const partBytes = () => statSync(part, { throwIfNoEntry: false })?.size ?? 0
  link.cutAfter(link.carried() + 1_000_000)
  await setProfile(hub, { maps: { town: sha256 } })
  await until(async () => link.isCut(), Boolean)
  const failed = async () => van.logLines.find(({ msg }) => msg === 'a file of the profile did not come')
  t.match(await until(failed, (line) => line !== undefined), { sha256, reason: /cannot be reached/ })
  t.match(await fleet(van, 'get_membership'), { fetching: { version: 2, items: [{ item: 'map town' }] } })
  const kept = partBytes()
  t.match(await run(van, 'fleet', 'status'), {
    stdout: /version 2 is applied when its files are here\n {2}map town: waiting: /,
  })
  t.ok(kept > 500_000 && kept < sizeBytes, `${kept} bytes are kept`)
  await van.gateway.stop()
  const settings = { ...LOCAL, ...OFTEN }
  const again = await startGateway(t, { dataDir: van.dataDir, settings })
  const before = link.carried()
  link.cutAfter(Number.POSITIVE_INFINITY)
  link.reopen(Number(new URL(hub.url).port))
  // the file is no map: it came, was tried and put back
  await untilMember(again, ({ put_back }) => put_back !== null)
  const asked = link.carried() - before
  t.ok(asked < sizeBytes - kept + 200_000, `${asked} bytes were carried, ${sizeBytes - kept} were missing`)
  t.notOk(existsSync(part))
})

t.test('files of profiles: a map that a backup has put back is not downloaded again', async (t) => {
  const { hub, van, dir } = await fleetOfTwo(t)
  const sha256 = await add(hub, writeMap(path.join(dir, 'slow.graph'), 25))
  await setProfile(hub, { maps: { town: sha256 } })
  await untilVersion(van, 2)
  await van.gateway.stop()
  for (const argv of [
    ['backup', 'stick', '--data-dir', 'van'],
    ['restore', 'stick', '--data-dir', 'again'],
  ])
    t.match(await cli(dir, argv, ENV), { code: 0 })
  t.notOk(existsSync(path.join(dir, 'again', 'fleet', 'held', sha256)))
  rmSync(path.join(hub.dataDir, 'fleet', 'files'), { recursive: true }) // nothing can be downloaded
  const again = await startNode(t, path.join(dir, 'again'), OFTEN)
  const before = await routeCost(again)
  await setProfile(hub, { maps: { town: sha256 }, description: 'the same map' })
  const { items } = await untilVersion(again, 3)
  t.match(items, [{ item: 'map town', state: 'applied' }])
  t.equal(await routeCost(again), before)
})

t.test('files of profiles: a module comes and runs, a broken one is put back, and it goes', async (t) => {
  const { hub, van, dir } = await fleetOfTwo(t)
  const archive = async (name: string, scripts: Record<string, string>) => {
    makeModule(path.join(dir, name), 'm', scripts)
    const file = path.join(dir, `${name}.tgz`)
    execFileSync('tar', ['-czf', file, '-C', path.join(dir, name), 'm'])
    return await add(hub, file)
  }
  const good = await archive('good', { run: 'exit 3' })
  const other = writeBytes(path.join(dir, 'other.tgz'), 700)
  await setProfile(hub, { modules: { m: good } })
  t.match(await untilVersion(van, 2), { items: [{ item: 'module m', state: 'applied' }] })
  const exec = async () =>
    (await van.call(DATAPROC, 'dataproc.exec', { module: 'm', method: 'run' })).body.error
  t.match(await exec(), { message: /3/, data: { name: 'MODULE_FAILED' } })

  await setProfile(hub, { modules: { m: await add(hub, other) } })
  const { put_back } = await untilMember(van, (member) => member.put_back !== null)
  t.match(put_back, { version: 3, reason: /could not be applied: .*found no tar archive/ })
  t.match(await exec(), { data: { name: 'MODULE_FAILED' } }, 'the former one still runs')

  await setProfile(hub, { modules: { m: await archive('fresh', { run: 'exit 4' }) } })
  await untilVersion(van, 4)
  t.match(await exec(), { message: /4/, data: { name: 'MODULE_FAILED' } })
  await setProfile(hub, {})
  await untilVersion(van, 5)
  t.match(await exec(), { data: { name: 'UNKNOWN_MODULE' } })
})
