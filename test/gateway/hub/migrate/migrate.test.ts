import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { API_PATHS, LOADER_PATH, MODEL_STORE_PATH } from '../../../../src/gateway/apis.js'
import { lockDirectory } from '../../../../src/storage/sqlite/connection/lock.js'
import { openFile } from '../../../../src/storage/sqlite/connection/open-file.js'
import { DEFINITION, FEED_SETTINGS, MAP, put, queryOf, until } from '../../../support/feeds.js'
import { ENV, stoppable } from '../../../support/fleet.js'
import {
  type Engines,
  type HubPlace,
  hubCall,
  hubCli,
  makeHub,
  noHub,
  serveHub,
  startEngines,
} from '../../../support/hub.js'
import { modelsOf, putModel } from '../../../support/models.js'
import { filesOf, recordAt } from '../../../support/moved.js'
import { pairHeaders, type TestGateway } from '../../../support/start-gateway.js'
import { workerEntry } from '../../../support/worker-entry.js'

const skip = noHub()
const SETTINGS = { ...FEED_SETTINGS, fleet: { reportS: 0.1 } }
/** Runs a verb in a process of its own: who closes a file here ends the locks that gateways of this process have on it. */
function program(argv: readonly string[]): Promise<{ code: number; stderr: string }> {
  return new Promise((resolve) => {
    const env = { ...process.env, ...ENV }
    execFile(process.execPath, [workerEntry(), ...argv], { env }, (error, _stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stderr }),
    )
  })
}

const loader = (node: TestGateway, method: string, params: unknown) =>
  node.call(LOADER_PATH, `loaderwebapi.${method}`, params)

/** A small hub with rows, overridden ones among them, models, a profile, and a gateway that has joined. */
async function makeSmallHub(t: Test, dir: string) {
  const hub = await stoppable(t, { dataDir: path.join(dir, 'small'), settings: SETTINGS })
  const truck = await stoppable(t, { dataDir: path.join(dir, 'truck'), settings: SETTINGS })
  await loader(hub.node, 'register_loader', DEFINITION)
  for (let at = 0; at < 9000; at += 1000) {
    const record_set = Array.from({ length: 1000 }, (_, k) => recordAt(at + k))
    await loader(hub.node, 'add_record', { data_name: 'seen', record_set })
  }
  const overridden = [3, 4, 8000].map((k) => ({ k, note: 'overridden' }))
  await put(hub.node, overridden)
  for (let at = 0; at < 40; at++) await putModel(hub.node, Buffer.from(`model ${at}`))
  const profile = { up: [{ table: 'stops' }], down: [{ table: 'seen' }] }
  await hub.node.call(API_PATHS.fleet, 'fleet.set_profile', { name: 'field', profile })
  const token = await hub.node.call(API_PATHS.fleet, 'fleet.create_token', { profile: 'field' })
  const argv = ['join', hub.node.url, '--token', token.body.result.text, '--name', 'truck']
  const joined = await program([...argv, '--data-dir', truck.node.dataDir])
  t.equal(joined.code, 0, joined.stderr)
  await loader(truck.node, 'register_loader', { ...DEFINITION, data_name: 'stops' })
  await loader(truck.node, 'add_record', { data_name: 'stops', record_set: [recordAt(1), recordAt(2)] })
  await addCitations(hub.node)
  await loader(hub.node, 'set_retention', { data_name: 'seen', age_days: 36_500 })
  const stopsAt = async () =>
    (await hub.node.call(MAP, 'mapserv.eventdata', [queryOf(['k'], 'stops')])).body.result
  await until(stopsAt, (found) => found?.features.length === 2)
  return { hub, truck }
}

const DATASET = API_PATHS.dataset
/** Calls whose answers must be the same at the hub. */
const READS: readonly [method: string, params: object][] = [
  ['dataset.list', {}],
  ['dataset.citation.list', { order: '-short_form' }],
  ['dataset.citation.list', { conds: { '=': ['short_form', 'second'] } }],
  ['dataset.get_columns', { dataset_label: 'sites' }],
  ['dataset.record.get', { citation_label: 'first' }],
  [
    'dataset.record.get',
    { citation_label: 'second', condition: { '>': ['level', 20] }, order: '-level', limit: 3 },
  ],
  ['dataset.record.get', { citation_label: 'rows', columns: ['k', 'note'], offset: 8990 }],
  ['dataset.record.get', { citation_label: 'rows', condition: { '=': ['note', 'overridden'] } }],
  ['dataset.record.list', { dataset_label: 'sites' }],
  ['dataset.record.count', { dataset_label: 'sites', condition: { '<': ['level', 10] } }],
  ['dataset.record.get', { citation_label: 'none' }],
]

