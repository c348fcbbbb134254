import { once } from 'node:events'
import { closeSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync, writeSync } from 'node:fs'
import { createServer } from 'node:net'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { loadConfig } from '../../../src/config/config.js'
import { layoutOf } from '../../../src/files/layout.js'
import { createGateway } from '../../../src/gateway/app.js'
import { createReadiness, type ReadinessDeps } from '../../../src/gateway/health/readiness.js'
import { createLog } from '../../../src/log.js'
import { openState } from '../../../src/storage/sqlite/state.js'
import { cli } from '../../support/run-cli.js'
import { startGateway } from '../../support/start-gateway.js'

interface Ready {
  status: number
  retryAfter: string | null
  body: { status: string; draining: boolean; parts: { part: string; isReady: boolean; reason?: string }[] }
}

async function readyz(url: string): Promise<Ready> {
  const response = await fetch(`${url}/readyz`)
  const body = (await response.json()) as Ready['body']
  return { status: response.status, retryAfter: response.headers.get('retry-after'), body }
}

/** The part that is not ready, alone. */
const blamed = ({ body }: Ready) => body.parts.filter(({ isReady }) => !isReady)

t.test('readyz: 200 and every part by name when all is well', async (t) => {
  const { url } = await startGateway(t)
  const { status, body } = await readyz(url)
  t.equal(status, 200)
  t.equal(body.status, 'ready')
  t.same(
    body.parts.map(({ part }) => part),
    ['database', 'disk', 'search', 'maps', 'outbox', 'clock'],
  )
})

t.test('readyz: database, when its file was moved away and when another file replaced it', async (t) => {
  const { url, dataDir } = await startGateway(t)
  const { dataDb } = layoutOf(dataDir)
  renameSync(dataDb, `${dataDb}.away`)
  const gone = await readyz(url)
  t.equal(gone.status, 503)
  t.ok(gone.retryAfter)
  t.match(blamed(gone), [{ part: 'database', reason: /^data\.db is no longer the file that was opened/ }])
  writeFileSync(dataDb, 'another')
  t.match(blamed(await readyz(url)), [{ part: 'database' }])
  renameSync(`${dataDb}.away`, dataDb)
  t.equal((await readyz(url)).status, 200, 'back again')
})

t.test('readyz: database, when its log was removed while it is open', async (t) => {
  const { url, dataDir } = await startGateway(t)
  const { stateDb } = layoutOf(dataDir)
  renameSync(`${stateDb}-wal`, `${stateDb}-wal.away`)
  const found = await readyz(url)
  t.equal(found.status, 503)
  t.match(blamed(found), [
    { part: 'database', reason: /^state\.db-wal is no longer the file that was opened/ },
  ])
  renameSync(`${stateDb}-wal.away`, `${stateDb}-wal`)
  t.equal((await readyz(url)).status, 200, 'back again')
})

t.test('readyz: database, from the first damaged page that any call meets, over restarts', async (t) => {
  const { url, dataDir, call, gateway } = await startGateway(t)
  const LOADER = '/api/v1/dataloaderapi/jsonrpc'
  const record_def = { k: { udt_name: 'int4' }, text: { udt_name: 'text' } }
  await call(LOADER, 'loaderwebapi.register_loader', { data_name: 'x', record_def, unique_columns: ['k'] })
  const record = (k: number) => ({
    type: 'Feature',
    geometry: { type: 'Point', coordinates: [139, 35] },
    properties: { k, text: 'x'.repeat(2000), start_datetime: null, end_datetime: null },
  })
  const record_set = Array.from({ length: 400 }, (_, k) => record(k))
  const added = await call(LOADER, 'loaderwebapi.add_record', { data_name: 'x', record_set })
  t.equal(added.body.error, undefined, JSON.stringify(added.body))
  t.equal((await readyz(url)).status, 200)
  const sound = spoilRows(layoutOf(dataDir).dataDb)
  const read = await call('/api/v1/svcapi/jsonrpc', 'mapserv.eventdata', {
    type: 'Feature',
    geometry: null,
    properties: { table: 'x' },
  })
  t.match(
    read.body.error,
    { code: 1031, data: { name: 'STORAGE_DAMAGED' } },
    JSON.stringify(read.body).slice(0, 300),
  )
  const found = await readyz(url)
  t.equal(found.status, 503)
  t.match(blamed(found), [{ part: 'database', reason: /damaged pages: run `fieldgate doctor`/ }])
  t.equal((await readyz(url)).status, 503, 'and stays so')

  await gateway.stop()
  const again = await startGateway(t, { dataDir })
  t.match(
    blamed(await readyz(again.url)),
    [{ part: 'database', reason: /damaged pages/ }],
    'and after a restart',
  )
  t.match(
    again.logLines.filter(({ level }) => level === 'error'),
    [{ msg: /had damaged pages before this start: run `fieldgate doctor --recheck`/ }],
  )
  const doctor = async (...argv: string[]) => {
    const { stdout, stderr } = await cli(dataDir, [
      'doctor',
      '--offline',
      '--json',
      '--data-dir',
      dataDir,
      ...argv,
    ])
    const { checks } = JSON.parse(stdout)
    const { findings } = checks.find(({ name }: { name: string }) => name === 'database')
    return JSON.stringify(findings) + stderr
  }
  t.match(await doctor('--recheck'), /a damaged page was met at 20.*doctor --recheck.*data\.db/s)
  t.equal((await readyz(again.url)).status, 503, 'the pages are still damaged')
  await again.gateway.stop()
  writeFileSync(layoutOf(dataDir).dataDb, sound) // as a repair of the disk would leave it
  const { url: repaired } = await startGateway(t, { dataDir })
  t.match(await doctor(), /a damaged page was met/, 'doctor alone does not withdraw it')
  t.equal((await readyz(repaired)).status, 503)
  t.notMatch(await doctor('--recheck'), /a damaged page was met/)
  t.equal((await readyz(repaired)).status, 200, 'of the running gateway as well')
})

