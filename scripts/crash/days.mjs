import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, statfsSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { DATASET, LOADER, SYNC } from '../api-paths.mjs'
import { createRandom } from '../random.mjs'
import { readFlags, report } from './flags.mjs'
import { ownMounts } from './mounts.mjs'
import { createNode, makeWorkspace } from './node.mjs'

/**
 * Months on a small disk in minutes: a gateway with 200 MB of disk takes events without end, sends them to a hub that is away
 * for weeks, summarises and removes old rows, has its states cited, and is killed at random instants. The clock of both runs
 * faster (libfaketime). In the end the hub has each acknowledged event once, the disk was never full, citations read as they
 * did, and no reading is lost between a table and its summary. Needs root for the mount, and libfaketime.
 */
const flags = readFlags({ days: 90, seconds: 900, perSecond: 1500, megabytes: 200, kills: 10, seed: 1 })
const ARCH = process.arch === 'arm64' ? 'aarch64' : 'x86_64'
const FAKETIME = `/usr/lib/${ARCH}-linux-gnu/faketime/libfaketimeMT.so.1`
if (process.getuid() !== 0 || !existsSync(FAKETIME)) {
  console.log(JSON.stringify({ test: 'days', skipped: 'it needs root for a mount, and libfaketime' }))
  process.exit(0)
}
ownMounts()
const random = createRandom(flags.seed)
const workspace = makeWorkspace('days')
const dataDir = path.join(workspace.dir, 'disk')
mkdirSync(dataDir)
run('mount', '-t', 'tmpfs', '-o', `size=${flags.megabytes}m,mode=700`, 'tmpfs', dataDir)

const FASTER = (flags.days * 86_400) / flags.seconds
const beganAt = Date.now()
const simMs = () => beganAt + (Date.now() - beganAt) * FASTER
const faults = []
const expect = (isSo, what) => {
  if (!isSo) faults.push(what)
}
/** Environment of a start: the clock goes on where that of the test is. */
const clock = { FAKETIME_DONT_FAKE_MONOTONIC: '1', LD_PRELOAD: FAKETIME }
const RESERVE = 8_000_000
const edgeEnv = {
  ...clock,
  FIELDGATE_LIMITS__DISK_RESERVE_BYTES: String(RESERVE),
  FIELDGATE_RETENTION__MIN_FREE_BYTES: '20000000',
  FIELDGATE_RETENTION__GIVE_FIRST: '["alarms"]',
  FIELDGATE_SYNC__RETRY_CAP_S: '2',
}
const hubEnv = { ...clock }
const edge = await createNode(workspace, 'edge', edgeEnv, dataDir)
const hub = await createNode(workspace, 'hub', hubEnv)
/** when the gateway was ready last, and how long after it calls are timed */
let startedAtMs = 0
const SETTLED_MS = 3000
const startNode = async (node, env) => {
  env.FAKETIME = `@${new Date(simMs()).toISOString().replace('T', ' ').slice(0, 19)} x${FASTER}`
  env.TZ = 'UTC'
  await node.start()
  if (node === edge) startedAtMs = performance.now()
}
await startNode(hub, hubEnv)
await startNode(edge, edgeEnv)

const COLUMNS = {
  seq: { udt_name: 'int8', is_nullable: false },
  sensor: { udt_name: 'varchar', length: 10, is_nullable: false },
  value: { udt_name: 'int4', is_nullable: false },
}
const TABLES = { events: 0.75, levels: 0.2, alarms: 0.05 }
for (const data_name of Object.keys(TABLES))
  await edge.rpc(LOADER, 'loaderwebapi.register_loader', {
    ...{ data_name, record_def: COLUMNS, unique_columns: ['seq', 'sensor'] },
  })
const rule = (data_name, more) => edge.rpc(LOADER, 'loaderwebapi.set_retention', { data_name, ...more })
await rule('events', { age_days: flags.days * 0.2 })
const thin = { after_days: flags.days * 0.02, interval_s: 21_600, by: ['sensor'], into: 'levels_6h' }
await rule('levels', { thin })
await rule('alarms', { max_rows: 20_000 })
await edge.rpc(SYNC, 'sync.create_upstream', {
  ...{ name: 'hub', endpoint: hub.url, apikey: hub.apiKey, secret: hub.secret },
})
await edge.rpc(SYNC, 'sync.create_feed', { table: 'events', upstream: 'hub', from: 'all' })