/** A dataset that was cited before and after a change, and a citation of a table whose rows were overridden later. */
async function addCitations(node: TestGateway): Promise<void> {
  const ok = async (method: string, params: object) => {
    const { body } = await node.call(DATASET, method, params)
    if (body.error !== undefined) throw new Error(`${method}: ${JSON.stringify(body.error)}`)
    return body.result
  }
  const columns = [
    { column_name: 'name', data_type: 'text' },
    { column_name: 'level', data_type: 'integer' },
  ]
  await ok('dataset.create', { dataset_name: 'sites', columns, key_columns: ['name'] })
  const records = Array.from({ length: 50 }, (_, at) => [`site ${at}`, at])
  await ok('dataset.record.put', { dataset_name: 'sites', records })
  await ok('dataset.citation.create', { citation_label: 'first', source: 'sites' })
  await ok('dataset.record.put', { dataset_name: 'sites', records: [['site 7', 70]], on_conflict: 'update' })
  await ok('dataset.citation.create', { citation_label: 'second', source: 'sites' })
  await ok('dataset.citation.create', { citation_label: 'rows', source: 'seen' })
  await put(node, [{ k: 5, note: 'after the citation' }])
  const isDone = (found: { checksum: string | null }[]) => found.every(({ checksum }) => checksum !== null)
  await until(() => ok('dataset.citation.list', {}), isDone)
}

/** Runs the verb in a process that is killed once it has come further than the last one. */
async function runUntilProgress(
  place: HubPlace,
  engines: Engines,
  from: string,
  known: string,
): Promise<string> {
  const argv = [
    'hub',
    'migrate',
    '--from',
    from,
    '--config',
    place.config,
    '--data-dir',
    path.join(place.dir, 'verbs'),
  ]
  const child = spawn(process.execPath, [workerEntry(), ...argv], { stdio: 'ignore' })
  const ended = once(child, 'exit')
  const exit: { isOver: boolean } = { isOver: false }
  void ended.then(() => {
    exit.isOver = true
  })
  let now = known
  while (!exit.isOver && now === known) {
    now = await progressOf(engines, place)
    await sleep(2)
  }
  child.kill('SIGKILL')
  await ended
  return now
}

/** Notes rows that retention has removed, with a sum and without one. */
function noteRemovedRows(dir: string): void {
  const data = openFile(path.join(dir, 'data.db'))
  data.exec(`INSERT INTO loader_removed_day VALUES (1, 0, 20000, 3, randomblob(32)), (1, 0, 20001, 2, NULL)`)
  data.pragma('wal_checkpoint(TRUNCATE)')
  data.close()
}

/** Text that changes with each batch. */
async function progressOf({ postgres }: Engines, { database }: HubPlace): Promise<string> {
  const text = async (sql: string) => JSON.stringify(await postgres.admin(sql, database))
  const [found] = await postgres.admin<{ there: boolean }>(
    `SELECT to_regclass('fieldgate.loader_state') IS NOT NULL AND to_regclass('fieldgate.feed_cursor') IS NOT NULL AS there`,
    database,
  )
  if (found?.there !== true) return ''
  const notes = await text(`SELECT name, value FROM fieldgate.meta WHERE name LIKE 'move%' ORDER BY name`)
  return notes + (await text('SELECT table_id, last_row FROM fieldgate.loader_state ORDER BY table_id'))
}

