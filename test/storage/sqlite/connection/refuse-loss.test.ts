import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { layoutOf } from '../../../../src/files/layout.js'
import { openDataDb } from '../../../../src/storage/sqlite/connection/data-db.js'
import { tracesOf } from '../../../../src/storage/sqlite/connection/refuse-loss.js'
import { putModel } from '../../../support/models.js'
import { cli, printed, startCli } from '../../../support/run-cli.js'
import { startGateway } from '../../../support/start-gateway.js'

/** A data directory that was served once: with a model, and the lock of `serve`. */
async function served(t: Test) {
  const cwd = t.testdir()
  const dataDir = path.join(cwd, 'data')
  const gateway = await startGateway(t, { dataDir })
  await putModel(gateway, new Uint8Array(100))
  await gateway.gateway.stop()
  writeFileSync(path.join(dataDir, 'lock.db'), '')
  const remove = (...names: string[]) => {
    for (const name of names)
      for (const ending of ['', '-wal', '-shm']) rmSync(path.join(dataDir, name + ending), { force: true })
  }
  return { cwd, dataDir, remove, layout: layoutOf(dataDir) }
}

const SERVE = ['serve', '--port', '0', '--json']

t.test('loss: a missing state.db is not made new by any verb', async (t) => {
  const { cwd, remove, layout } = await served(t)
  remove('state.db')
  for (const argv of [SERVE, ['init'], ['backup', 'b']]) {
    const { code, stderr } = await cli(cwd, argv)
    t.equal(code, 1, argv.join(' '))
    t.match(
      stderr,
      /^fieldgate: \/.*\/state\.db is missing, but data\.db, the bytes of models, the lock file of a gateway show that it existed: put the file back, or restore/,
      argv.join(' '),
    )
    t.notOk(existsSync(layout.stateDb), argv.join(' '))
  }
  for (const argv of [
    ['key', 'list'],
    ['sync', 'status'],
    ['model', 'list'],
  ]) {
    t.equal((await cli(cwd, argv)).code, 1, argv.join(' '))
    t.notOk(existsSync(layout.stateDb), argv.join(' '))
  }
  const doctor = await cli(cwd, ['doctor'])
  t.equal(doctor.code, 2)
  t.match(doctor.stdout, /state\.db is missing, but .*/)
})

t.test('loss: a missing data.db is not made new by any verb', async (t) => {
  const { cwd, remove, layout } = await served(t)
  remove('data.db')
  writeFileSync(path.join(cwd, 'rows.csv'), 'k\n1\n')
  for (const argv of [
    SERVE,
    ['init'],
    ['backup', 'b'],
    ['data', 'import', 'rows.csv', '--table', 'x', '--unique', 'k'],
  ]) {
    const { code, stderr } = await cli(cwd, argv)
    t.equal(code, 1, argv.join(' '))
    t.match(stderr, /data\.db is missing, but an entry in state\.db show that it existed: /, argv.join(' '))
    t.notOk(existsSync(layout.dataDb), argv.join(' '))
  }
  const doctor = await cli(cwd, ['doctor'])
  t.equal(doctor.code, 2)
  t.match(doctor.stdout, /data\.db is missing, but/)
  const accepted = await cli(cwd, ['init', '--accept-loss'])
  t.equal(accepted.code, 0, accepted.stderr)
  t.ok(existsSync(layout.dataDb))
  const running = startCli(cwd, SERVE)
  await printed(running, /ready/)
  running.signal('SIGTERM')
  t.equal((await running.ended).code, 0)
})

t.test('loss: what was there is told by logs and copies of the databases, too', async (t) => {
  const { cwd, remove, dataDir } = await served(t)
  remove('state.db', 'data.db', 'lock.db')
  rmSync(path.join(dataDir, 'models'), { recursive: true })
  mkdirSync(path.join(dataDir, 'upgrades'))
  writeFileSync(path.join(dataDir, 'upgrades/state.db.v2'), '')
  writeFileSync(path.join(dataDir, 'data.db-wal'), '')
  mkdirSync(path.join(dataDir, 'files/ab'), { recursive: true })
  writeFileSync(path.join(dataDir, 'files/ab', 'ab'.repeat(32)), 'x')
  const { stderr } = await cli(cwd, SERVE)
  t.match(stderr, /state\.db is missing, but its copy in upgrades show/)
  rmSync(path.join(dataDir, 'upgrades'), { recursive: true })
  const second = await cli(cwd, SERVE)
  t.match(second.stderr, /data\.db is missing, but its log data\.db-wal, the files of table columns show/)
})

t.test('loss: an empty directory, one with maps, and one with imported tables may begin', async (t) => {
  const cwd = t.testdir()
  mkdirSync(path.join(cwd, 'data/maps'), { recursive: true })
  writeFileSync(path.join(cwd, 'rows.csv'), 'k,start_datetime,end_datetime\n1,,\n')
  const imported = await cli(cwd, ['data', 'import', 'rows.csv', '--table', 'x', '--unique', 'k'])
  t.equal(imported.code, 0, imported.stderr)
  for (const round of [1, 2]) {
    const running = startCli(cwd, SERVE)
    await printed(running, /ready/)
    running.signal('SIGTERM')
    t.equal((await running.ended).code, 0, `round ${round}`)
  }
  rmSync(path.join(cwd, 'data/state.db'))
  t.match(
    (await cli(cwd, SERVE)).stderr,
    /state\.db is missing, but data\.db, the lock/,
    'tables are served since',
  )
})

t.test('loss: a data.db of version 0.1.0 without its state.db is refused', async (t) => {
  const dir = t.testdir()
  mkdirSync(path.join(dir, 'data'))
  const packed = readFileSync('test/fixtures/databases/0.1.0/data.db.gz')
  writeFileSync(path.join(dir, 'data/data.db'), gunzipSync(packed))
  t.match((await cli(dir, SERVE)).stderr, /state\.db is missing, but data\.db show/)
})

t.test('loss: a bulk load beside a removed data.db does not make a new one', async (t) => {
  const { layout, remove } = await served(t)
  const data = openDataDb(layout.dataDb)
  remove('data.db')
  const { openBulkWriter } = await import('../../../../src/storage/sqlite/connection/data-db.js')
  t.throws(() => openBulkWriter(layout.dataDb, 1_000_000), /data\.db is missing, but/)
  data.close()
})

t.test('loss: unfinished uploads and an unreadable data.db show a lost state.db', async (t) => {
  const dir = t.testdir({ parts: { 'x.lock': '' }, models: { ab: {}, tmp: { x: '' } } })
  t.same(tracesOf(dir, 'state.db', false), [], 'folders of bytes without bytes are no sign')
  writeFileSync(path.join(dir, 'parts/x.part'), '')
  t.same(tracesOf(dir, 'state.db', false), ['unfinished uploads'])
  writeFileSync(path.join(dir, 'data.db'), 'no database')
  t.same(tracesOf(dir, 'state.db', false), ['data.db', 'unfinished uploads'])
})

t.test('loss: a state.db that cannot be read says nothing about data.db', async (t) => {
  const dir = t.testdir({ 'state.db': 'no database', files: { quarantine: {} } })
  t.same(tracesOf(dir, 'data.db', false), ['the files of table columns'])
})
