import { createHash, randomBytes } from 'node:crypto'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { listBackups } from '../../src/backup/manifest.js'
import { placeOf } from '../../src/backup/place.js'
import { layoutOf, makeDirectories, RESTORE_PART } from '../../src/files/layout.js'
import { lockDirectory } from '../../src/storage/sqlite/connection/lock.js'
import { MODELS, putModel } from '../support/models.js'
import { cli } from '../support/run-cli.js'
import { startGateway, type TestGateway } from '../support/start-gateway.js'

const LOADER = '/api/v1/dataloaderapi/jsonrpc'
const DATASET = '/api/v2/dataset/jsonrpc'
const PHOTO = randomBytes(5000)
const FILE = randomBytes(3000)
const PERIOD = { start_datetime: '2026-01-01T00:00:00Z', end_datetime: '2026-01-01T01:00:00Z' }
const RECORD_DEF = {
  gauge: { udt_name: 'text' },
  name: { udt_name: 'varchar', is_nullable: true },
  type: { udt_name: 'text', is_nullable: true },
  prefix: { udt_name: 'int2', is_nullable: true },
  path: { udt_name: 'varchar', is_nullable: true },
  photo: {
    udt_name: 'file',
    is_nullable: true,
    file_name_column: 'name',
    file_type_column: 'type',
    file_prefixid_column: 'prefix',
    file_pathid_column: 'path',
    file_relativepath_property: 'where',
  },
}

/** Starts a gateway with rows of every kind; returns it with functions that run command lines on it. */
async function filled(t: Test) {
  const cwd = t.testdir()
  const gateway = await startGateway(t, { dataDir: path.join(cwd, 'data') })
  await fill(gateway)
  writeFileSync(path.join(gateway.dataDir, 'maps/town.graph'), 'a map, as far as a backup is concerned')
  mkdirSync(path.join(gateway.dataDir, 'modules/risk'))
  const script = path.join(gateway.dataDir, 'modules/risk/run.sh')
  writeFileSync(script, '#!/bin/sh\n')
  chmodSync(script, 0o700)
  const run = (...argv: string[]) => cli(cwd, argv)
  const target = path.join(cwd, 'backups')
  const backup = async (...argv: string[]) => {
    const { code, stdout, stderr } = await run('backup', target, '--json', ...argv)
    if (code !== 0) throw new Error(stderr)
    return JSON.parse(stdout)
  }
  return { cwd, gateway, run, target, backup }
}

async function fill(gateway: TestGateway) {
  await call(gateway, LOADER, 'loaderwebapi.register_loader', {
    data_name: 'rain',
    record_def: RECORD_DEF,
    unique_columns: ['gauge'],
  })
  await call(gateway, LOADER, 'loaderwebapi.add_record', {
    data_name: 'rain',
    record_set: ['a', 'b'].map((gauge) => ({
      type: 'Feature',
      geometry: { type: 'Point', coordinates: [139, 35] },
      properties: { gauge, ...PERIOD, photo: FILE.toString('base64'), name: `${gauge}.jpg` },
    })),
  })
  await call(gateway, DATASET, 'dataset.create', {
    dataset_name: 'levels',
    columns: [{ column_name: 'id', data_type: 'bigint' }],
    key_columns: ['id'],
  })
  await call(gateway, DATASET, 'dataset.record.put', { dataset_name: 'levels', records: [[1], [2], [3]] })
  await call(gateway, DATASET, 'dataset.citation.create', { citation_label: 'first', source: 'levels' })
  await waitForSums(gateway)
  for (const bytes of [PHOTO, randomBytes(20_000)]) await putModel(gateway, bytes)
}

async function call(gateway: TestGateway, at: string, method: string, params: object) {
  const { body } = await gateway.call(at, method, params)
  if (body.error !== undefined) throw new Error(`${method}: ${JSON.stringify(body.error)}`)
  return body.result
}