t.test('readyz: disk and database, from the next look on when writes fail, until they succeed', async (t) => {
  const dir = t.testdir(DATABASE_FILES)
  const dead = Object.assign(new Error('i/o error'), { code: 'EIO' })
  let failures = 0
  let isDead = false
  let probes = 0
  let nowMs = 0
  const logged: unknown[] = []
  const write = async () => {
    probes++
    if (isDead) throw dead
  }
  const well = allWell(dir)
  const readiness = createReadiness({
    ...well,
    databases: well.databases.map((database) => ({ ...database, write })),
    probeFile: write,
    diskFaults: { failures: () => failures, isDamaged: () => false },
    log: { error: (fields: unknown) => void logged.push(fields) },
    nowMs: () => nowMs,
  })
  const bad = async () => (await readiness()).filter(({ isReady }) => !isReady)
  t.same(await bad(), [])
  t.same(await bad(), [])
  t.equal(probes, 2, 'one probe of the database and one of the directory in five seconds')
  isDead = true
  failures++ // a call has met the fault
  t.match(await bad(), [
    { part: 'database', reason: 'state.db cannot be written' },
    { part: 'disk', reason: 'files cannot be written' },
  ])
  t.equal(logged.length, 2, 'the reason is logged')
  isDead = false
  nowMs += 5000
  t.same(await bad(), [])
})

t.test('readyz: disk, when less is free than the reserve', async (t) => {
  const { url } = await startGateway(t, { settings: { limits: { diskReserveBytes: 2 ** 52 } } })
  const found = await readyz(url)
  t.equal(found.status, 503)
  t.match(blamed(found), [{ part: 'disk', reason: /bytes are free.*limits\.diskReserveBytes/ }])
})

t.test('readyz: maps, when a file cannot be used, by name and without its folder', async (t) => {
  const dataDir = path.join(t.testdir(), 'data')
  mkdirSync(path.join(dataDir, 'maps'), { recursive: true })
  writeFileSync(path.join(dataDir, 'maps', 'town.graph'), 'no graph')
  const { url } = await startGateway(t, { dataDir })
  const found = await readyz(url)
  t.equal(found.status, 503)
  t.match(blamed(found), [{ part: 'maps', reason: /^town\.graph: / }])
  t.notMatch(JSON.stringify(found.body), dataDir)
})

t.test('readyz: clock and outbox warn, and the gateway is ready all the same', async (t) => {
  const dataDir = path.join(t.testdir(), 'data')
  mkdirSync(dataDir)
  const state = await openState(layoutOf(dataDir).stateDb)
  await state.meta.recordTime(Date.now() * 1000 + 3600 * 1_000_000)
  await state.close()
  const { url, call } = await startGateway(t, { dataDir, settings: { sync: { retryBaseS: 0.01 } } })
  const { status, body } = await readyz(url)
  t.equal(status, 200)
  t.match(
    body.parts.find(({ part }) => part === 'clock'),
    { isReady: true, isWarning: true, reason: /behind the last recorded time/ },
  )
  t.equal((await call('/api/v1/session/jsonrpc', 'session.open_session')).status, 200)
})

/** A worker that looks for maps as it should, and then never answers again. */
const HANGING_WORKER = `
  const { parentPort } = require('node:worker_threads')
  parentPort.on('message', ({ kind, id, name }) => {
    if (kind !== 'call') return
    parentPort.postMessage({ kind: 'done', id, result: { maps: [], faults: [], baseFaults: [] } })
    if (name === 'reload') for (;;);
  })`

