import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { LOADER } from '../api-paths.mjs'
import { hasMosquitto, startBroker } from '../mqtt/broker.mjs'
import { publishAll } from '../mqtt/sensor.mjs'
import { createRandom } from '../random.mjs'
import { readFlags, report } from './flags.mjs'
import { createNode, freePort, makeWorkspace } from './node.mjs'

/**
 * Messages of a real Mosquitto while the gateway is killed by SIGKILL and the broker ended by SIGTERM, at random
 * instants: each message has its row, once. `--messages 200000 --kills 50 --stops 10` is the long form.
 */
const flags = readFlags({
  messages: 200_000,
  qos: 1,
  kills: 50,
  stops: 10,
  topics: 100,
  seed: 1,
  version: 5,
  gapMs: 500,
})
if (!hasMosquitto()) {
  console.log('mqtt: skipped: mosquitto is not installed')
  process.exit(0)
}
const random = createRandom(flags.seed)
const workspace = makeWorkspace('mqtt')
const brokerPort = await freePort()
const broker = await startBroker(workspace.dir, brokerPort)
const map = {
  filter: 'farm/+/rain',
  qos: flags.qos,
  table: 'rain',
  columns: { mm: 'mm' },
  topicColumns: { gauge: 2 },
  time: { path: 't' },
}
const brokers = [
  { name: 'mosquitto', url: `mqtt://127.0.0.1:${brokerPort}`, version: flags.version, maps: [map] },
]
const node = await createNode(workspace, 'edge', {
  FIELDGATE_INGEST__MQTT__BROKERS: JSON.stringify(brokers),
  FIELDGATE_INGEST__MQTT__RETRY_CAP_S: '0.5',
})
await node.start()
await node.rpc(LOADER, 'loaderwebapi.register_loader', {
  data_name: 'rain',
  record_def: { gauge: { udt_name: 'varchar', length: 20 }, mm: { udt_name: 'int8' } },
  unique_columns: ['gauge', 'start_datetime'],
})
while ((await metric('fieldgate_ingest_subscriptions')) !== 1) await sleep(100)

const startedAt = performance.now()
const acts = plan()
/** messages of each act: most acts come while some are on their way */
const share = Math.ceil(flags.messages / (acts.length + 1))
const sensor = publishAll(brokerPort, messages(), { released: share + 1 })
const done = { kills: 0, stops: 0 }
for (const act of acts) {
  await sleep(flags.gapMs * random())
  if (act === 'kill') {
    await node.kill('SIGKILL')
    await node.start()
    done.kills++
  } else {
    await broker.restart(100 * random())
    done.stops++
  }
  sensor.release(share)
  if ((done.kills + done.stops) % 10 === 0)
    console.error(
      `${done.kills} kills, ${done.stops} stops, ${sensor.acknowledged()} published, ${countRows()} rows`,
    )
}
await sensor.done
let rows = countRows()
for (let still = 0; rows < flags.messages && still < 100; ) {
  await sleep(200)
  const now = countRows()
  still = now === rows ? still + 1 : 0
  rows = now
}
const faults = judge()
const figures = {
  repeats: await metric('fieldgate_ingest_repeats_total'),
  seconds: Math.round((performance.now() - startedAt) / 1000),
}
await node.kill('SIGTERM')
await broker.end()
report(
  'mqtt',
  { qos: flags.qos, version: flags.version, messages: flags.messages, rows, ...done, ...figures },
  faults,
)

/** Kills and stops in a random order. */
function plan() {
  const acts = [...Array(flags.kills).fill('kill'), ...Array(flags.stops).fill('stop')]
  return acts
    .map((act) => [random(), act])
    .sort(([a], [b]) => a - b)
    .map(([, act]) => act)
}

function* messages() {
  for (let number = 0; number < flags.messages; number++) {
    const payload = JSON.stringify({ mm: number, t: 1_700_000_000 + Math.floor(number / flags.topics) })
    yield { topic: `farm/g${number % flags.topics}/rain`, payload, qos: flags.qos }
  }
}

/** Compares the numbers of the rows with those that were sent. */
function judge() {
  const rejects = countRejects()
  const found = new Uint8Array(flags.messages)
  const db = new Database(path.join(node.dataDir, 'data.db'), { readonly: true })
  for (const number of db.prepare('SELECT mm FROM rain_tbl_0').pluck().iterate()) found[number]++
  db.close()
  const missing = found.reduce((sum, count) => sum + (count === 0 ? 1 : 0), 0)
  const twice = found.reduce((sum, count) => sum + (count > 1 ? 1 : 0), 0)
  return [
    ...(missing > 0 ? [`${missing} messages have no row`] : []),
    ...(twice > 0 ? [`${twice} messages have more than one row`] : []),
    ...(rejects > 0 ? [`${rejects} messages were rejected`] : []),
  ]
}

/** Rejects of all starts. */
function countRejects() {
  const db = new Database(path.join(node.dataDir, 'state.db'), { readonly: true })
  try {
    return db.prepare('SELECT count(*) FROM ingest_reject').pluck().get()
  } finally {
    db.close()
  }
}

/** Rows on disk, read beside the gateway. */
function countRows() {
  const db = new Database(path.join(node.dataDir, 'data.db'), { readonly: true })
  try {
    return db.prepare('SELECT count(*) FROM rain_tbl_0').pluck().get()
  } finally {
    db.close()
  }
}

async function metric(name) {
  const text = await (await fetch(`${node.url}/metrics`, { headers: node.headers })).text()
  const values = [...text.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, 'gm'))]
  return values.reduce((sum, [, value]) => sum + Number(value), 0)
}
