import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, rmSync } from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { call, DEFINITION, MAP, put, queryOf, type Row, register, sync, until } from '../support/feeds.js'
import { pairHeaders, post, type TestGateway } from '../support/start-gateway.js'

/** Rounds with a kill; FEED_KILLS asks for more. */
const KILLS = Number(process.env.FEED_KILLS ?? 6)
const PROGRAM = path.resolve('dist/fieldgate.cjs')
const skip = existsSync(PROGRAM) ? false : 'skipped: dist/fieldgate.cjs is absent; `npm run build` makes it'

/** Both may send to this machine, at once. */
const ENV = {
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  FIELDGATE_SYNC__ALLOW_LOOPBACK: 'true',
  FIELDGATE_SYNC__ALLOW_INSECURE: '["127.0.0.1"]',
  FIELDGATE_SYNC__BATCH_WAIT_S: '0.05',
  FIELDGATE_SYNC__RETRY_BASE_S: '0.05',
  FIELDGATE_SYNC__RETRY_CAP_S: '0.2',
}

/** A gateway as a process of its own, always at the same port. */
interface Node {
  readonly dir: string
  readonly port: number
  readonly rpc: TestGateway
  start(): Promise<void>
  kill(): Promise<void>
  verb(...argv: string[]): string
}

async function makeNode(t: Test, cwd: string, dir: string): Promise<Node> {
  const verb = (...argv: string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [PROGRAM, ...argv, '--data-dir', dir], {
      ...{ cwd, encoding: 'utf8', env: ENV },
    })
    if (status !== 0) throw new Error(`${argv.join(' ')}: ${stderr}`)
    return stdout
  }
  const admin = JSON.parse(verb('init', '--json')) as { apiKey: string; secret: string }
  const port = await freePort()
  let child: ChildProcess | undefined
  t.teardown(() => child?.kill('SIGKILL'))
  const rpc = {
    url: `http://127.0.0.1:${port}`,
    dataDir: path.join(cwd, dir),
    call: (apiPath: string, method: string, params: unknown) =>
      post(
        `http://127.0.0.1:${port}${apiPath}`,
        JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
        pairHeaders(admin),
      ),
    async makeKey(scopes: readonly string[]) {
      const flags = scopes.flatMap((scope) => ['--scope', scope])
      return JSON.parse(verb('key', 'create', '--name', 'k', ...flags, '--json'))
    },
  } as unknown as TestGateway // the members that the calls of this test use
  return {
    ...{ dir, port, rpc, verb },
    async start() {
      const argv = ['serve', '--data-dir', dir, '--host', '127.0.0.1', '--port', String(port)]
      child = spawn(process.execPath, [PROGRAM, ...argv], { cwd, env: ENV, stdio: 'ignore' })
      await until(async () => await isReady(port), Boolean)
    },
    async kill() {
      if (child === undefined || child.exitCode !== null) return
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}

async function isReady(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/readyz`)).ok
  } catch {
    return false
  }
}

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as net.AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Rows of a node by origin and key, without those of `but`. */
async function rowsByKey(node: Node): Promise<Map<string, Row>> {
  const columns = ['_origin', 'k', 'note', 'speed']
  const found = await call<{ features: { geometry: unknown; properties: Row }[] }>(
    ...([node.rpc, MAP, 'mapserv.eventdata', [queryOf(columns)]] as const),
  )
  const rows = found.features.map(({ geometry, properties: { table: _, ...row } }) => ({ ...row, geometry }))
  const map = new Map(rows.map((row) => [`${(row as Row)._origin} ${(row as Row).k}`, row]))
  if (map.size !== rows.length) throw new Error('a row is there twice')
  return map
}

async function untilSent(node: Node): Promise<void> {
  await until(
    async () => (await sync<{ rows_behind: number; state: string }[]>(node.rpc, 'list_feeds'))[0],
    (feed) => feed?.rows_behind === 0 && feed.state === 'idle',
  )
}

/** The rows of `from` are at `to`, each once, and nothing else of its origin. */
async function sameRows(t: Test, from: Node, to: Node): Promise<void> {
  const [mine, theirs] = await Promise.all([rowsByKey(from), rowsByKey(to)])
  const plain = (map: Map<string, Row>) =>
    [...map.values()].map(({ _origin, ...row }) => row).sort((a, b) => Number(a.k) - Number(b.k))
  t.same(plain(theirs), plain(mine))
}

async function pair(t: Test): Promise<{ cwd: string; van: Node; base: Node }> {
  const cwd = t.testdir()
  const [van, base] = [await makeNode(t, cwd, 'van'), await makeNode(t, cwd, 'base')]
  await Promise.all([van.start(), base.start()])
  const key = await base.rpc.makeKey(['sync:write'])
  const upstream = { name: 'up', endpoint: base.rpc.url, apikey: key.apiKey, secret: key.secret }
  await sync(van.rpc, 'create_upstream', upstream)
  await register(van.rpc, DEFINITION)
  await sync(van.rpc, 'create_feed', { table: 'seen', upstream: 'up', from: 'all' })
  return { cwd, van, base }
}

t.test('feeds: kills of either side in mid-batch lose and double nothing', { skip }, async (t) => {
  const { van, base } = await pair(t)
  let seed = 7
  const random = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed % below
  }
  const putSome = () =>
    put(
      van.rpc,
      Array.from({ length: 400 }, () => ({
        k: random(3000),
        note: `n${random(1e6)}`,
        lng: 139 + random(1e6) / 1e6,
      })),
    )
  for (let round = 0; round < KILLS; round++) {
    await putSome()
    await putSome()
    await sleep(random(90)) // somewhere between the wait for a batch and its answer
    const victim = round % 2 === 0 ? base : van
    await victim.kill()
    if (victim === base) await putSome()
    await victim.start()
  }
  await untilSent(van)
  await sameRows(t, van, base)
})

t.test('feeds: either side is restored from an older backup', { skip }, async (t) => {
  const { cwd, van, base } = await pair(t)
  const putK = (from: number, note: string) =>
    put(
      van.rpc,
      Array.from({ length: 50 }, (_, at) => ({ k: from + at, note })),
    )
  const restore = async (node: Node, backups: string) => {
    await node.kill()
    rmSync(path.join(cwd, node.dir), { recursive: true })
    node.verb('restore', backups)
    await node.start()
  }
  await putK(0, 'first')
  await untilSent(van)
  base.verb('backup', 'base-backups')
  van.verb('backup', 'van-backups')
  await putK(25, 'second')
  await untilSent(van)
  await restore(base, 'base-backups')
  t.equal((await rowsByKey(base)).size, 50, 'the receiver has what it had then')
  await putK(1000, 'third')
  await untilSent(van)
  await sameRows(t, van, base)

  await restore(van, 'van-backups')
  await putK(2000, 'fourth')
  await untilSent(van)
  const [mine, theirs] = await Promise.all([rowsByKey(van), rowsByKey(base)])
  t.equal(mine.size, 100, 'first and fourth')
  t.equal(theirs.size, 175, 'what the sender lost is kept')
  const there = new Map([...theirs.values()].map(({ _origin, ...row }) => [row.k, row]))
  for (const { _origin, ...row } of mine.values()) t.same(there.get(row.k), row)
})