/** acknowledged rows by table */
const acked = { events: 0, levels: 0, alarms: 0 }
let levelSum = 0
const sent = { events: 0, levels: 0, alarms: 0 }
const disk = { leastFree: Infinity, mostUsed: 0 }
const probes = []
const citations = []
let isOver = false
let refused = 0

const work = [
  write('events', 1),
  write('levels', 1),
  write('alarms', 1),
  watchDisk(),
  probe(),
  killSometimes(),
  cutHub(),
  cite(),
]
const endAt = Date.now() + flags.seconds * 1000
while (Date.now() < endAt) {
  await sleep(Math.min(30_000, endAt - Date.now()))
  tell()
}
isOver = true
await Promise.all(work)
await judge()
await edge.kill('SIGTERM')
await hub.kill('SIGTERM')
run('umount', dataDir)
probes.sort((a, b) => a - b)
report(
  'days',
  {
    ...{ days: flags.days, seconds: flags.seconds, kills: flags.kills, refused },
    events: acked.events,
    levels: acked.levels,
    alarms: acked.alarms,
    leastFreeMb: Math.round(disk.leastFree / 1e5) / 10,
    citations: citations.length,
    p99Ms: Math.round((probes[Math.floor(probes.length * 0.99)] ?? 0) * 10) / 10,
  },
  faults,
)

/** Puts batches until the end; one that was not answered is put again, as by a client that must not lose it. */
async function write(table, batches) {
  const perSecond = flags.perSecond * TABLES[table]
  const rows = Math.max(5, Math.min(200, Math.round(perSecond / 10)))
  const gapMs = (1000 * rows * batches) / perSecond
  for (let next = Date.now(); !isOver; next += gapMs) {
    await sleep(Math.max(0, next - Date.now()))
    const at = new Date(simMs()).toISOString()
    const record_set = Array.from({ length: rows }, () => {
      const seq = sent[table]++
      const geometry = { type: 'Point', coordinates: [139 + (seq % 97) / 97, 35 + (seq % 89) / 89] }
      const properties = { seq, sensor: `s${seq % 20}`, value: seq % 1000, start_datetime: at }
      return { type: 'Feature', geometry, properties }
    })
    const values = record_set.reduce((sum, { properties }) => sum + properties.value, 0)
    for (;;) {
      try {
        await edge.rpc(LOADER, 'loaderwebapi.add_record', { data_name: table, record_set, options: {} })
        break
      } catch (error) {
        if (error.rpc?.data?.name === 'DISK_FULL' || error.rpc?.data?.name === 'INVALID_PARAMS') {
          refused++
          expect(false, `${table}: ${error.message}`)
        }
        await sleep(100)
      }
    }
    acked[table] += rows
    if (table === 'levels') levelSum += values
  }
}

async function watchDisk() {
  for (; !isOver; await sleep(200)) {
    const { bavail, bsize } = statfsSync(dataDir)
    disk.leastFree = Math.min(disk.leastFree, bavail * bsize)
  }
  expect(disk.leastFree > RESERVE, `the disk had ${disk.leastFree} bytes left, expected more than ${RESERVE}`)
}

/** Reads some rows again and again. */
async function probe() {
  const params = {
    type: 'Feature',
    geometry: null,
    properties: { table: 'alarms', limit: 20 },
  }
  for (; !isOver; await sleep(25)) {
    const startMs = performance.now()
    const isDone = await edge.rpc('/api/v1/svcapi/jsonrpc', 'mapserv.eventdata', params).then(
      () => true,
      (error) => {
        expect(isAway(error), error.message)
        return false
      },
    )
    if (isDone && performance.now() - startedAtMs > SETTLED_MS) probes.push(performance.now() - startMs)
  }
}

async function killSometimes() {
  for (let kill = 0; kill < flags.kills; kill++) {
    await untilShare((kill + random()) / flags.kills)
    if (isOver) return
    startedAtMs = Infinity
    await edge.kill('SIGKILL')
    await startNode(edge, edgeEnv)
  }
}

/** The hub is away for some days now and then, and once for longer than rows may stay. */
async function cutHub() {
  const cuts = [
    [0.05, 0.08],
    [0.15, 0.42], // 24 of 90 days: longer than the age of events
    [0.6, 0.65],
    [0.8, 0.85],
  ]
  for (const [from, until] of cuts) {
    await untilShare(from)
    if (isOver) return
    await hub.kill('SIGKILL')
    await untilShare(until)
    await startNode(hub, hubEnv)
  }
}

