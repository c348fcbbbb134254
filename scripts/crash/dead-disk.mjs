import '../test/load-typescript.mjs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { LOADER, MAPS, MODELS } from '../api-paths.mjs'
import { createOwner } from '../owner.mjs'
import { makeDisk, run, withoutDisks } from './disks.mjs'
import { readFlags, report } from './flags.mjs'
import { put } from './models.mjs'
import { ownMounts } from './mounts.mjs'
import { createHubNode, createNode, initHub, makeWorkspace } from './node.mjs'

/**
 * Dead disk: the file system under the data directory is shut down while calls run, so that each read and write
 * of it fails from then on, as with a card that has died. The gateway must go on answering: 503 and
 * STORAGE_FAILED for what needs the disk, /healthz 200, /readyz 503 with the reason, /metrics 200, few lines in
 * the log; it must end on SIGTERM. When the disk is back, everything that was acknowledged is there. With `--hub 1`
 * it is a process of a hub: its rows and models are elsewhere, so calls that need no file go on, and another process
 * has everything. Needs root and xfsprogs.
 */
ownMounts()
const flags = readFlags({ megabytes: 600, seconds: 8, callers: 4, hub: 0 })
const isHub = flags.hub === 1
const missing = withoutDisks() ?? (isHub ? await withoutHub() : null)
if (missing !== null) {
  console.log(JSON.stringify({ test: 'dead-disk', skipped: missing }))
  process.exit(0)
}
/** Answers of a dead disk. A read may be answered from memory. */
const MEANT = new Set(['ok', 'STORAGE_FAILED', 'STORAGE_DAMAGED'])
/** Warnings and errors in the log that a dead disk may bring in a second, at most. */
const LINES_A_SECOND = 10

