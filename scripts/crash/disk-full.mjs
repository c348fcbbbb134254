import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { MODELS } from '../api-paths.mjs'
import { readFlags, report } from './flags.mjs'
import { leftovers, readBlobs } from './ledger.mjs'
import { allModels, createModelBytes, put } from './models.mjs'
import { createNode, makeWorkspace } from './node.mjs'

/**
 * Disk full: the data directory is a tmpfs of 64 MB. Uploads beyond it are answered 507 and leave nothing,
 * reads and deletes go on, and after space is there again puts work without a restart. Then the same with a
 * disk that another program fills to its last byte. Needs root for the mount.
 */
const flags = readFlags({ megabytes: 64, reserveBytes: 8_000_000 })
if (process.getuid() !== 0) {
  console.log(JSON.stringify({ test: 'disk-full', skipped: 'mounting a tmpfs needs root' }))
  process.exit(0)
}
const workspace = makeWorkspace('full')
const dataDir = path.join(workspace.dir, 'disk')
mkdirSync(dataDir)
run('mount', '-t', 'tmpfs', '-o', `size=${flags.megabytes}m,mode=700`, 'tmpfs', dataDir)
const faults = []
const expect = (isSo, what) => {
  if (!isSo) faults.push(what)
}
const node = await createNode(
  workspace,
  'node',
  {
    FIELDGATE_LIMITS__DISK_RESERVE_BYTES: String(flags.reserveBytes),
    FIELDGATE_MODEL_STORE__SWEEP_MINUTES: '1',
  },
  dataDir,
)
try {
  await node.start()
  const modelOf = createModelBytes(64_000_000)
  const kept = []
  let refused
  while (refused === undefined && kept.length < 100) {
    const model = modelOf(5_000_000)
    await put(node, model).then(
      (info) => kept.push({ ...model, id: info.model_id }),
      (error) => {
        refused = error
      },
    )
  }
  expect(refused?.status === 507, `the first put beyond the disk: ${refused?.message}`)
  expect(kept.length >= 8, `only ${kept.length} models of 5 MB fitted`)
  await nothingLeft('after 507')
  // one that is larger than all of the disk, with and without telling its size beforehand
  const large = modelOf(63_000_000)
  expect((await statusOf(put(node, large))) === 507, 'a large one is refused')
  await nothingLeft('after a large one')
  expect((await allModels(node)).length === kept.length, 'reads go on')
  const file = await fetch(`${node.url}/api/v2/model_store/models/${kept[0].id}/file`, {
    headers: node.headers,
  })
  expect((await file.arrayBuffer()).byteLength === 5_000_000, 'downloads go on')
  // another program takes the rest, to the last byte
  writeUntilFull(path.join(dataDir, 'ballast'))
  expect(
    (await statusOf(put(node, modelOf(1000)))) === 507,
    'a small one is refused by a disk without a byte',
  )
  expect((await allModels(node)).length === kept.length, 'reads go on without a byte')
  expect((await fetch(`${node.url}/healthz`)).status === 200, 'it is alive')
  rmSync(path.join(dataDir, 'ballast'))
  await sleep(600)
  // deletes work below the reserve, and the sweep gives the space back
  for (const { id } of kept.slice(0, 4)) await node.rpc(MODELS, 'model_store.model.delete', { model_id: id })
  expect((await allModels(node)).length === kept.length - 4, 'deletes go on')
  const endAt = performance.now() + 90_000
  let again
  while (again === undefined && performance.now() < endAt) {
    again = await put(node, modelOf(5_000_000)).catch(() => undefined)
    if (again === undefined) await sleep(1000)
  }
  expect(again !== undefined, 'puts work again without a restart')
  const blobs = readBlobs(dataDir)
  expect(
    [...blobs].every(([name, digest]) => name === digest),
    'every file has its digest',
  )
  report('disk-full', { megabytes: flags.megabytes, models: kept.length, files: blobs.size }, faults)
} finally {
  await node.kill('SIGTERM')
  run('umount', dataDir)
}

async function nothingLeft(when) {
  await sleep(300)
  const left = leftovers(dataDir)
  if (left.length > 0) faults.push(`${when}: ${left.join(', ')} was left behind`)
}

async function statusOf(promise) {
  return await promise.then(
    () => 200,
    (error) => error.status ?? error.message,
  )
}

function writeUntilFull(file) {
  for (const size of [1_000_000, 10_000, 100, 1]) {
    try {
      for (let i = 0; i < 1000; i++) writeFileSync(file, Buffer.alloc(size), { flag: 'a' })
    } catch (error) {
      if (error.code !== 'ENOSPC') throw error
    }
  }
}

function run(...command) {
  const { status, stderr } = spawnSync(command[0], command.slice(1), { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command.join(' ')}: ${stderr}`)
}