async function cite() {
  for (let share = 0.1; share < 1; share += 0.1) {
    await untilShare(share)
    if (isOver) return
    for (;;) {
      try {
        const { long_form: label } = await edge.rpc(DATASET, 'dataset.citation.create', {
          ...{ citation_label: 'alarms', source: 'alarms' },
        })
        citations.push({ label, rows: await citedRows(label) })
        break
      } catch (error) {
        if (!isAway(error)) throw error
        await sleep(500) // it is being killed
      }
    }
  }
}

/** True for a gateway that was killed, or that starts. */
function isAway({ rpc }) {
  return rpc === undefined || rpc.data.name === 'UNAVAILABLE'
}

/** Returns number and sum of the rows of a citation. */
async function citedRows(label) {
  const rows = await edge.rpc(DATASET, 'dataset.record.get', {
    ...{ citation_label: label, columns: ['seq'] },
  })
  const seqs = rows.map(({ seq }) => Number(seq))
  return { count: seqs.length, sum: seqs.reduce((sum, seq) => sum + seq, 0) }
}

async function untilShare(share) {
  const at = beganAt + share * flags.seconds * 1000
  while (Date.now() < at && !isOver) await sleep(Math.min(500, Math.max(1, at - Date.now())))
}

async function judge() {
  const [feed] = await edge.rpc(SYNC, 'sync.list_feeds', {})
  const waitUntil = Date.now() + 120_000
  let behind = 1
  while (behind > 0 && Date.now() < waitUntil) {
    await sleep(500)
    behind = (await edge.rpc(SYNC, 'sync.list_feeds', {}))[0].rows_behind
  }
  expect(behind === 0, `${behind} events are not sent`)
  const { removed_rows: removed, unsent_rows: dropped } = await removedEvents()
  expect(removed > 0, 'no event went')
  expect(dropped === 0, `${dropped} events went before they were sent`)
  const verified = await edge.rpc(SYNC, 'sync.verify', { feed: feed.feed })
  expect(
    verified.equal && verified.removed_days.length === 0,
    `verify: ${JSON.stringify(verified).slice(0, 300)}`,
  )
  for (const { label, rows } of citations) {
    const now = await citedRows(label)
    const isSame = now.count === rows.count && now.sum === rows.sum
    expect(isSame, `${label}: found ${now.count} rows, expected ${rows.count}`)
  }
  const here = new Database(path.join(dataDir, 'data.db'), { readonly: true })
  const there = new Database(path.join(hub.dataDir, 'data.db'), { readonly: true })
  const one = (db, sql) => db.prepare(sql).get()
  const events = one(
    there,
    'SELECT count(*) AS n, count(DISTINCT seq) AS seqs, max(seq) AS last FROM events_tbl_0',
  )
  expect(
    events.n === acked.events && events.seqs === acked.events && events.last === acked.events - 1,
    `the hub has ${JSON.stringify(events)}, expected ${acked.events} events`,
  )
  const left = one(here, 'SELECT count(*) AS n, coalesce(sum(value), 0) AS total FROM levels_tbl_0')
  const summed = one(
    here,
    'SELECT coalesce(sum(row_count), 0) AS n, coalesce(sum(value_mean * value_count), 0) AS total FROM levels_6h_tbl_0',
  )
  expect(left.n + summed.n === acked.levels, `levels: ${left.n} + ${summed.n} rows, expected ${acked.levels}`)
  const total = left.total + summed.total
  expect(Math.abs(total - levelSum) < 1, `levels: the values add up to ${total}, expected ${levelSum}`)
  expect(summed.n > 0, 'no level was summarised')
  here.close()
  there.close()
}

/**
 * Returns what has become of old events; short runs end before the first of them goes, and on a machine that is busy with
 * other work it goes late.
 */
async function removedEvents() {
  const endMs = Date.now() + 240_000
  for (;;) {
    const list = await edge.rpc(LOADER, 'loaderwebapi.list_retention', {})
    const found = list.find(({ data_name }) => data_name === 'events')
    if (found.removed_rows > 0 || Date.now() > endMs) return found
    await sleep(1000)
  }
}

function tell() {
  const done = Math.round((100 * (Date.now() - beganAt)) / 1000 / flags.seconds)
  console.error(
    `${done} %: ${acked.events} events, ${citations.length} citations, least free ${Math.round(disk.leastFree / 1e6)} MB`,
  )
}

function run(...command) {
  const { status, stderr } = spawnSync(command[0], command.slice(1), { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command.join(' ')}: ${stderr}`)
}