t.test('hub migrate: a small hub goes on as one on engines, killed on the way', { skip }, async (t) => {
  const engines = await startEngines(t)
  const place = await makeHub(t, engines, { settings: { sync: { batchWaitS: 0.05 } } })
  const { hub, truck } = await makeSmallHub(t, place.dir)
  const from = hub.node.dataDir
  const port = new URL(hub.node.url).port
  const before = (await hub.node.call(MAP, 'mapserv.eventdata', [queryOf(['k', 'note', 'speed'])])).body
    .result
  const models = await modelsOf(hub.node)
  const answers: unknown[] = []
  for (const [method, params] of READS) {
    const { body } = await hub.node.call(DATASET, method, params)
    answers.push([body.result, body.error?.message])
  }
  const migrate = (...flags: string[]) => hubCli(place, 'hub', 'migrate', '--from', from, ...flags)

  // in a process of its own: locks of one process do not hold against itself
  const argv = ['hub', 'migrate', '--from', from, '--config', place.config]
  const lock = lockDirectory(path.join(from, 'lock.db')) // as `fieldgate serve` does
  const served = await program(argv)
  lock.release()
  t.equal(served.code, 1)
  t.match(served.stderr, /a gateway serves .*: stop it first/)
  await hub.stop()
  noteRemovedRows(from)
  const files = filesOf(from)
  const none = await migrate('--verify')
  t.match(none.stderr, /holds nothing of .* yet/)

  let known = ''
  let kills = 0
  for (; kills < 9; kills++) {
    const now = await runUntilProgress(place, engines, from, known)
    if (now === known) break
    known = now
    if (kills === 3) {
      const serve = await hubCli(place, 'serve', '--port', '0')
      t.match(serve.stderr, /is not done: run `fieldgate hub migrate` again/)
      const init = await hubCli(place, 'hub', 'init')
      t.match(init.stderr, /is not done/)
    }
  }
  t.ok(kills > 3, `${kills} processes were killed`)
  const done = await migrate('--json')
  t.equal(done.code, 0, done.stderr)
  const moved = JSON.parse(done.stdout)
  t.equal(moved.objects, 40)
  t.ok(moved.rows > 9000)
  const again = await migrate()
  t.equal(again.code, 0, again.stderr)
  t.match(again.stdout, /^compared \d+ rows, 40 objects and 3 citations .* counts and digests are equal/)
  t.same(filesOf(from), files, 'the directory is as it was')

  const now = await serveHub(t, place, 'one', port)
  const admin = pairHeaders(hub.node.admin)
  const eventdata = async (query: object) =>
    (await hubCall(now, admin, MAP, 'mapserv.eventdata', [query])).body.result
  t.same(await eventdata(queryOf(['k', 'note', 'speed'])), before)
  const list = await hubCall(now, admin, MODEL_STORE_PATH, 'model_store.model.get_info', {
    model_store_ddc: 'rain',
  })
  t.same(list.body.result, models)
  for (const [at, [method, params]] of READS.entries()) {
    const { body } = await hubCall(now, admin, DATASET, method, params)
    t.same([body.result, body.error?.message], answers[at], `${method} ${JSON.stringify(params)}`)
  }
  t.match(answers.at(-1), [undefined, /No citation is named/])
  const cite = { citation_label: 'more', source: 'sites' }
  const refused = await hubCall(now, admin, DATASET, 'dataset.citation.create', cite)
  t.match(refused.body, { error: { code: 11014 } })
  const ofTable = await hubCall(now, admin, DATASET, 'dataset.record.list', { dataset_label: 'seen' })
  t.match(ofTable.body, { error: { code: 11014 } })
  await loader(truck.node, 'add_record', { data_name: 'stops', record_set: [recordAt(3)] })
  const stops = await until(
    () => eventdata(queryOf(['k'], 'stops')),
    (found) => found?.features.length === 3,
  )
  t.equal(stops.features.length, 3, 'the feed of the gateway goes on')
  await hubCall(now, admin, LOADER_PATH, 'loaderwebapi.add_record', {
    data_name: 'seen',
    record_set: [recordAt(9999)],
  })
  const atTruck = async () => (await truck.node.call(MAP, 'mapserv.eventdata', [queryOf(['k'])])).body.result
  const down = await until(atTruck, (found) => found?.features.length === 9001)
  t.equal(down.features.length, 9001, 'the feed to the gateway goes on')
  const rules = await hubCall(now, admin, LOADER_PATH, 'loaderwebapi.list_retention', {})
  t.match(rules.body.result, [{ data_name: 'seen', age_days: 36_500, rows: 9001, removed_rows: 0 }])

  await t.test('refused before anything is written', async (t) => {
    const other = await makeHub(t, engines)
    t.equal((await hubCli(other, 'hub', 'init')).code, 0)
    const key = await hubCli(other, 'hub', 'migrate', '--from', from)
    t.match(key.stderr, /holds another key than .*move the other one away/)
    rmSync(path.join(other.dir, 'secret.key'))
    const taken = await hubCli(other, 'hub', 'migrate', '--from', from)
    t.match(taken.stderr, /the database holds a hub already .*choose another hub.database.schema/)

    const empty = await makeHub(t, engines)
    const into = (...flags: string[]) => hubCli(empty, 'hub', 'migrate', '--from', from, ...flags)
    const state = openFile(path.join(from, 'state.db'))
    state.exec(`INSERT INTO ingest_bus VALUES ('x', '{}', 0)`)
    state.close()
    t.match(
      (await into()).stderr,
      /no place for: 1 Modbus bus\(es\).*Nothing was written; with --leave-behind/,
    )
    const [model = ''] = Object.keys(files).filter((name) => name.startsWith('models'))
    rmSync(path.join(from, model))
    const lost = await into('--leave-behind')
    t.match(
      lost.stderr,
      /1 parts cannot be moved, nothing was written: models: found no bytes of [0-9a-f]{64}/,
    )
    t.match(
      (await hubCli(empty, 'hub', 'migrate', '--from', other.dir)).stderr,
      /is no data directory of a gateway/,
    )
    const [schema] = await engines.postgres.admin(
      `SELECT to_regnamespace('fieldgate') AS found`,
      empty.database,
    )
    t.same(schema, { found: null })
  })
})