const workspace = makeWorkspace('dead')
const disk = makeDisk(workspace.dir, 'data', flags.megabytes)
const faults = []
const expect = (isSo, what) => {
  if (!isSo) faults.push(what)
}
const answers = {}
const acknowledged = []
const putIds = []
const model = { sizeBytes: 20_000, chunks: [Buffer.alloc(20_000, 7)] }
const owner = createOwner()
let isDead = false
let isOver = false
let node
try {
  const dataDir = path.join(disk.dir, 'data')
  node = isHub ? await makeHubNode(dataDir) : await createNode(workspace, 'node', {}, dataDir)
  await node.start()
  await node.rpc(LOADER, 'loaderwebapi.register_loader', {
    data_name: 'dead',
    record_def: { number: { udt_name: 'int8' }, text: { udt_name: 'text' } },
    unique_columns: ['number'],
  })
  await put(node, model)
  run('sync')
  const running = [...Array(flags.callers).keys()].map(callOn)
  await sleep(2000)
  run('xfs_io', '-x', '-c', 'shutdown', disk.dir)
  isDead = true
  node.log = ''
  await sleep(flags.seconds * 1000)
  for (let i = 0; i < 3; i++) await probe()
  const lines = node.log.split('\n').filter((line) => /^."level":"(warn|error)/.test(line)).length
  expect(lines < LINES_A_SECOND * flags.seconds, `${lines} lines in the log: ${node.log.slice(-1000)}`)
  isOver = true
  await Promise.all(running)
  for (const [call, counts] of Object.entries(answers))
    for (const [answer, count] of Object.entries(counts))
      expect(isMeant(call, answer), `${call}: ${count} times ${answer}`)
  const { ok: written = 0, ...refused } = answers[isHub ? 'put' : 'add'] ?? {}
  expect(written === 0 && Object.keys(refused).length > 0, 'writes went on: the disk was not dead')
  const endMs = performance.now()
  await Promise.race([node.kill('SIGTERM'), sleep(60_000)])
  expect(performance.now() - endMs < 59_000, 'SIGTERM did not end it within a minute')
  await node.kill('SIGKILL')
  disk.unmount()
  if (isHub) node = await node.other()
  else disk.mount()
  await node.start()
  const { features } = await node.rpc(MAPS, 'mapserv.eventdata', {
    type: 'Feature',
    geometry: null,
    properties: { table: 'dead', columns: ['number'] },
  })
  const there = new Set(features.map(({ properties }) => Number(properties.number)))
  const lost = acknowledged.filter((number) => !there.has(number))
  expect(lost.length === 0, `lost rows: ${lost.slice(0, 10).join(', ')}`)
  if (isHub) await expectModels()
  report('dead-disk', { acknowledged: acknowledged.length, answers, lines }, faults)
} finally {
  isOver = true
  await node?.kill('SIGKILL')
  disk.unmount()
  await owner.end()
}

/** Rows of a hub need no disk of its process. */
function isMeant(call, answer) {
  return isHub && call !== 'put' ? answer === 'ok' : MEANT.has(answer)
}

async function withoutHub() {
  const { noHub } = await import('../../test/support/hub.ts')
  return noHub() || null
}

/** Makes a process of a hub with its files on the disk; `other()` makes one with another disk. */
async function makeHubNode(dataDir) {
  const { makeHub, startEngines } = await import('../../test/support/hub.ts')
  const place = await makeHub(owner, await startEngines(owner))
  const headers = initHub(workspace, place)
  const other = () =>
    createHubNode(workspace, place, { name: 'other', headers, dataDir: path.join(place.dir, 'other') })
  return Object.assign(await createHubNode(workspace, place, { name: 'node', headers, dataDir }), { other })
}

/** Each model that was acknowledged has its bytes at the other process. */
async function expectModels() {
  const all = await node.rpc(MODELS, 'model_store.model.get_info', { model_store_ddc: 'load' })
  const ids = new Set(all.map(({ model_id }) => model_id))
  const lost = putIds.filter((id) => !ids.has(id))
  expect(putIds.length > 0 && lost.length === 0, `of ${putIds.length} models ${lost.length} are lost`)
  for (const id of putIds) {
    const response = await fetch(`${node.url}/api/v2/model_store/models/${id}/file`, {
      headers: node.headers,
    })
    const bytes = Buffer.from(await response.arrayBuffer())
    expect(
      bytes.equals(Buffer.concat(model.chunks)),
      `model ${id}: ${response.status}, ${bytes.length} bytes`,
    )
  }
}

/** Calls methods of all kinds until the end, and counts their answers after the death of the disk. */
async function callOn(caller) {
  const calls = {
    add: async (number) => {
      const record = { type: 'Feature', geometry: null, properties: { number, text: 'x'.repeat(200) } }
      await node.rpc(LOADER, 'loaderwebapi.add_record', { data_name: 'dead', record_set: [record] })
      acknowledged.push(number)
    },
    read: () =>
      node.rpc(MAPS, 'mapserv.eventdata', {
        type: 'Feature',
        geometry: null,
        properties: { table: 'dead', columns: ['text'], conds: { '>': ['number', 0] } },
      }),
    find: () => node.rpc(MODELS, 'model_store.model.get_info', { model_store_ddc: 'load' }),
    put: async () => {
      putIds.push((await put(node, model)).model_id)
    },
  }
  for (let turn = 0; !isOver; turn++) {
    for (const [name, call] of Object.entries(calls)) {
      const number = caller * 1_000_000 + turn + 1
      const wasDead = isDead
      const answer = await call(number).then(() => 'ok', answerOf)
      if (!wasDead && answer === 'ok') continue
      answers[name] ??= {}
      answers[name][answer] = (answers[name][answer] ?? 0) + 1
    }
    await sleep(20)
  }
}

function answerOf(error) {
  if (error.rpc !== undefined) return error.rpc.data?.name ?? `error ${error.rpc.code}`
  return /"name":"([A-Z_]+)"/.exec(error.message)?.[1] ?? error.message
}

/** Asks what monitors ask. */
async function probe() {
  const ask = async (place) => {
    const response = await fetch(`${node.url}${place}`, { signal: AbortSignal.timeout(30_000) })
    return { status: response.status, text: await response.text() }
  }
  const health = await ask('/healthz')
  expect(health.status === 200, `/healthz: ${health.status}`)
  const ready = await ask('/readyz')
  expect(
    ready.status === 503 && /cannot be/.test(ready.text),
    `/readyz: ${ready.status} ${ready.text.slice(0, 500)}`,
  )
  const metrics = await ask('/metrics')
  expect([200, 401].includes(metrics.status), `/metrics: ${metrics.status} ${metrics.text.slice(0, 200)}`)
  await sleep(1000)
}
