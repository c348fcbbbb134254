import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, cpSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { LOADER_PATH } from '../../../src/gateway/apis.js'
import { blocksOf, readPage } from '../../support/docs.js'
import { DEFINITION, MAP, queryOf } from '../../support/feeds.js'
import { freePort, noHaproxy, runHaproxy } from '../../support/haproxy.js'
import { type HubPlace, hubCall, hubCli, noHub, serveHub } from '../../support/hub.js'
import { recordAt } from '../../support/moved.js'
import { asServerUser, binaries, noPostgres, serverFolder } from '../../support/postgres.js'
import { pairHeaders } from '../../support/start-gateway.js'
import { openBucket, startSwift } from '../../support/swift.js'
import { spawnTied } from '../../support/tied-process.js'
import { missing } from '../../support/tools.js'

/**
 * The blocks of docs/hub.md as they are printed: only addresses, ports, paths and passwords are replaced. Debian's
 * paths of two machines are folders here.
 */
const BLOCKS = blocksOf(readPage('docs/hub.md')).map(({ text }) => text)
const PASSWORDS = { fieldgate: 'of the hub', copier: 'of the copies' }
const BUCKET = 'field-hub'

/** Returns the block of the page that begins with a text. */
function printed(begin: string): string {
  const found = BLOCKS.filter((text) => text.startsWith(begin))
  if (found.length !== 1) throw new Error(`found ${found.length} blocks that begin with ${begin}, expected 1`)
  return found[0] ?? ''
}

/** Replaces each of the texts, which must be there. */
function replaced(text: string, by: Record<string, string>): string {
  return Object.entries(by).reduce((made, [from, to]) => {
    if (!made.includes(from)) throw new Error(`the page does not say ${from}: ${made}`)
    return made.replaceAll(from, to)
  }, text)
}

interface Machine {
  readonly dataDir: string
  readonly port: number
}

/** Two machines for PostgreSQL, without servers yet, and what the administrator does on them. */
async function makeMachines(t: Test) {
  const dir = serverFolder(t)
  const { uid, gid } = statSync(dir)
  const give = (file: string, mode: number) => {
    chmodSync(file, mode)
    chownSync(file, uid, gid)
  }
  const bin = binaries() ?? ''
  // its home folder: programs look for keys and passwords there
  const env = { ...process.env, HOME: dir, PATH: `${bin}:${process.env.PATH}` }
  const as = (argv: readonly string[], input = '') => {
    const [program = '', ...rest] = [...asServerUser(), ...argv]
    return execFileSync(program, rest, { cwd: '/', env, input, encoding: 'utf8', stdio: 'pipe' })
  }
  makeCertificate(dir)
  for (const name of ['database.pem', 'database.key']) give(path.join(dir, name), 0o600)
  const machine = async (name: string): Promise<Machine> => ({
    dataDir: path.join(dir, name),
    port: await freePort(),
  })
  const [db1, db2] = [await machine('db1'), await machine('db2')]
  writeFileSync(path.join(dir, '.pgpass'), `*:*:*:copier:${PASSWORDS.copier}\n`)
  give(path.join(dir, '.pgpass'), 0o600)
  const psql = ({ port }: Machine, text: string) =>
    as(['psql', '-h', dir, '-p', String(port), '-U', 'postgres', '-v', 'ON_ERROR_STOP=1', '-Atq'], text)
  const running = new Map<Machine, ReturnType<typeof spawnTied>>()
  const stop = async (machine: Machine) => {
    running.get(machine)?.end()
    await running.get(machine)?.ended
    rmSync(path.join(machine.dataDir, 'postmaster.pid'), { force: true })
  }
  t.teardown(() => Promise.all([...running.keys()].map(stop)))
  const start = async (machine: Machine) => {
    const { dataDir, port } = machine
    const argv = ['-D', dataDir, '-p', String(port), '-k', dir, '-c', 'fsync=off']
    const server = spawnTied([...asServerUser(), path.join(bin, 'postgres'), ...argv], {
      ...{ cwd: '/', env },
    })
    server.stdout.resume()
    running.set(machine, server)
    await until(async () => psql(machine, 'SELECT 1') !== '')
  }
  return { dir, db1, db2, as, psql, start, stop }
}

type Machines = Awaited<ReturnType<typeof makeMachines>>

/** A certificate of this machine, which is its own authority. */
function makeCertificate(dir: string): void {
  const [pem, key] = [path.join(dir, 'database.pem'), path.join(dir, 'database.key')]
  const names = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1']
  const argv = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  execFileSync('openssl', [...argv, '-days', '2', '-keyout', key, '-out', pem, ...names], { stdio: 'ignore' })
  cpSync(pem, path.join(dir, 'database-ca.pem'))
}

