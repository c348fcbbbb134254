import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { DATASET, LOADER, MODELS } from '../api-paths.mjs'
import { createRandom } from '../random.mjs'
import { readFlags, report } from './flags.mjs'
import { createModelBytes, put } from './models.mjs'
import { createNode, FAST, makeWorkspace, prepareTables } from './node.mjs'

/**
 * Backup test: backups of a gateway that is written to all the time, one of them killed half way and one with
 * the gateway restarted meanwhile (its sweep at the start meets deleted models). Each is read through,
 * restored and compared with an outside ledger: what was acknowledged before the backup began is in it, calls
 * are in it whole or not at all, every model's bytes are there, and every citation has its checksum.
 */
const flags = readFlags({ backups: 12, models: 400, modelBytes: 500_000, pauseMs: 2000, seed: 1 })
const TABLE_ROWS = 7
const DATASET_ROWS = 5
const random = createRandom(flags.seed)
const workspace = makeWorkspace('backup')
const node = await createNode(workspace, 'node', { FIELDGATE_MODEL_STORE__SWEEP_MINUTES: '1' })
const target = path.join(workspace.dir, 'backups')
const faults = []
await node.start()
await prepare()

/** Each entry: times of the request and of its acknowledgement, ms; Infinity when the latter is unknown. */
const ledger = { table: new Map(), dataset: new Map(), models: new Map(), deleted: new Map() }
const modelOf = createModelBytes(flags.modelBytes)
let isOver = false
const waitsMs = []
for (let i = 0; i < flags.models; i++) await putModel()

const writers = [writeTable(), writeDataset(), writeModels()]
const rounds = []
for (let i = 0; i < flags.backups; i++) {
  await sleep(flags.pauseMs)
  rounds.push(await round(i))
  console.error(`${i + 1} backups, ${faults.length} faults`)
}
isOver = true
await Promise.all(writers)
await node.kill('SIGTERM')
const again = await verb(['backup', target, '--json', '--data-dir', node.dataDir])
const last = JSON.parse(again.stdout)
if (readdirSync(path.join(target, 'backups')).some((name) => name.endsWith('.part')))
  faults.push('a folder of a backup that was cut off is still there')
const all = await verb(['verify', target, '--all', '--json'])
for (const { name, faults: found } of JSON.parse(all.stdout).backups)
  faults.push(...found.map((fault) => `${name}: ${fault}`))
waitsMs.sort((a, b) => a - b)
report(
  'backup',
  {
    backups: rounds.length,
    tableCalls: ledger.table.size,
    datasetCalls: ledger.dataset.size,
    models: ledger.models.size,
    deletedModels: ledger.deleted.size,
    firstWrittenBytes: rounds[0].writtenBytes,
    laterWrittenBytes: rounds.slice(1).map((one) => one.writtenBytes),
    lastTotalBytes: last.totalBytes,
    citationsProved: rounds.reduce((sum, one) => sum + one.citations, 0),
    callP99Ms: Math.round(waitsMs[Math.floor(waitsMs.length * 0.99)] ?? 0),
    callMaxMs: Math.round(waitsMs.at(-1) ?? 0),
  },
  faults,
)

async function prepare() {
  const key = ['call', 'part']
  await prepareTables(node, {
    table: ['load', { call: { udt_name: 'int8' }, part: { udt_name: 'int8' } }, key],
    dataset: ['load_set', { call: 'bigint', part: 'bigint' }, key],
  })
}

/** Writes down a call before it is sent and after it was acknowledged. */
async function noted(entries, id, work) {
  const entry = { askedMs: performance.now(), ackedMs: Number.POSITIVE_INFINITY }
  entries.set(id, entry)
  try {
    await work()
    entry.ackedMs = performance.now()
    waitsMs.push(entry.ackedMs - entry.askedMs)
  } catch {
    await sleep(50) // the gateway was restarting: a call without acknowledgement may be lost
  }
}

async function writeTable() {
  for (let call = 1; !isOver; call++) {
    const features = Array.from({ length: TABLE_ROWS }, (_, part) => ({
      type: 'Feature',
      geometry: { type: 'Point', coordinates: [139 + random(), 35 + random()] },
      properties: {
        call,
        part,
        start_datetime: '2026-01-01T00:00:00Z',
        end_datetime: '2026-01-01T01:00:00Z',
      },
    }))
    await noted(ledger.table, call, () =>
      node.rpc(LOADER, 'loaderwebapi.add_record', { data_name: 'load', record_set: features }),
    )
    await sleep(random() * 10)
  }
}

async function writeDataset() {
  for (let call = 1; !isOver; call++) {
    const records = Array.from({ length: DATASET_ROWS }, (_, part) => [call, part])
    await noted(ledger.dataset, call, () =>
      node.rpc(DATASET, 'dataset.record.put', { dataset_name: 'load_set', records }),
    )
    if (call % 25 === 0)
      await node
        .rpc(DATASET, 'dataset.citation.create', { citation_label: 'state', source: 'load_set' })
        .catch(() => undefined)
    await sleep(random() * 10)
  }
}

async function putModel() {
  const model = modelOf(1000 + Math.round(random() * flags.modelBytes))
  await noted(ledger.models, model.sha256, async () => {
    const { model_id: modelId } = await put(node, model)
    ledger.models.get(model.sha256).modelId = modelId
  })
}

