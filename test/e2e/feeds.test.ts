import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import {
  call,
  DEFINITION,
  type FeedInfo,
  MAP,
  put,
  queryOf,
  type Row,
  register,
  sync,
  until,
} from '../support/feeds.js'
import { type KeyPair, pairHeaders, post, type TestGateway } from '../support/start-gateway.js'
import { verify } from '../support/verified-feeds.js'

/** Rounds with a kill, and the seed of what is put and killed; FEED_KILLS and FEED_SEED ask for others. */
const KILLS = Number(process.env.FEED_KILLS ?? 6)
const SEED = Number(process.env.FEED_SEED ?? 7)
const run = promisify(execFile)
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
}

async function makeNode(t: Test, cwd: string, dir: string): Promise<Node> {
  const verb = async (...argv: string[]) => {
    const { stdout } = await run(process.execPath, [PROGRAM, ...argv, '--data-dir', dir, '--json'], {
      ...{ cwd, env: ENV },
    })
    return JSON.parse(stdout) as KeyPair
  }
  const admin = await verb('init')
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
    async makeKey(scopes: readonly string[], _expiresAtUs?: number, tables: readonly string[] = []) {
      const flags = [
        ...scopes.flatMap((scope) => ['--scope', scope]),
        ...tables.flatMap((table) => ['--table', table]),
      ]
      return await verb('key', 'create', '--name', 'k', ...flags)
    },
  } as unknown as TestGateway // the members that the calls of this test use
  return {
    ...{ dir, port, rpc },
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

async function pair(t: Test): Promise<{ van: Node; base: Node }> {
  const cwd = t.testdir()
  const [van, base] = await Promise.all([makeNode(t, cwd, 'van'), makeNode(t, cwd, 'base')])
  await Promise.all([van.start(), base.start()])
  // a node has one key at its upstream, for both ways
  const key = await base.rpc.makeKey(['sync:write', 'sync:read'], undefined, ['seen'])
  const upstream = { name: 'up', endpoint: base.rpc.url, apikey: key.apiKey, secret: key.secret }
  await sync(van.rpc, 'create_upstream', upstream)
  await register(van.rpc, DEFINITION)
  await sync(van.rpc, 'create_feed', { table: 'seen', upstream: 'up', from: 'all' })
  return { van, base }
}

/** A generator of whole numbers below a limit; each seed has its own sequence. */
function randomOf(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 48_271) % 2_147_483_647
    return state % below
  }
}

/** Puts rows until it is told to end, and remembers which notes a key may have. */
interface Writer {
  /** notes of each key: that of the last put that was answered, and those of later puts that were not */
  readonly notes: Map<number, { answered: boolean; allowed: string[] }>
  counts: { answered: number; unanswered: number }
  end(): Promise<void>
}

function startWriter({ rpc, dir }: Node, random: (below: number) => number): Writer {
  const notes: Writer['notes'] = new Map()
  const counts = { answered: 0, unanswered: 0 }
  let isEnded = false
  let made = 0
  const putSome = async () => {
    const some = new Map<number, string>()
    for (let at = 0; at < 100; at++) some.set(random(1500), `${dir} ${made++}`)
    const rows = [...some].map(([k, note]) => ({ k, note, lng: 139 + random(1e6) / 1e6 }))
    try {
      await put(rpc, rows)
      for (const [k, note] of some) notes.set(k, { answered: true, allowed: [note] })
      counts.answered += some.size
    } catch (error) {
      if (!(error instanceof TypeError) && !/"UNAVAILABLE"/.test(String(error))) throw error
      // nothing took the rows: nobody listens, or the gateway is starting
      const isRefused = !(error instanceof TypeError) || /ECONNREFUSED/.test(String(error.cause))
      if (isRefused) return await sleep(20)
      // the process ended before its answer: the rows may be there or not
      for (const [k, note] of some) {
        const { answered = false, allowed = [] } = notes.get(k) ?? {}
        notes.set(k, { answered, allowed: [...allowed, note] })
      }
      counts.unanswered += some.size
    }
    await sleep(20 + random(60))
  }
  const writing = (async () => {
    while (!isEnded) await putSome()
  })()
  return {
    ...{ notes, counts },
    async end() {
      isEnded = true
      await writing
    },
  }
}