t.test('readyz: search, when its thread hangs; other calls and health go on', async (t) => {
  const entry = path.join(t.testdir(), 'hanging.cjs')
  writeFileSync(entry, HANGING_WORKER)
  const dataDir = path.join(path.dirname(entry), 'data')
  const { mapsDir } = layoutOf(dataDir)
  mkdirSync(mapsDir, { recursive: true })
  writeFileSync(path.join(mapsDir, 'any.graph'), '') // without a map the thread would not be started
  const gateway = await open(t, { dataDir, workerEntry: entry })
  const found = await readyz(gateway.url)
  t.equal(found.status, 503)
  t.match(blamed(found), [{ part: 'search', reason: /did not answer within 2000 ms/ }])
  t.equal((await fetch(`${gateway.url}/healthz`)).status, 200)
})

t.test('readyz: starting, while another program holds a database; then ready', async (t) => {
  const dataDir = path.join(t.testdir(), 'data')
  mkdirSync(dataDir)
  const holder = new Database(layoutOf(dataDir).stateDb)
  holder.pragma('journal_mode = WAL')
  holder.exec('BEGIN IMMEDIATE') // the new gateway has tables to make
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const opening = open(t, { dataDir, port })
  const found = await untilAnswered(() => readyz(url))
  t.equal(found.status, 503)
  t.match(found.body, { status: 'not ready', parts: [{ part: 'start', isReady: false }] })
  t.equal((await fetch(`${url}/healthz`)).status, 200)
  const refused = await fetch(`${url}/api/v1/session/jsonrpc`, { method: 'POST' })
  t.match([refused.status, refused.headers.get('retry-after')], [503, '1'])
  t.match(await refused.json(), { error: { data: { name: 'UNAVAILABLE' } } })
  holder.exec('ROLLBACK')
  holder.close()
  await opening
  t.equal((await readyz(url)).status, 200)
})

t.test('readyz: what cannot be caused from outside, by the parts themselves', async (t) => {
  const well = allWell(t.testdir(DATABASE_FILES))
  const look = async (change: Partial<ReadinessDeps>, part: string) =>
    (await createReadiness({ ...well, ...change })()).find((found) => found.part === part)
  const unreadable = well.databases.map((database) => ({
    ...database,
    read: () => raise('SQLITE_CORRUPT in /data/state.db'),
  }))
  t.same(await look({ databases: unreadable }, 'database'), {
    part: 'database',
    isReady: false,
    reason: 'state.db cannot be read',
  })
  t.match(await look({ writeFault: () => 'housekeeping failed' }, 'database'), { isReady: false })
  const counts = { queued: 0, sending: 0, delivered: 0, failed: 3 }
  t.match(await look({ syncStatus: async () => ({ isPaused: true, counts }) }, 'outbox'), {
    isReady: true,
    isWarning: true,
    reason: 'paused by the operator; 3 transfers failed permanently',
  })
})

const DATABASE_FILES = { 'state.db': '', 'state.db-wal': '', 'state.db-shm': '' }

/** Parts of a gateway in which all is well, with a database in a directory. */
function allWell(dir: string): ReadinessDeps {
  return {
    databases: [
      { file: path.join(dir, 'state.db'), read: async () => undefined, write: async () => undefined },
    ],
    probeFile: async () => undefined,
    diskFaults: { failures: () => 0, isDamaged: () => false },
    log: { error: () => undefined },
    writeFault: () => null,
    disk: { freeBytes: async () => 2 },
    reserveBytes: 1,
    searcher: { isAlive: async () => true },
    mapFaults: () => [],
    syncStatus: async () => ({ isPaused: false, counts: { queued: 0, sending: 0, delivered: 0, failed: 0 } }),
    isClockTrusted: () => true,
  }
}

function raise(message: string): never {
  throw new Error(message)
}

/** A gateway with a worker or a port of its own. */
async function open(t: Test, options: { dataDir: string; workerEntry?: string; port?: number }) {
  const loaded = loadConfig(null, {}, { dataDir: options.dataDir, server: { port: options.port ?? 0 } })
  if ('faults' in loaded) throw new Error(JSON.stringify(loaded.faults))
  const { workerEntry } = await import('../../support/worker-entry.js')
  const gateway = await createGateway({
    config: loaded.config,
    dataDir: options.dataDir,
    log: createLog('silent'),
    workerEntry: options.workerEntry ?? workerEntry(),
    version: '1.2.3',
  })
  t.teardown(() => gateway.stop())
  return gateway
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

async function untilAnswered<T>(ask: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await ask()
    } catch (error) {
      if (tries > 500) throw error
      await sleep(20)
    }
  }
}

/** Overwrites the pages of rows in the middle of a database, as a worn disk would. */
function spoilRows(file: string): Buffer {
  const db = new Database(file)
  db.pragma('wal_checkpoint(TRUNCATE)') // the pages are read from the file then
  db.close()
  const bytes = readFileSync(file)
  const pageBytes = bytes.readUInt16BE(16)
  const handle = openSync(file, 'r+')
  for (let page = Math.floor(bytes.length / pageBytes / 2); page < bytes.length / pageBytes; page++)
    writeSync(handle, Buffer.alloc(pageBytes, 0xa5), 0, pageBytes, page * pageBytes)
  closeSync(handle)
  return bytes
}