/** As many go as come, so that the sweep has something to take. */
async function writeModels() {
  while (!isOver) {
    await putModel()
    const alive = [...ledger.models].filter(
      ([sha256, one]) => one.modelId !== undefined && !ledger.deleted.has(sha256),
    )
    const [sha256, { modelId }] = alive[Math.floor(random() * alive.length)]
    await noted(ledger.deleted, sha256, () =>
      node.rpc(MODELS, 'model_store.model.delete', { model_id: modelId }),
    )
    await sleep(random() * 20)
  }
}

async function round(index) {
  const isKilled = index % 4 === 1
  const isRestarted = index % 4 === 2
  const beginMs = performance.now()
  if (isKilled) {
    await killedBackup(50 + random() * 400)
    return { writtenBytes: 0, citations: 0 }
  }
  const making = verb(['backup', target, '--json', '--data-dir', node.dataDir])
  if (isRestarted) {
    await sleep(150)
    await node.kill('SIGTERM')
    await node.start()
  }
  const made = JSON.parse((await making).stdout)
  const endMs = performance.now()
  const verified = JSON.parse((await verb(['verify', target, '--json'])).stdout)
  faults.push(...verified.backups.flatMap((one) => one.faults))
  if (made.lost.length > 0) faults.push(`backup ${index}: lost ${JSON.stringify(made.lost)}`)
  const dir = path.join(workspace.dir, `restored-${index}`)
  await verb(['restore', target, '--data-dir', dir])
  await compare(dir, beginMs, endMs, `backup ${index}`)
  return { ...made, citations: verified.backups[0].citations }
}

async function killedBackup(afterMs) {
  const child = spawn(process.execPath, [workspace.program, 'backup', target, '--data-dir', node.dataDir], {
    stdio: 'ignore',
  })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  await sleep(afterMs)
  child.kill('SIGKILL')
  await ended
}

/** Runs a verb without stopping the writers of this process. */
function verb(args) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [workspace.program, ...args], { env: { ...process.env, ...FAST } })
    let stdout = ''
    let stderr = ''
    child.stdout.setEncoding('utf8').on('data', (text) => {
      stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', (text) => {
      stderr += text
    })
    child.once('error', reject)
    child.once('exit', (code) =>
      code === 0
        ? resolve({ stdout, stderr })
        : reject(new Error(`${args[0]}: exit ${code}: ${stderr}${stdout.slice(0, 2000)}`)),
    )
  })
}

async function compare(dir, beginMs, endMs, name) {
  const { default: Database } = await import('better-sqlite3')
  const data = new Database(path.join(dir, 'data.db'), { readonly: true })
  const state = new Database(path.join(dir, 'state.db'), { readonly: true })
  const tableOf = (sql) => data.prepare(sql).pluck().get()
  const table = tableOf("SELECT table_name FROM loader_table WHERE data_name = 'load'")
  const dataset = tableOf("SELECT table_name FROM dataset WHERE short_form = 'load_set'")
  const calls = (of) => new Map(data.prepare(`SELECT call, count(*) FROM "${of}" GROUP BY call`).raw().all())
  compareCalls(calls(table), ledger.table, TABLE_ROWS, beginMs, endMs, `${name}: table`)
  compareCalls(calls(dataset), ledger.dataset, DATASET_ROWS, beginMs, endMs, `${name}: dataset`)
  const named = new Set(state.prepare('SELECT sha256 FROM model WHERE deleted_at_us IS NULL').pluck().all())
  data.close()
  state.close()
  for (const sha256 of named) {
    const file = path.join(dir, 'models', sha256.slice(0, 2), sha256)
    const digest = existsSync(file)
      ? createHash('sha256').update(readFileSync(file)).digest('hex')
      : 'no file'
    if (digest !== sha256) faults.push(`${name}: the model ${sha256} has ${digest}`)
    const asked = ledger.models.get(sha256)?.askedMs ?? Number.POSITIVE_INFINITY
    if (asked > endMs) faults.push(`${name}: the model ${sha256} was put after the backup`)
  }
  for (const [sha256, { ackedMs }] of ledger.models) {
    const isOwed = ackedMs < beginMs && !(ledger.deleted.get(sha256)?.askedMs < endMs)
    if (isOwed && !named.has(sha256)) faults.push(`${name}: the acknowledged model ${sha256} is not in it`)
    if (ledger.deleted.get(sha256)?.ackedMs < beginMs && named.has(sha256))
      faults.push(`${name}: the model ${sha256} was deleted before, and is in it`)
  }
}

function compareCalls(found, owed, rowsOfCall, beginMs, endMs, name) {
  for (const [call, { ackedMs }] of owed)
    if (ackedMs < beginMs && found.get(call) !== rowsOfCall)
      faults.push(
        `${name}: the acknowledged call ${call} has ${found.get(call) ?? 0} rows, expected ${rowsOfCall}`,
      )
  for (const [call, rows] of found) {
    if (rows !== rowsOfCall)
      faults.push(`${name}: the call ${call} has ${rows} rows, expected ${rowsOfCall} or none`)
    if (owed.get(call).askedMs > endMs) faults.push(`${name}: the call ${call} was made after the backup`)
  }
}
