import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { LOADER_PATH } from '../../../../src/gateway/apis.js'
import {
  type HubPlace,
  hubCall,
  hubCli,
  makeHub,
  noHub,
  serveHub,
  startEngines,
} from '../../../support/hub.js'
import { pairHeaders, startGateway } from '../../../support/start-gateway.js'
import { workerEntry } from '../../../support/worker-entry.js'

const skip = noHub()
const DAY_MS = 86_400_000
const RAIN = {
  ...{ data_name: 'rain', unique_columns: ['k'] },
  record_def: { k: { udt_name: 'int4' }, mm: { udt_name: 'float8', is_nullable: true } },
}
const recordAt = (k: number, ageDays: number) => ({
  ...{ type: 'Feature', geometry: null },
  properties: { k, mm: k / 2, start_datetime: new Date(Date.now() - ageDays * DAY_MS).toISOString() },
})
const records = (from: number, until: number, ageDays: number) =>
  Array.from({ length: until - from }, (_, at) => recordAt(from + at, ageDays))

/** Starts a process of a hub that can be killed. */
function spawnHub(t: Test, place: HubPlace, name: string): ChildProcess {
  const argv = ['serve', '--json', '--port', '0', '--config', place.config]
  const dir = path.join(place.dir, name)
  const child = spawn(process.execPath, [workerEntry(), ...argv, '--data-dir', dir], { stdio: 'ignore' })
  t.teardown(() => kill(child))
  return child
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await delay(20)
}

t.test('hub: rules of retention are set and listed as on a gateway, and rows go', { skip }, async (t) => {
  const place = await makeHub(t, await startEngines(t))
  const admin = pairHeaders(JSON.parse((await hubCli(place, 'hub', 'init', '--json')).stdout))
  const one = await serveHub(t, place, 'one')
  const gateway = await startGateway(t, { dataDir: path.join(place.dir, 'gateway') })
  const atHub = async (hub: typeof one, method: string, params: unknown) =>
    (await hubCall(hub, admin, LOADER_PATH, `loaderwebapi.${method}`, params)).body
  const atGateway = async (method: string, params: unknown) =>
    (await gateway.call(LOADER_PATH, `loaderwebapi.${method}`, params)).body
  const old = records(0, 600, 40)
  const young = records(1000, 1010, 1)
  /** Answers of both, apart from sizes, which are those of the engine. */
  const same = async (method: string, params: unknown) => {
    const [hub, other] = [await atHub(one, method, params), await atGateway(method, params)]
    const plain = (body: unknown) =>
      JSON.stringify(body)
        .replace(/"bytes":\d+/g, '"bytes":0')
        .replace(/"requestId":"[^"]+"/, '"requestId":""')
    t.equal(plain(hub), plain(other), `${method} ${JSON.stringify(params).slice(0, 100)}`)
    return hub.result
  }
  await same('register_loader', RAIN)
  await same('list_retention', {})
  await same('set_retention', { data_name: 'rain', max_rows: 10_000 })
  for (const record_set of [old, young]) await same('add_record', { data_name: 'rain', record_set })
  await same('set_retention', { data_name: 'nobody', age_days: 1 })
  await same('set_retention', {
    data_name: 'rain',
    thin: { after_days: 1, interval_s: 60, by: ['x'], keep: 'last' },
  })
  await same('set_retention', { data_name: 'rain', max_rows: null, drop_unsent: true, max_bytes: 10_000_000 })
  t.match(await same('list_retention', {}), [{ data_name: 'rain', rows: 610, max_bytes: 10_000_000 }])
  await atHub(one, 'set_retention', { data_name: 'rain', age_days: 30, max_bytes: null })
  const listed = await hubCli(place, 'retention', 'list')
  t.equal(listed.stderr, '')
  t.match(listed.stdout, /rain: 610 rows since .* rows go older than 30 days, also before feeds/)
  await one.stop() // the next process begins a round at once

  const two = await serveHub(t, place, 'two')
  const entry = async () => (await atHub(two, 'list_retention', {})).result[0]
  t.match(await atHub(two, 'list_retention', {}), { result: [{}] })
  await until(async () => (await entry()).removed_rows === 600)
  t.match(await entry(), { rows: 10, waiting_rows: 0, waits_for: null, fault: null })
  const metrics = async () => await (await fetch(`${two.url}/metrics`, { headers: admin })).text()
  await until(async () => (await metrics()).includes('fieldgate_retention_rows_total 600'))
  t.match(await metrics(), /fieldgate_retention_tables 1\n/)
  const cleared = await hubCli(place, 'retention', 'clear', 'rain')
  t.match(cleared, { code: 0, stdout: 'Every row of rain stays.\n' })
  t.same((await atHub(two, 'list_retention', {})).result, [])
})

t.test('hub: the process that removes rows is killed, and another one goes on', { skip }, async (t) => {
  const engines = await startEngines(t)
  const place = await makeHub(t, engines)
  const admin = pairHeaders(JSON.parse((await hubCli(place, 'hub', 'init', '--json')).stdout))
  const first = await serveHub(t, place, 'first')
  const call = async (hub: typeof first, method: string, params: unknown) => {
    const { body } = await hubCall(hub, admin, LOADER_PATH, `loaderwebapi.${method}`, params)
    if (body.error !== undefined) throw new Error(`${method}: ${JSON.stringify(body.error)}`)
    return body.result
  }
  const put = (hub: typeof first, from: number, count: number, ageDays: number) =>
    call(hub, 'add_record', { data_name: 'rain', record_set: records(from, from + count, ageDays) })
  await call(first, 'register_loader', RAIN)
  for (let from = 0; from < 30_000; from += 5000) await put(first, from, 5000, 40)
  await call(first, 'set_retention', { data_name: 'rain', age_days: 30 })
  await first.stop()

  const ask = async <Row>(text: string) => await engines.postgres.admin<Row>(text, place.database)
  const removed = async () =>
    Number((await ask<{ n: string }>('SELECT removed AS n FROM fieldgate.loader_retention'))[0]?.n)
  const leader = spawnHub(t, place, 'leader')
  await until(async () => (await removed()) > 0)
  await kill(leader)
  const midway = await removed()
  t.ok(midway < 30_000, `${midway} rows were gone`)
  await ask('UPDATE fieldgate.lease SET ends_at = clock_timestamp()') // as time does
  const second = await serveHub(t, place, 'second')
  for (let from = 50_000; from < 50_500; from += 50) await put(second, from, 50, 1)
  await until(async () => (await removed()) === 30_000)
  const [entry] = await call(second, 'list_retention', {})
  t.match(entry, { rows: 500, removed_rows: 30_000 })
  const [left] = await ask<{ n: string; first: number }>(
    `SELECT count(*) AS n, min(c3) AS first FROM fieldgate.rows_1`,
  )
  t.same(left, { n: '500', first: 50_000 }, 'no young row went, each old one once')
})
