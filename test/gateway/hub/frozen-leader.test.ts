import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import t, { type Test } from 'tap'
import { type HubPlace, hubCli, makeHub, noHub, startEngines } from '../../support/hub.js'
import type { TestServer } from '../../support/postgres.js'
import { workerEntry } from '../../support/worker-entry.js'

/** Starts a process of a hub that can be frozen. */
function spawnHub(t: Test, place: HubPlace, name: string) {
  const argv = ['serve', '--json', '--port', '0', '--config', place.config]
  const child = spawn(process.execPath, [workerEntry(), ...argv, '--data-dir', path.join(place.dir, name)], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text
  })
  t.teardown(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  return { log: () => log, signal: (name: NodeJS.Signals) => child.kill(name) }
}

/** Waits for at most four minutes. */
async function until(isSo: () => Promise<boolean> | boolean): Promise<void> {
  for (let tries = 0; !(await isSo()); tries++) {
    if (tries === 12_000) throw new Error(`waited in vain: ${isSo}`)
    await delay(20)
  }
}

/** Tasks of a hub that one process does at a time. */
const TASKS = 5

/** Holds back the reads of a table by a lock. @returns `isWaited`: a process waits for it; `release` */
async function lockTable(t: Test, { host, admin }: TestServer, database: string, table: string) {
  const client = new pg.Client({ ...host, user: 'postgres', password: '', database, ssl: false })
  await client.connect()
  t.teardown(() => client.end())
  await client.query(`BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`)
  const waiting = `SELECT 1 FROM pg_locks WHERE NOT granted AND relation = '${table}'::regclass`
  return {
    isWaited: async () => (await admin(waiting, database)).length > 0,
    release: () => client.query('ROLLBACK'),
  }
}

/** Notes each removal of rows of a table, by the process of the server that ran it, also one that finds no row. */
const NOTE_REMOVALS = `CREATE TABLE fieldgate.removals (client int);
  CREATE FUNCTION fieldgate.note_removal() RETURNS trigger SECURITY DEFINER LANGUAGE plpgsql AS
    $$ BEGIN INSERT INTO fieldgate.removals SELECT pg_backend_pid(); RETURN NULL; END $$;
  CREATE TRIGGER noted AFTER DELETE ON fieldgate.model FOR EACH STATEMENT EXECUTE FUNCTION fieldgate.note_removal()`

t.test(
  'hub: a process that was frozen in a task writes nothing of it once another one has it',
  {
    skip: noHub(),
  },
  async (t) => {
    const engines = await startEngines(t)
    const { admin } = engines.postgres
    const place = await makeHub(t, engines)
    await hubCli(place, 'hub', 'init', '--json')
    const { database } = place
    await admin(NOTE_REMOVALS, database)
    const ask = async <Row>(text: string) => await admin<Row>(text, database)
    const epochs = () =>
      ask<{ task: string; epoch: number }>('SELECT task, epoch::int FROM fieldgate.lease ORDER BY 1')
    const removals = async () => (await ask('SELECT 1 FROM fieldgate.removals')).length

    // the sweep of models reads unfinished uploads first, and removes rows then
    const lock = await lockTable(t, engines.postgres, database, 'fieldgate.upload')
    const frozen = spawnHub(t, place, 'one')
    await until(lock.isWaited)
    await until(async () => (await epochs()).length === TASKS)
    frozen.signal('SIGSTOP')
    await lock.release()
    await ask(`UPDATE fieldgate.lease SET ends_at = clock_timestamp()`) // as time does
    spawnHub(t, place, 'two')
    await until(async () => (await epochs()).every(({ epoch }) => epoch === 2))
    await until(async () => (await removals()) === 1)
    frozen.signal('SIGCONT')
    const isRefused = (line: string) =>
      line.includes('"task":"sweep of models"') && line.includes('Another process has this task now')
    const wasRefused = () => frozen.log().split('\n').some(isRefused)
    await until(async () => wasRefused() || (await removals()) > 1)
    t.ok(wasRefused(), frozen.log())
    t.equal(await removals(), 1, 'the rows of the sweep are those of the other process')
    t.same(
      (await epochs()).map(({ epoch }) => epoch),
      Array(TASKS).fill(2),
    )
  },
)