/** Compares what a node has put with what was answered. @returns rows that are lost */
function lostRows(rows: ReadonlyMap<string, Row>, { notes }: Writer): string[] {
  return [...notes].flatMap(([k, { answered, allowed }]) => {
    const row = rows.get(` ${k}`)
    const isThere = row === undefined ? !answered : allowed.includes(String(row.note))
    return isThere ? [] : [`${k}: found ${row?.note}, expected ${allowed.join(' or ')}`]
  })
}

/** Rows of one origin, without it. */
function ofOrigin(rows: ReadonlyMap<string, Row>, isOf: (origin: unknown) => boolean): Row[] {
  const found = [...rows.values()].filter(({ _origin }) => isOf(_origin))
  return found.map(({ _origin, ...row }) => row).sort((a, b) => Number(a.k) - Number(b.k))
}

t.test(
  'feeds up and down: kills of either side in mid-batch lose and double nothing',
  { skip },
  async (t) => {
    const { van, base } = await pair(t)
    // rows are put there at once; the feed may have made the table before
    await register(base.rpc, DEFINITION).catch((error: Error) => t.match(error.message, /ALREADY_REGISTERED/))
    await untilSent(van)
    const fetched = { table: 'seen', direction: 'down', upstream: 'up', from: 'all' }
    const { feed: down } = await sync<{ feed: string }>(van.rpc, 'create_feed', fetched)
    const random = randomOf(SEED)
    const startMs = performance.now()
    const writers = [startWriter(van, randomOf(SEED + 1)), startWriter(base, randomOf(SEED + 2))] as const
    const kills = { van: 0, base: 0 }
    for (let round = 0; round < KILLS; round++) {
      await sleep(50 + random(200)) // somewhere between the wait for a batch and its answer
      // the suite kills each side at least once
      const victim = round < 2 ? [base, van][round] : [base, van][random(2)]
      await victim?.kill()
      await sleep(random(100))
      await victim?.start()
      kills[victim === van ? 'van' : 'base']++
    }
    for (const writer of writers) await writer.end()
    const feeds = await sync<FeedInfo[]>(van.rpc, 'list_feeds')
    t.equal(feeds.length, 2)
    await until(
      () => sync<FeedInfo[]>(van.rpc, 'list_feeds'),
      (all) => all.every(({ rows_behind, state }) => rows_behind === 0 && state === 'idle'),
    )
    for (const { feed } of feeds)
      for (const recount of [false, true])
        t.same(
          await verify(van.rpc, feed, { recount }),
          { equal: true, days: [], removed_days: [] },
          feed === down ? 'down' : 'up',
        )
    const [mine, theirs] = await Promise.all([rowsByKey(van), rowsByKey(base)])
    const [own, other] = [(origin: unknown) => origin === '', (origin: unknown) => origin !== '']
    t.same(ofOrigin(theirs, other), ofOrigin(mine, own), 'rows of the van')
    t.same(ofOrigin(mine, other), ofOrigin(theirs, own), 'rows of the base')
    t.same(lostRows(mine, writers[0]), [], 'what the van answered is there')
    t.same(lostRows(theirs, writers[1]), [], 'what the base answered is there')
    t.ok(writers.every(({ counts }) => counts.answered > 0))
    const counts = JSON.stringify(writers.map((writer) => writer.counts))
    const time = Math.round((performance.now() - startMs) / 1000)
    t.comment(
      `seed ${SEED}, kills ${JSON.stringify(kills)}, rows put ${counts}, kept ${mine.size}, ${time} s`,
    )
  },
)
