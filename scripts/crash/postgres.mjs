import '../test/load-typescript.mjs'
import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom } from '../random.mjs'
import { readFlags, report } from './flags.mjs'
import { startPair } from './hub/pair.mjs'

/**
 * Database test: writers of a hub's storage, while the primary of PostgreSQL is killed with all of its processes and
 * its standby is promoted. Each acknowledged write must be at the new primary once, whole. `--kills 200` is the long
 * form. With `--standby 0` commits do not wait for the standby: the control, which must show losses.
 */
const flags = readFlags({ kills: 200, writers: 8, loadMs: 1000, lagMs: 50, standby: 1, seed: 1 })
const random = createRandom(flags.seed)
const { makeDatabase, noPostgres, optionsFor } = await import('../../test/support/postgres.ts')
const { openPostgres } = await import('../../src/storage/postgres/connection/database.ts')
const why = noPostgres()
if (why !== false) {
  console.log(`skipped: ${why}`)
  process.exit(0)
}

const TABLES = `CREATE SCHEMA fieldgate AUTHORIZATION fieldgate;
  CREATE TABLE fieldgate.item (id int PRIMARY KEY); CREATE TABLE fieldgate.note (id int);
  GRANT ALL ON ALL TABLES IN SCHEMA fieldgate TO fieldgate`
const facts = { kills: 0, acknowledged: 0, refused: 0, refusedButThere: 0, repeats: 0, lost: 0, doubled: 0 }
const gapsMs = []
let nextId = 0
const pair = await startPair({ isSync: flags.standby !== 0 })
const name = await makeDatabase(pair.primary)
await pair.primary.admin(TABLES, name)
await pair.waitForStandby()
try {
  for (; facts.kills < flags.kills; facts.kills++) await round()
} finally {
  await pair.remove()
}
const sorted = gapsMs.sort((a, b) => a - b)
const gap = { medianMs: Math.round(sorted[sorted.length >> 1]), maxMs: Math.round(sorted.at(-1)) }
const isControl = flags.standby === 0
const faults = []
if (facts.lost > 0 !== isControl) faults.push(`${facts.lost} acknowledged writes were lost`)
if (facts.doubled > 0) faults.push(`${facts.doubled} writes took place in part or twice`)
report('postgres', { ...facts, gap, isControl }, faults)

/** Kills the primary under writes, promotes the standby, compares, and makes a new standby. */
async function round() {
  const db = openPostgres({
    ...optionsFor(pair.hosts, name, { limits: { connections: 10, repeatMs: 10_000 } }),
    random,
    onFault: ({ message }) => {
      if (message.startsWith('repeats')) facts.repeats++
    },
  })
  const ledger = { acknowledged: [], refused: [], isDone: false, firstAfterMs: 0, killedMs: 0 }
  const writers = Array.from({ length: flags.writers }, () => write(db, ledger))
  await sleep(flags.loadMs * (0.5 + random()))
  await pair.holdLog()
  await sleep(flags.lagMs * random())
  await pair.kill()
  ledger.killedMs = performance.now()
  await pair.promote()
  while (ledger.firstAfterMs === 0) await sleep(5)
  await sleep(100)
  ledger.isDone = true
  await Promise.all(writers)
  gapsMs.push(ledger.firstAfterMs - ledger.killedMs)
  await compare(db, ledger)
  await db.close()
  await pair.renew()
}

async function write(db, ledger) {
  while (!ledger.isDone) {
    const id = ++nextId
    try {
      await db.write(async (rows, { isRepeat }) => {
        // nothing but `isRepeat` keeps the second table from a second row
        if (isRepeat && (await rows.get('SELECT 1 FROM item WHERE id = $1', id)) !== undefined) return
        await rows.run('INSERT INTO item VALUES ($1)', id)
        await rows.run('INSERT INTO note VALUES ($1)', id)
      })
      ledger.acknowledged.push(id)
      if (ledger.killedMs > 0 && ledger.firstAfterMs === 0) ledger.firstAfterMs = performance.now()
    } catch (error) {
      if (error.errorName === undefined) throw error
      ledger.refused.push(id)
    }
  }
}

async function compare(db, { acknowledged, refused }) {
  const rows = await db.read.all(
    `SELECT id, coalesce(notes, 0) AS notes
      FROM item FULL JOIN (SELECT id, count(*) AS notes FROM note GROUP BY id) AS counted USING (id)`,
  )
  const notes = new Map(rows.map((row) => [row.id, row.notes]))
  facts.acknowledged += acknowledged.length
  facts.refused += refused.length
  facts.refusedButThere += refused.filter((id) => notes.has(id)).length
  facts.lost += acknowledged.filter((id) => notes.get(id) === undefined).length
  facts.doubled += rows.filter((row) => row.notes !== 1).length
  await db.write(async (written) => {
    await written.run('DELETE FROM item')
    await written.run('DELETE FROM note')
  })
}
