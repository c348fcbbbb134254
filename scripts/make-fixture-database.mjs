import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { FL, MODELS } from './api-paths.mjs'
import { createModelBytes, put } from './crash/models.mjs'
import { createNode, makeWorkspace, runVerb } from './crash/node.mjs'

/**
 * Keeps the databases of a released version as test/fixtures/databases/<version>: `node scripts/make-fixture-database.mjs`
 * after `npm run build`, once, when a version is released. `test/storage/sqlite/released.test.ts` migrates every one of them with
 * the program as it is, so a fixture of an older version cannot be made again.
 */
const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
const folder = path.join('test/fixtures/databases', version)
const LOADER = '/api/v1/dataloaderapi/jsonrpc'
const DATASET = '/api/v2/dataset/jsonrpc'
const workspace = makeWorkspace('fixture')
const node = await createNode(workspace, 'node')
await node.start()
await fillTables()
await fillDatasets()
await fillModels()
await node.rpc('/api/v1/session/jsonrpc', 'session.open_session', {})
for (const words of [
  ['create', '--name', 'meter', '--scope', 'loader:write', '--expires-in', '90d'],
  ['rotate', 'meter'],
  ['create', '--name', 'old', '--scope', 'map:read'],
  ['revoke', 'old'],
])
  runVerb(workspace, ['key', ...words, '--data-dir', node.dataDir])
await node.kill('SIGTERM')
const verified = JSON.parse(runVerb(workspace, ['cite', 'verify', '--json', '--data-dir', node.dataDir]))
const facts = JSON.parse(
  runVerb(workspace, [
    'support',
    '--offline',
    '--json',
    '-o',
    path.join(workspace.dir, 's.tgz'),
    '--data-dir',
    node.dataDir,
  ]),
)
if (facts.files.length === 0 || verified.some(({ state }) => state !== 'ok'))
  throw new Error(JSON.stringify(verified))
mkdirSync(folder, { recursive: true })
const { default: Database } = await import('better-sqlite3')
const expected = {}
for (const name of ['state.db', 'data.db']) {
  const file = path.join(node.dataDir, name)
  const db = new Database(file)
  db.pragma('journal_mode = DELETE')
  const tables = db
    .prepare(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'sqlite_*' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name",
    )
    .pluck()
    .all()
  expected[name] = {
    schemaVersion: db.pragma('user_version', { simple: true }),
    rows: Object.fromEntries(
      tables.map((table) => [table, db.prepare(`SELECT count(*) FROM "${table}"`).pluck().get()]),
    ),
  }
  db.close()
  writeFileSync(path.join(folder, `${name}.gz`), gzipSync(readFileSync(file), { level: 9 }))
}
const citations = Object.fromEntries(verified.map(({ long_form, checksum }) => [long_form, checksum]))
writeFileSync(
  path.join(folder, 'expected.json'),
  `${JSON.stringify({ databases: expected, citations }, null, 2)}\n`,
)
console.log(folder)

async function fillTables() {
  await node.rpc(LOADER, 'loaderwebapi.register_loader', {
    data_name: 'rain',
    record_def: {
      gauge: { udt_name: 'varchar', length: 20 },
      mm: { udt_name: 'float8', is_nullable: true },
      area: { udt_name: 'geometry', is_nullable: true },
    },
    unique_columns: ['gauge', 'start_datetime'],
  })
  await addRain(0, 20)
  await node.rpc(DATASET, 'dataset.citation.create', { citation_label: 'rain-then', source: 'rain' })
  await addRain(10, 30) // overridden rows have a history from here on
}

async function addRain(from, to) {
  const record_set = Array.from({ length: to - from }, (_, i) => ({
    type: 'Feature',
    geometry: { type: 'Point', coordinates: [139 + (from + i) / 100, 35.5] },
    properties: {
      gauge: `g${from + i}`,
      mm: 1.25,
      start_datetime: '2026-01-01T00:00:00Z',
      end_datetime: '2026-01-01T01:00:00Z',
    },
  }))
  await node.rpc(LOADER, 'loaderwebapi.add_record', {
    data_name: 'rain',
    record_set,
    options: { if_exists: 'override' },
  })
}

async function fillDatasets() {
  await node.rpc(DATASET, 'dataset.create', {
    dataset_name: 'gauges',
    columns: [
      { column_name: 'id', data_type: 'bigint' },
      { column_name: 'level_m', data_type: 'numeric(6,2)', nullable: true },
      { column_name: 'place', data_type: 'geometry(Point,4326)', nullable: true },
    ],
    key_columns: ['id'],
  })
  const records = (level) => Array.from({ length: 10 }, (_, id) => [id, level, `POINT(139.${id} 35.6)`])
  await node.rpc(DATASET, 'dataset.record.put', { dataset_name: 'gauges', records: records('2.40') })
  await node.rpc(DATASET, 'dataset.citation.create', { citation_label: 'levels', source: 'gauges' })
  await node.rpc(DATASET, 'dataset.record.put', {
    dataset_name: 'gauges',
    records: records('3.10').slice(5),
    on_conflict: 'update',
  })
  await node.rpc(DATASET, 'dataset.citation.create', { citation_label: 'levels', source: 'gauges' })
  for (;;) {
    const list = await node.rpc(DATASET, 'dataset.citation.list', {})
    if (list.every((one) => one.checksum_state === 'done')) return
    await sleep(50)
  }
}

async function fillModels() {
  const modelOf = createModelBytes(1000, 1)
  for (let i = 0; i < 3; i++) await put(node, { ...modelOf(500), store: 'rain' })
  await node.rpc(FL, 'fl.create_upstream_info', {
    model_store_ddc: 'rain',
    upstream_endpoint: 'https://hub.example/api/v2/fl/jsonrpc',
    upstream_apikey: '00000000-0000-4000-8000-000000000000',
    upstream_secret: 'secret-of-the-fixture',
    upstream_model_store_ddc: 'rain',
    enabled: false,
  })
  await node.rpc(MODELS, 'model_store.list', {})
}
