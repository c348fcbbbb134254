import {
  chownSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { putModel, until } from '../support/models.js'
import { cli, startCli } from '../support/run-cli.js'
import { startGateway } from '../support/start-gateway.js'

/*
 * What start, readyz and doctor say about a data directory of which one file is damaged; `docs/reliability.md` has the same
 * table. No state is made new without a word.
 */

type Damage = 'missing' | 'truncated' | 'flipped' | 'older'

const LOADER = '/api/v1/dataloaderapi/jsonrpc'
const root = t.testdir()
const template = path.join(root, 'template')
const older = path.join(root, 'older')

t.before(async () => {
  const running = startCli(root, ['serve', '--demo', '--json', '--port', '0', '--data-dir', template])
  await until('the demo serves', () => running.stdout().includes('ready'))
  running.signal('SIGTERM')
  await running.ended
  cpSync(template, older, { recursive: true })
  const stops: (() => unknown)[] = []
  const host = { testdir: () => root, teardown: (work: () => unknown) => stops.push(work) }
  const gateway = await startGateway(host, { dataDir: template })
  for (let n = 0; n < 12; n++) await putModel(gateway, new Uint8Array(5000).fill(n))
  const record_def = { k: { udt_name: 'int4' } }
  await gateway.call(LOADER, 'loaderwebapi.register_loader', {
    data_name: 'x',
    record_def,
    unique_columns: ['k'],
  })
  for (const stop of stops) await stop()
})

/** Damages one file of a directory as a worn disk, a power cut or a hand would. */
function damageFile(dir: string, name: string, damage: Damage): void {
  const file = path.join(dir, name)
  if (damage === 'missing') rmSync(file, { recursive: true })
  else if (damage === 'truncated') truncateSync(file, Math.floor(statSync(file).size / 3))
  else if (damage === 'older') cpSync(path.join(older, name), file)
  else {
    const bytes = readFileSync(file)
    for (let at = 0; at < Math.min(bytes.length, 64); at++) bytes.writeUInt8(bytes.readUInt8(at) ^ 0x55, at)
    writeFileSync(file, bytes)
  }
}

/** First file of a directory of bytes. */
function someBlob(dir: string): string {
  const folder = readdirSync(path.join(dir, 'models')).find((name) => /^[0-9a-f]{2}$/.test(name)) ?? ''
  return path.join('models', folder, readdirSync(path.join(dir, 'models', folder))[0] ?? '')
}

/** A log with committed rows, as a killed process leaves it. */
function leaveLog(dir: string, name: string): void {
  const db = new Database(path.join(dir, name))
  db.pragma('journal_mode = WAL')
  db.pragma('wal_autocheckpoint = 0')
  db.exec(name === 'state.db' ? "INSERT INTO meta VALUES ('x', 'y')" : "INSERT INTO taken_name VALUES ('x')")
  const copies = ['-wal', ''].map(
    (ending) => [name + ending, readFileSync(path.join(dir, name + ending))] as const,
  )
  db.close()
  rmSync(path.join(dir, `${name}-shm`), { force: true })
  for (const [copy, bytes] of copies) writeFileSync(path.join(dir, copy), bytes)
}

/** A refusal of `serve`, or the parts of `/readyz` that are not ready; then the exit code of doctor and its text. */
type Row = [file: string, damage: Damage, start: RegExp | string[], code: number, text: RegExp | null]

const NOT_OPENED = /cannot be opened \(.*\): move the data directory away, restore the newest backup/
const DAMAGED = /^database: .*(?:malformed|not a database)/
const NO_KEY = /secret\.key is not a key file: restore it from a backup/
const NO_LOCK = /lock\.db is not a lock file .* remove the file/
const QUARANTINED = /^blobs: the bytes of [0-9a-f]{64} were damaged and have been quarantined/

const ROWS: readonly Row[] = [
  [
    'state.db',
    'missing',
    /state\.db is missing, but data\.db, the bytes of models/,
    2,
    /^database: .*state\.db is missing/,
  ],
  ['state.db', 'truncated', NOT_OPENED, 2, DAMAGED],
  ['state.db', 'flipped', NOT_OPENED, 2, DAMAGED],
  ['state.db', 'older', [], 1, /^blobs: .*holds 12 files that no row of state\.db refers to/],
  [
    'data.db',
    'missing',
    /data\.db is missing, but an entry in state\.db/,
    2,
    /^database: .*data\.db is missing/,
  ],
  ['data.db', 'truncated', NOT_OPENED, 2, DAMAGED],
  ['data.db', 'flipped', NOT_OPENED, 2, DAMAGED],
  ['data.db', 'older', [], 0, null],
  // SQLite takes what is whole of a log: rows behind the damage are as if they had not been committed
  ['state.db-wal', 'missing', [], 0, null],
  ['state.db-wal', 'truncated', [], 0, null],
  ['state.db-wal', 'flipped', [], 0, null],
  ['data.db-wal', 'missing', [], 0, null],
  ['data.db-wal', 'truncated', [], 0, null],
  ['data.db-wal', 'flipped', [], 0, null],
  ['secret.key', 'truncated', NO_KEY, -1, null],
  ['secret.key', 'flipped', NO_KEY, -1, null],
  ['lock.db', 'missing', [], 0, null],
  ['lock.db', 'truncated', NO_LOCK, 2, NO_LOCK],
  ['lock.db', 'flipped', NO_LOCK, 2, NO_LOCK],
  ['a blob', 'missing', [], 2, QUARANTINED],
  ['a blob', 'truncated', [], 2, QUARANTINED],
  ['a map', 'truncated', ['maps'], 2, /^maps: .*its header says/],
  ['a map', 'flipped', ['maps'], 2, /^maps: .* is not a map file/],
  ['a map', 'missing', [], 0, null],
]

t.equal(ROWS.length, 24)
for (const [file, damage, start, code, text] of ROWS) {
  t.test(`damaged state: ${file} ${damage}`, async (t) => {
    const cwd = t.testdir()
    const dir = path.join(cwd, 'data')
    cpSync(template, dir, { recursive: true })
    if (file.endsWith('-wal')) leaveLog(dir, file.slice(0, -'-wal'.length))
    if (file === 'lock.db') writeFileSync(path.join(dir, file), 'x'.repeat(600))
    const map = path.join('maps', 'demo-town.graph')
    damageFile(dir, file === 'a blob' ? someBlob(dir) : file === 'a map' ? map : file, damage)
    const before = namesOf(dir)
    const running = startCli(cwd, ['serve', '--json', '--port', '0'])
    const isOver = await endsOrServes(running)
    if (start instanceof RegExp) {
      t.ok(isOver, 'start is refused')
      t.match((await running.ended).stderr, start)
      t.same(namesOf(dir), before, 'and nothing is made new')
    } else {
      const { url } = JSON.parse(running.stdout().split('\n')[0] ?? '')
      const { parts } = (await (await fetch(`${url}/readyz`)).json()) as {
        parts: { part: string; isReady: boolean }[]
      }
      t.same(
        parts.filter(({ isReady }) => !isReady).map(({ part }) => part),
        start,
      )
      if (text === QUARANTINED)
        await until('the bytes are put aside', () => running.stderr().includes('moved to quarantine'))
      if (damage === 'older')
        await until('the sweep is over', () => file !== 'state.db' || running.stderr().includes('kept'))
      running.signal('SIGTERM')
      await running.ended
    }
    if (code === -1) return // the checks of the key file have tests of their own
    const doctor = await cli(cwd, ['doctor', '--offline', '--json'])
    t.equal(doctor.code, code, doctor.stdout)
    const findings = (JSON.parse(doctor.stdout).checks as Check[]).flatMap(({ name, findings: found }) =>
      found
        .filter(({ state }) => state !== 'ok')
        .map(({ message, advice }) => `${name}: ${message}: ${advice}`),
    )
    if (text !== null)
      t.ok(
        findings.some((line) => text.test(line) || text.test(line.slice(line.indexOf(': ') + 2))),
        findings.join('\n'),
      )
  })
}

const isRoot = process.geteuid?.() === 0

for (const file of ['state.db', 'data.db', 'secret.key']) {
  t.test(
    `damaged state: ${file} of another owner`,
    { skip: isRoot ? false : 'only root may give files away' },
    async (t) => {
      const cwd = t.testdir()
      cpSync(template, path.join(cwd, 'data'), { recursive: true })
      chownSync(path.join(cwd, 'data', file), 12_345, 12_345)
      const { code, stdout } = await cli(cwd, ['doctor', '--offline'])
      t.equal(code, 2)
      t.match(stdout, new RegExp(`${file.replace('.', '\\.')} belongs to user 12345, expected user 0.*`))
    },
  )
}

for (const damage of ['missing', 'truncated', 'flipped'] as const) {
  t.test(
    `damaged state: a backup ${damage}: verify and restore refuse, the next backup goes on`,
    async (t) => {
      const cwd = t.testdir()
      cpSync(template, path.join(cwd, 'data'), { recursive: true })
      const made = JSON.parse((await cli(cwd, ['backup', 'b', '--json'])).stdout) as { dir: string }
      damageFile(made.dir, 'data.db', damage)
      const verified = await cli(cwd, ['verify', 'b'])
      t.equal(verified.code, 1)
      t.match(verified.stderr, /data\.db/)
      const restored = await cli(cwd, ['restore', 'b', '--data-dir', 'again'])
      t.equal(restored.code, 1)
      t.notOk(existsSync(path.join(cwd, 'again')))
      t.equal((await cli(cwd, ['backup', 'b'])).code, 0)
      t.equal((await cli(cwd, ['verify', 'b'])).code, 0)
    },
  )
}

interface Check {
  name: string
  findings: { state: string; message: string; advice: string | null }[]
}

/** Names in a data directory, without the lock that each start makes. */
function namesOf(dir: string): string[] {
  return readdirSync(dir).filter((name) => !/^lock\.db|-shm$|-wal$/.test(name))
}

/** Waits until `serve` answers, or has ended. @returns true when it has ended */
async function endsOrServes(running: ReturnType<typeof startCli>): Promise<boolean> {
  let isOver = false
  void running.ended.then(() => {
    isOver = true
  })
  await until('it serves or ends', () => isOver || running.stdout().includes('ready'))
  return isOver
}
