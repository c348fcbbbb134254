import '../test/load-typescript.mjs'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createOwner } from '../owner.mjs'
import { createRandom } from '../random.mjs'
import { readFlags, report } from './flags.mjs'

/**
 * Move of a data directory to a hub on engines (`fieldgate hub migrate`), killed on the way at random times after its
 * notes in the database have changed. At the end the verb itself compares counts and digests, and a second one with
 * `--verify` does. The data directory must be byte for byte what it was.
 */
const flags = readFlags({ rows: 100_000, models: 1000, modelBytes: 2000, citations: 10, kills: 10, seed: 1 })
const random = createRandom(flags.seed)
const owner = createOwner()
const { makeHub, noHub, startEngines } = await import('../../test/support/hub.ts')
const { fillGateway, filesOf } = await import('../../test/support/moved.ts')
const { workerEntry } = await import('../../test/support/worker-entry.ts')
const why = noHub()
if (why !== false) {
  console.log(`skipped: ${why}`)
  process.exit(0)
}

const faults = []
const facts = { rows: flags.rows, models: flags.models, citations: flags.citations, kills: 0 }
try {
  await run()
} finally {
  await owner.end()
}
report('migrate', facts, faults)

async function run() {
  const from = path.join(owner.testdir(), 'small')
  await fillGateway(from, flags)
  const files = filesOf(from)
  const engines = await startEngines(owner)
  const place = await makeHub(owner, engines)
  const argv = ['hub', 'migrate', '--json', '--from', from, '--config', place.config]
  const verb = [...argv, '--data-dir', path.join(place.dir, 'verbs')]
  const startMs = performance.now()
  for (let known = ''; facts.kills < flags.kills; facts.kills++) {
    const now = await killed(verb, engines, place, known)
    if (now === undefined) break
    known = now
  }
  const last = await ended(start(verb))
  facts.seconds = Math.round((performance.now() - startMs) / 1000)
  if (last.code !== 0) faults.push(last.text)
  else Object.assign(facts, { moved: JSON.parse(last.text) })
  const again = await ended(start([...verb, '--verify']))
  if (again.code !== 0) faults.push(again.text)
  if (facts.kills < flags.kills) faults.push(`the move was over after ${facts.kills} kills`)
  const now = filesOf(from)
  for (const name of new Set([...Object.keys(files), ...Object.keys(now)]))
    if (now[name] !== files[name]) faults.push(`the file ${name} of the data directory was changed`)
}

function start(argv) {
  return spawn(process.execPath, [workerEntry(), ...argv], { stdio: ['ignore', 'pipe', 'pipe'] })
}

async function ended(child) {
  let text = ''
  child.stdout.on('data', (chunk) => (text += chunk))
  child.stderr.on('data', (chunk) => (text += chunk))
  const [code] = await once(child, 'exit')
  return { code, text: text.trim() }
}

/** Kills the verb after its notes have changed. @returns the notes; undefined where it ended by itself */
async function killed(argv, { postgres }, { database }, known) {
  const child = start(argv)
  let isOver = false
  const over = ended(child).then(() => {
    isOver = true
  })
  let now = known
  while (!isOver && now === known) {
    await sleep(5)
    now = await notesOf(postgres, database)
  }
  // a part of the whole, so that the kills are spread over it
  const waitUntil = performance.now() + random() * (flags.rows + flags.models * 20) * 0.003
  while (!isOver && performance.now() < waitUntil) await sleep(5)
  if (isOver) return undefined
  child.kill('SIGKILL')
  await over
  return await notesOf(postgres, database)
}

async function notesOf(postgres, database) {
  const there = `SELECT to_regclass('fieldgate.feed_cursor') IS NOT NULL AND to_regclass('fieldgate.loader_state') IS NOT NULL AS yes`
  const [{ yes }] = await postgres.admin(there, database)
  if (!yes) return ''
  const notes = await postgres.admin(
    `SELECT name, value FROM fieldgate.meta WHERE name LIKE 'move%' ORDER BY name`,
    database,
  )
  const tables = await postgres.admin(
    'SELECT table_id, last_row FROM fieldgate.loader_state ORDER BY 1',
    database,
  )
  return JSON.stringify([notes, tables])
}