async function waitForSums(gateway: TestGateway) {
  for (;;) {
    const list = await call(gateway, DATASET, 'dataset.citation.list', {})
    if (list.every((one: { checksum_state: string }) => one.checksum_state === 'done')) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Files below a directory: path → digest. */
function contents(dir: string): Record<string, string> {
  const entries = readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
  return Object.fromEntries(
    entries.map((file) => [
      path.relative(dir, file),
      createHash('sha256').update(readFileSync(file)).digest('hex'),
    ]),
  )
}

t.test('backup: a backup of a running gateway verifies, and restores to the same gateway', async (t) => {
  const { cwd, gateway, run, target, backup } = await filled(t)
  const made = await backup()
  t.match(made, { blobs: 5, blobsKnown: 0, lost: [], removed: [], retentionFault: null })
  const verified = JSON.parse((await run('verify', target, '--json')).stdout)
  t.match(verified, { ok: true, backups: [{ faults: [], citations: 1, blobs: 5 }] })

  const dry = await run('restore', target, '--data-dir', 'again', '--dry-run')
  t.equal(dry.code, 0, dry.stderr)
  t.match(dry.stdout, /is intact .*nothing was written/s)
  t.notOk(existsSync(path.join(cwd, 'again')), 'a dry run creates nothing')

  const restored = await run('restore', target, '--data-dir', 'again', '--json')
  t.equal(restored.code, 0, restored.stderr)
  const dir = path.join(cwd, 'again')
  const before = contents(gateway.dataDir)
  const after = contents(dir)
  const kept = Object.keys(before).filter((name) => /^(?:models|files|maps|modules|secret)/.test(name))
  t.equal(kept.length, 6)
  for (const name of kept) t.equal(after[name], before[name], name)
  t.equal(
    statSync(path.join(dir, 'modules/risk/run.sh')).mode & 0o777,
    0o700,
    'executable files stay executable',
  )
  t.notOk(existsSync(path.join(dir, RESTORE_PART)))

  const second = await startGateway(t, { dataDir: dir })
  const rows = await call(second, '/api/v2/dataset/jsonrpc', 'dataset.record.get', {
    citation_label: 'first',
  })
  t.equal(rows.length ?? rows.records?.length, 3)
  const models = await call(second, MODELS, 'model_store.model.get_info', { model_store_ddc: 'rain' })
  t.equal(models.length, 2)
  const cite = await run('cite', 'verify', '--data-dir', 'again', '--json')
  t.match(JSON.parse(cite.stdout), [{ state: 'ok' }])
})

t.test(
  'backup: a second backup copies no bytes again; --keep removes backups and their unused bytes',
  async (t) => {
    const { gateway, target, backup } = await filled(t)
    await backup()
    const again = await backup()
    t.match(again, { blobs: 5, blobsKnown: 5 })
    const [model] = await call(gateway, MODELS, 'model_store.model.get_info', { model_store_ddc: 'rain' })
    await call(gateway, MODELS, 'model_store.model.delete', { model_id: model.model_id })
    const bytes = path.join(target, 'bytes', model.model_sha256.slice(0, 2), model.model_sha256)
    t.ok(existsSync(bytes))
    const last = await backup('--keep', '1')
    t.equal(last.removed.length, 2)
    t.equal(last.blobs, 4)
    t.notOk(existsSync(bytes), 'no backup refers to it')
    const { backups, bad } = listBackups(placeOf(target))
    t.same([backups.map((one) => one.name), bad], [[last.name], []])
  },
)

t.test('backup: no bytes are removed while a backup is made; the next sweep removes them', async (t) => {
  const { gateway, run } = await filled(t)
  const { createSweepLease } = await import('../../src/storage/sqlite/connection/lease.js')
  const lease = createSweepLease(layoutOf(gateway.dataDir).leaseDb)
  const giveBack = await lease.keep()
  const also = await lease.keep() // two backups to two places
  t.equal(await lease.remove(), undefined)
  const refused = await run('vacuum')
  t.equal(refused.code, 1)
  t.match(refused.stderr, /a backup is running; run vacuum again/)
  await giveBack()
  t.equal(await lease.remove(), undefined)
  await also()
  const removing = await lease.remove()
  t.ok(removing)
  const later = lease.keep()
  await removing?.release()
  await (await later)()
})

t.test('backup: an interrupted backup is neither listed nor restored; the next one removes it', async (t) => {
  const { run, target, backup } = await filled(t)
  const { dir, name } = await backup()
  cpSync(dir, path.join(target, 'backups/00000002-20260101T000000Z.part'), { recursive: true })
  writeFileSync(path.join(target, 'tmp/half.blob'), 'x')
  t.match(JSON.parse((await run('verify', target, '--all', '--json')).stdout).backups, [{ name }])
  await backup()
  t.equal(readdirSync(path.join(target, 'backups')).filter((one) => one.endsWith('.part')).length, 0)
  t.same(readdirSync(path.join(target, 'tmp')), [])
})

t.test('verify, restore: damage is reported with its file, and nothing is restored', async (t) => {
  const { cwd, run, target, backup } = await filled(t)
  const { dir } = await backup()
  const digest = createHash('sha256').update(PHOTO).digest('hex')
  const blob = path.join(target, 'bytes', digest.slice(0, 2), digest)
  const damages: [string, () => void, RegExp][] = [
    ['other bytes', () => writeFileSync(blob, randomBytes(PHOTO.length)), /found bytes with the SHA-256/],
    ['a short file', () => writeFileSync(blob, 'x'), /found 1 bytes, expected 5000/],
    ['a missing file', () => rmSync(blob), /found no bytes, expected 5000/],
    [
      'another key file',
      () => writeFileSync(path.join(dir, 'secret.key'), 'x'),
      /secret\.key: found 1 bytes/,
    ],
  ]
  for (const [what, damage, message] of damages) {
    const whole = contents(target)
    const copies = { blob: readFileSync(blob), key: readFileSync(path.join(dir, 'secret.key')) }
    damage()
    const verified = await run('verify', target)
    t.equal(verified.code, 1, what)
    t.match(verified.stderr, message, what)
    const restored = await run('restore', target, '--data-dir', 'again')
    t.equal(restored.code, 1, what)
    t.notOk(existsSync(path.join(cwd, 'again')), `${what}: no files are left`)
    writeFileSync(blob, copies.blob)
    writeFileSync(path.join(dir, 'secret.key'), copies.key)
    t.same(contents(target), whole)
  }
  const db = path.join(dir, 'data.db')
  const bytes = readFileSync(db)
  bytes.writeUInt8(bytes.readUInt8(5000) ^ 1, 5000)
  writeFileSync(db, bytes)
  const rotten = await run('verify', target)
  t.equal(rotten.code, 1)
  t.match(rotten.stderr, /data\.db: found .* SHA-256/)
  const manifest = path.join(dir, 'manifest.json')
  writeFileSync(manifest, readFileSync(manifest, 'utf8').replace('"nodeId":"', '"nodeId":"x'))
  const changed = await run('verify', target)
  t.match(changed.stderr, /manifest\.json is damaged: found the SHA-256/)
})

t.test('restore: overwrites nothing, and starts over after an interrupted restore', async (t) => {
  const { cwd, run, target, backup } = await filled(t)
  await backup()
  const refused = await run('restore', target)
  t.equal(refused.code, 1)
  t.match(refused.stderr, /is not empty .*a restore overwrites nothing/)
  const dir = path.join(cwd, 'half')
  mkdirSync(path.join(dir, RESTORE_PART), { recursive: true })
  mkdirSync(path.join(dir, 'models/ab'), { recursive: true })
  writeFileSync(path.join(dir, 'data.db'), 'half')
  t.throws(() => makeDirectories(layoutOf(dir)), /a restore into .* was cut off/)
  const started = await run('serve', '--data-dir', dir, '--port', '0')
  t.equal(started.code, 1)
  t.match(started.stderr, /run `fieldgate restore`/)
  const again = await run('restore', target, '--data-dir', dir)
  t.equal(again.code, 0, again.stderr)
  t.equal((await run('key', 'list', '--data-dir', dir)).code, 0)
})

t.test('backup: unusable directories are refused with advice', async (t) => {
  const { cwd, gateway, run, target, backup } = await filled(t)
  mkdirSync(path.join(cwd, 'photos'))
  writeFileSync(path.join(cwd, 'photos/cat.jpg'), '')
  writeFileSync(path.join(cwd, 'file'), '')
  const cases: [string[], RegExp][] = [
    [['backup', path.join(gateway.dataDir, 'b')], /is inside the data directory/],
    [['backup', 'photos'], /holds other files \(cat\.jpg\)/],
    [['backup', 'file'], /is a file/],
    [['backup', target, '--data-dir', 'nothing'], /is not the data directory of a gateway/],
    [['verify', 'photos'], /holds no backup/],
    [['restore', 'nothing', '--data-dir', 'x'], /holds no backup/],
  ]
  for (const [argv, message] of cases) {
    const { code, stderr } = await run(...argv)
    t.equal(code, 1, argv.join(' '))
    t.match(stderr, message)
  }
  t.equal((await run('backup')).code, 2, 'neither a directory nor backup.dir')
  await backup()
  const held = lockDirectory(path.join(target, 'lock.db'))
  t.match((await run('backup', target)).stderr, /another program uses the backups/)
  t.match((await run('verify', target)).stderr, /another program uses the backups/)
  held.release()
  await cli(cwd, ['init', '--data-dir', 'other'])
  const other = await run('backup', target, '--data-dir', 'other')
  t.equal(other.code, 1)
  t.match(other.stderr, /holds backups of the node/)
})

t.test('backup: too little space is reported with both figures, and no files are left', async (t) => {
  const { cwd, run, target } = await filled(t)
  writeFileSync(
    path.join(cwd, 'edge.config.json'),
    JSON.stringify({ limits: { diskReserveBytes: Number.MAX_SAFE_INTEGER } }),
  )
  const { code, stderr } = await run('backup', target)
  t.equal(code, 1)
  t.match(stderr, /found \d+ bytes free, expected \d+, of which 9007199254740991 are the gateway's reserve/)
  t.same(readdirSync(path.join(target, 'backups')), [])
})

t.test('backup: lost bytes are listed, and taken from an earlier backup where it has them', async (t) => {
  const { gateway, backup, run, target } = await filled(t)
  const digest = createHash('sha256').update(PHOTO).digest('hex')
  const blob = path.join(gateway.dataDir, 'models', digest.slice(0, 2), digest)
  renameSync(blob, `${blob}.gone`)
  const lossy = await backup()
  t.match(lossy.lost, [{ sha256: digest, kind: 'model', reason: 'missing' }])
  t.equal((await run('verify', target)).code, 0, 'bytes lost before the backup are no fault of the backup')
  renameSync(`${blob}.gone`, blob)
  t.same((await backup()).lost, [])
  rmSync(blob)
  t.same((await backup()).lost, [], 'an earlier backup has them')
})

t.test('backup: a damaged database makes no backup, and the last good one stays', async (t) => {
  const { cwd, gateway, run, target, backup } = await filled(t)
  const good = await backup()
  await gateway.gateway.stop()
  spoilPages(layoutOf(gateway.dataDir).dataDb)
  for (const attempt of [1, 2]) {
    const { code, stderr, stdout } = await run('backup', target, '--keep', '1')
    t.equal(code, 1, `attempt ${attempt}`)
    t.match(stderr, /is damaged \(.*\): no backup was made, and none was removed; run `fieldgate doctor`/)
    t.equal(stdout, '')
    t.same(
      listBackups(placeOf(target)).backups.map((one) => one.name),
      [good.name],
    )
    t.same(readdirSync(path.join(target, 'backups')), [good.name], 'no half backup either')
  }
  const restored = await run('restore', target, '--data-dir', path.join(cwd, 'again'))
  t.equal(restored.code, 0, restored.stderr)
})

t.test('backup: a database whose first page is no database makes no backup', async (t) => {
  const { gateway, run, target, backup } = await filled(t)
  const good = await backup()
  await gateway.gateway.stop()
  const { dataDb } = layoutOf(gateway.dataDir)
  writeFileSync(dataDb, randomBytes(statSync(dataDb).size))
  const { code, stderr } = await run('backup', target, '--keep', '1')
  t.same([code, readdirSync(path.join(target, 'backups'))], [1, [good.name]], stderr)
  t.match(stderr, /data\.db/)
})

t.test(
  'backup: changed rows of a citation are listed, and the last sound backup outlives --keep',
  async (t) => {
    const { cwd, gateway, run, target, backup } = await filled(t)
    const sound = await backup()
    changeCitedRow(layoutOf(gateway.dataDir).dataDb)
    for (let made = 0; made < 3; made++) {
      const { damagedCitations } = await backup('--keep', '2')
      t.match(damagedCitations, [/^first_[\d.]+$/])
    }
    const names = listBackups(placeOf(target)).backups.map((one) => one.name)
    t.equal(names.length, 3, 'two to keep, and the last one that is sound')
    t.equal(names[0], sound.name)
    const verified = await run('verify', target, '--all')
    t.equal(verified.code, 0, verified.stderr)
    const restored = await run(
      'restore',
      target,
      '--backup',
      names[2] ?? '',
      '--data-dir',
      path.join(cwd, 'again'),
    )
    t.equal(restored.code, 0, restored.stderr)
    const doctor = JSON.parse((await run('doctor', '--json')).stdout)
    t.match(
      doctor.checks.find(({ name }: { name: string }) => name === 'backups'),
      { state: 'error', findings: [{ message: /rows of 1 citations were damaged before the last backup/ }] },
    )
  },
)

t.test('backup: bytes that decayed among the backups are found in turn, and copied again', async (t) => {
  const { run, target, backup } = await filled(t)
  await backup()
  const digest = createHash('sha256').update(PHOTO).digest('hex')
  writeFileSync(path.join(target, 'bytes', digest.slice(0, 2), digest), randomBytes(PHOTO.length))
  t.equal((await run('verify', target)).code, 1)
  for (let made = 0; made < 16; made++) await backup('--keep', '2')
  const verified = await run('verify', target, '--all')
  t.equal(verified.code, 0, verified.stderr)
})

/** Overwrites pages in the middle of a database, as a worn disk would. */
function spoilPages(file: string): void {
  const bytes = readFileSync(file)
  const pageBytes = bytes.readUInt16BE(16)
  const pages = bytes.length / pageBytes
  for (let page = 2; page < pages; page += 2) bytes.fill(0xa5, page * pageBytes, (page + 1) * pageBytes)
  writeFileSync(file, bytes)
}

/** Changes a value of a cited row behind the back of everything that would keep the former one. */
function changeCitedRow(file: string): void {
  const db = new Database(file)
  const table = db.prepare('SELECT table_name FROM dataset').pluck().get()
  db.exec(`UPDATE "${table}" SET id = 7 WHERE id = 2`)
  db.close()
}
