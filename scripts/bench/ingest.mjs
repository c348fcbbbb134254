// MQTT: messages of QoS 1 through a real Mosquitto into a table, from 1, 10 and 1,000 topics, with the settings of an
// installation; beside it bare inserts into the same table, committed in groups of as many rows.
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { freePort } from '../crash/node.mjs'
import { hasMosquitto, startBroker } from '../mqtt/broker.mjs'
import { publishAll } from '../mqtt/sensor.mjs'
import { UNIT_ENV } from '../node-flags.mjs'
import { startGateway } from './gateway.mjs'
import { register, verdict, watchRss } from './loader.mjs'

const MESSAGES = Number(process.env.BENCH_MESSAGES ?? 20_000)
const TOPICS = [1, 10, 1000]
/** Rows of a group at most, the default of `ingest.mqtt.groupRows`. */
const GROUP_ROWS = 100
const ASKED = { growthMb: 40 }
const TABLES = { gauge: { udt_name: 'varchar', length: 20 }, mm: { udt_name: 'int8' } }
const FIRST_S = 1_700_000_000

export async function run() {
  if (!hasMosquitto()) {
    console.log('ingest: skipped: mosquitto is not installed')
    return
  }
  const dir = mkdtempSync(path.join(os.tmpdir(), 'fieldgate-bench-'))
  const broker = await startBroker(dir, await freePort())
  const env = { ...UNIT_ENV, FIELDGATE_LOG__LEVEL: 'error', ...settingsOf(broker.port) }
  const gateway = await startGateway({ isLimited: true, env })
  try {
    for (const topics of TOPICS) await register(gateway, `rain${topics}`, ['gauge', 'start_datetime'], TABLES)
    while ((await gateway.metrics()).sum('fieldgate_ingest_subscriptions') !== TOPICS.length) await sleep(100)
    await measure(gateway, broker.port, dir)
  } finally {
    await gateway.stop()
    await broker.end()
    rmSync(dir, { recursive: true, force: true })
  }
}

async function measure(gateway, port, dir) {
  const bareBefore = bareInsert(gateway, dir)
  const idleMb = gateway.rssMb()
  const watch = watchRss(gateway)
  console.log(`RSS of the idle gateway ${idleMb.toFixed(0)} MB`)
  for (const topics of TOPICS) {
    const perS = await benchTopics(gateway, port, topics)
    console.log(
      `${MESSAGES} messages of ${topics} topics: ${perS.toFixed(0)} rows/s, RSS ${gateway.rssMb().toFixed(0)} MB`,
    )
  }
  const growthMb = (await watch.stop()) - idleMb
  await judge(gateway)
  const bareAfter = bareInsert(gateway, dir)
  console.log(
    `bare prepared insert, ${GROUP_ROWS} rows a commit, same table and unique index: ${bareBefore.toFixed(0)} rows/s before, ${bareAfter.toFixed(0)} after`,
  )
  verdict('RSS growth, MB', growthMb, '<', ASKED.growthMb)
}

/** One broker with a map, and a table, for each number of topics. */
function settingsOf(port) {
  const maps = TOPICS.map((topics) => ({
    filter: `farm${topics}/+/rain`,
    table: `rain${topics}`,
    columns: { mm: 'mm' },
    topicColumns: { gauge: 2 },
    time: { path: 't' },
  }))
  const brokers = [{ name: 'mosquitto', url: `mqtt://127.0.0.1:${port}`, maps }]
  return { FIELDGATE_INGEST__MQTT__BROKERS: JSON.stringify(brokers) }
}

/** Rows a second, from the first message at the broker to the last row on disk; sensor and broker share the cores. */
async function benchTopics(gateway, port, topics) {
  const db = new Database(path.join(gateway.dataDir, 'data.db'), { readonly: true })
  const count = db.prepare(`SELECT count(*) FROM rain${topics}_tbl_0`).pluck()
  try {
    const startedAt = performance.now()
    await publishAll(port, messages(topics), { clientId: `sensor${topics}` }).done
    while (count.get() < MESSAGES) await sleep(10)
    return MESSAGES / ((performance.now() - startedAt) / 1000)
  } finally {
    db.close()
  }
}

function* messages(topics) {
  for (let number = 0; number < MESSAGES; number++) {
    const { gauge, mm, t } = readingOf(number, topics)
    yield { topic: `farm${topics}/${gauge}/rain`, payload: JSON.stringify({ mm, t }), qos: 1 }
  }
}

function readingOf(number, topics) {
  return { gauge: `g${number % topics}`, mm: number, t: FIRST_S + Math.floor(number / topics) }
}

/** @throws Error when a message was refused, or came as two rows */
async function judge(gateway) {
  const page = await gateway.metrics()
  const [rows, rejects] = [
    page.sum('fieldgate_ingest_rows_total'),
    page.sum('fieldgate_ingest_rejects_total'),
  ]
  if (rejects > 0 || rows - page.sum('fieldgate_ingest_repeats_total') !== TOPICS.length * MESSAGES)
    throw new Error(`found ${rows} rows and ${rejects} rejects, expected ${TOPICS.length * MESSAGES} and 0`)
}

/** The gateway's own table in another file, filled with a kept statement, each group on disk before the next. Rows a second. */
function bareInsert(gateway, dir) {
  const source = new Database(path.join(gateway.dataDir, 'data.db'), { readonly: true })
  const ddl = source
    .prepare(
      "SELECT sql FROM sqlite_schema WHERE name IN ('rain10_tbl_0', 'rain10_tbl_0_key') ORDER BY type DESC",
    )
    .pluck()
    .all()
  source.close()
  const file = path.join(dir, 'bare.db')
  const db = new Database(file)
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = FULL')
  for (const sql of ddl) db.exec(sql)
  const insert = db.prepare('INSERT INTO rain10_tbl_0 (start_datetime, gauge, mm) VALUES (?, ?, ?)')
  const write = db.transaction((rows) => {
    for (const { gauge, mm, t } of rows) insert.run(BigInt(t) * 1_000_000n, gauge, mm)
  })
  const startedAt = performance.now()
  for (let from = 0; from < MESSAGES; from += GROUP_ROWS) {
    const length = Math.min(GROUP_ROWS, MESSAGES - from)
    write.immediate(Array.from({ length }, (_, at) => readingOf(from + at, 10)))
  }
  const seconds = (performance.now() - startedAt) / 1000
  db.close()
  for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true })
  return MESSAGES / seconds
}