/** Repeats what fails while something is not there yet. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      if (await isSo()) return
    } catch (error) {
      if (tries > 3000) throw error
    }
    await delay(100)
  }
}

const WRITTEN_DIR = '/var/lib/postgresql/15/main'

/** Makes the primary by what the page prints. */
async function makePrimary({ dir, db1, as, psql, start }: Machines): Promise<void> {
  as(['initdb', '-D', db1.dataDir, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync'])
  const settings = replaced(printed("listen_addresses = '*'"), {
    "'*'": "'127.0.0.1'",
    '/etc/fieldgate': dir,
  })
  const access = replaced(printed('hostssl fieldgate'), { '10.0.0.0/24': '127.0.0.1/32' })
  as(['tee', '-a', path.join(db1.dataDir, 'postgresql.conf')], `${settings}\n`)
  as(['tee', path.join(db1.dataDir, 'pg_hba.conf')], `local all postgres trust\n${access}\n`)
  await start(db1)
  const roles = replaced(printed('CREATE ROLE fieldgate'), {
    "fieldgate LOGIN PASSWORD '…'": `fieldgate LOGIN PASSWORD '${PASSWORDS.fieldgate}'`,
    "REPLICATION PASSWORD '…'": `REPLICATION PASSWORD '${PASSWORDS.copier}'`,
  })
  psql(db1, roles)
}

/** Copies one machine to the other, and makes the copy its synchronous standby, by what the page prints. */
async function makeStandby({ as, psql, start }: Machines, from: Machine, to: Machine): Promise<void> {
  const copy = replaced(printed('pg_basebackup'), {
    'host=db1.example': `host=127.0.0.1 port=${from.port}`,
    [WRITTEN_DIR]: to.dataDir,
  })
  as(['bash', '-ec', copy])
  await start(to)
  psql(from, printed('ALTER SYSTEM'))
  const state = `SELECT sync_state FROM pg_stat_replication WHERE application_name = 'standby'`
  await until(async () => psql(from, state).trim() === 'quorum')
}

/** Writes the settings of the hub as the page prints them. */
async function writeSettings(t: Test, { dir, db1, db2 }: Machines): Promise<HubPlace> {
  const folder = path.join(dir, 'swift')
  mkdirSync(folder)
  const swift = await startSwift({ testdir: () => folder, teardown: (work) => t.teardown(work) })
  await openBucket({ testdir: () => folder, teardown: (work) => t.teardown(work) }, swift, BUCKET)
  const secrets = {
    'hub-database.password': PASSWORDS.fieldgate,
    'hub-access-key': 'test:tester',
    'hub-secret-key': 'testing',
  }
  mkdirSync(path.join(dir, 'keys'), { mode: 0o700 }) // as the package has it
  for (const [name, text] of Object.entries(secrets)) writeFileSync(path.join(dir, name), `${text}\n`)
  const config = path.join(dir, 'hub.json')
  const settings = replaced(printed('{\n  "role": "hub"'), {
    '0.0.0.0': '127.0.0.1',
    '10.0.0.10': '127.0.0.1',
    '/etc/fieldgate': dir,
    'db1.example': `127.0.0.1:${db1.port}`,
    'db2.example': `127.0.0.1:${db2.port}`,
    'https://objects.example': swift.endpoint,
  })
  writeFileSync(config, settings)
  return { dir, config, database: 'fieldgate', bucket: BUCKET }
}

t.test(
  'docs/hub.md: a hub of two servers, a bucket and two processes behind haproxy, and a fail-over',
  {
    skip: noHub() || noPostgres('psql', 'pg_basebackup') || noHaproxy() || missing('openssl'),
  },
  async (t) => {
    const machines = await makeMachines(t)
    const { db1, db2, as, stop } = machines
    await makePrimary(machines)
    await makeStandby(machines, db1, db2)
    const place = await writeSettings(t, machines)
    t.equal((await hubCli(place, 'hub', 'init', '--json')).code, 0)
    const processes = [await serveHub(t, place, 'one'), await serveHub(t, place, 'two')]
    const port = await freePort()
    const balancer = replaced(printed('defaults\n  mode http'), {
      '10.0.0.10:8080': `127.0.0.1:${port}`,
      '10.0.0.11:8080': new URL(processes[0]?.url ?? '').host,
      '10.0.0.12:8080': new URL(processes[1]?.url ?? '').host,
    })
    runHaproxy(t, `${balancer}\n`)
    const hub = { url: `http://127.0.0.1:${port}` }
    await until(async () => (await fetch(`${hub.url}/readyz`)).status === 200)

    const made = await hubCli(place, 'key', 'create', '--json', '--name', 'truck', '--scope', 'admin')
    t.equal(made.code, 0, made.stderr)
    const key = pairHeaders(JSON.parse(made.stdout))
    const call = (apiPath: string, method: string, params: unknown) =>
      hubCall(hub, key, apiPath, method, params)
    const add = (k: number) =>
      call(LOADER_PATH, 'loaderwebapi.add_record', {
        ...{ data_name: 'seen', options: { if_exists: 'skip' }, record_set: [recordAt(k)] },
      })
    t.match(await call(LOADER_PATH, 'loaderwebapi.register_loader', DEFINITION), { status: 200 })
    t.match(await add(1), { status: 200 })

    await stop(db1)
    as(['bash', '-ec', replaced(printed('pg_ctl promote'), { [WRITTEN_DIR]: db2.dataDir })])
    const refused = await add(2)
    t.match(refused, { status: 503, body: { error: { data: { name: 'DATABASE_UNAVAILABLE' } } } })
    t.ok(Number(refused.headers.get('retry-after')) > 0)
    rmSync(db1.dataDir, { recursive: true })
    await makeStandby(machines, db2, db1)
    await until(async () => (await add(3)).body.result !== undefined)
    const { body } = await call(MAP, 'mapserv.eventdata', [queryOf(['k'])])
    const keys = body.result.features.map(({ properties }: { properties: { k: number } }) => properties.k)
    t.same([...keys].sort(), [1, 3])

    const doctor = await hubCli(place, 'hub', 'doctor', '--json')
    t.equal(doctor.code, 0, doctor.stdout)
  },
)
