import { randomBytes } from 'node:crypto'
import { mkdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { createBlobStore } from '../../src/files/blob-store.js'
import { layoutOf } from '../../src/files/layout.js'
import { createPins } from '../../src/models/pins.js'
import { sweepBlobs } from '../../src/models/sweep.js'
import { openState } from '../../src/storage/sqlite/state.js'
import { chunksOf } from '../support/blob-store-conformance.js'
import { memoryState } from '../support/memory-state.js'
import { model } from '../support/model-rows-conformance.js'
import { modelsOf, putModel, until } from '../support/models.js'
import { cli } from '../support/run-cli.js'
import { startGateway } from '../support/start-gateway.js'

async function setUp(t: Parameters<typeof memoryState>[0] & { testdir(): string }) {
  const root = t.testdir()
  mkdirSync(path.join(root, 'tmp'))
  const blobs = createBlobStore({ dir: path.join(root, 'blobs'), tempDir: path.join(root, 'tmp') })
  const { models } = await memoryState(t)
  const put = async (bytes: Buffer, isNamed = true) => {
    const staged = await blobs.stage(chunksOf(bytes, 1000))
    await staged.keep()
    const added = isNamed
      ? await models.add(model({ ...staged, md5: staged.md5 }), { autoCreate: true, push: false })
      : undefined
    return { sha256: staged.sha256, modelId: added?.model.modelId ?? '' }
  }
  return { deps: { models, blobs, pins: createPins() }, put }
}

t.test('sweep: orphans go, named and pinned bytes stay', async (t) => {
  const { deps, put } = await setUp(t)
  const named = await put(randomBytes(10))
  const orphan = await put(randomBytes(10), false)
  const pinned = await put(randomBytes(10), false)
  const unpin = await deps.pins.pin(pinned.sha256)
  t.same(await sweepBlobs(deps), { removed: 1, held: 0 })
  t.same((await Array.fromAsync(deps.blobs.list())).sort(), [named.sha256, pinned.sha256].sort())
  t.equal(await deps.blobs.stat(orphan.sha256), undefined)
  unpin()
  t.same(await sweepBlobs(deps), { removed: 1, held: 0 })
})

t.test('sweep: the bytes of deleted models go, however many', async (t) => {
  const { deps, put } = await setUp(t)
  const all = []
  for (let n = 0; n < 30; n++) all.push(await put(randomBytes(10)))
  for (const { modelId } of all.slice(1)) await deps.models.remove(modelId)
  t.same(await sweepBlobs(deps), { removed: 29, held: 0 })
  t.same(await Array.fromAsync(deps.blobs.list()), [all[0]?.sha256])
  t.same(await deps.models.released(100), [], 'and their releases are forgotten')
})

t.test('sweep: many bytes without a row stay until their loss is accepted; deleted ones go', async (t) => {
  const { deps, put } = await setUp(t)
  const deleted = await put(randomBytes(10))
  for (let n = 0; n < 50; n++) await put(randomBytes(10))
  for (let n = 0; n < 11; n++) await put(randomBytes(10), false)
  await deps.models.remove(deleted.modelId)
  t.same(await sweepBlobs(deps), { removed: 1, held: 11 })
  t.same(await sweepBlobs(deps), { removed: 0, held: 11 })
  t.equal((await Array.fromAsync(deps.blobs.list())).length, 61)
  t.same(await sweepBlobs(deps, true), { removed: 11, held: 0 })
  t.equal((await Array.fromAsync(deps.blobs.list())).length, 50)
})

t.test(
  'sweep: beside another state.db all bytes stay, doctor says so, and an operator lets them go',
  async (t) => {
    const cwd = t.testdir()
    const dataDir = path.join(cwd, 'data')
    const first = await startGateway(t, { dataDir })
    for (let n = 0; n < 15; n++) await putModel(first, randomBytes(100))
    t.equal((await modelsOf(first)).length, 15)
    await first.gateway.stop()
    const layout = layoutOf(dataDir)
    for (const ending of ['', '-wal', '-shm']) rmSync(`${layout.stateDb}${ending}`, { force: true })
    const refused = await cli(cwd, ['init', '--json'])
    t.equal(refused.code, 1)
    t.match(
      refused.stderr,
      /state\.db is missing, but data\.db, the bytes of models show that it existed: .*--accept-loss/,
    )
    const accepted = await cli(cwd, ['init', '--accept-loss', '--json'])
    t.equal(accepted.code, 0, accepted.stderr)
    t.match(accepted.stderr, /given up: .*state\.db is missing/)

    const second = await startGateway(t, { dataDir, settings: { modelStore: { sweepMinutes: 1 } } })
    const said = () => second.logLines.some((line) => String(line.msg).startsWith('model bytes that no row'))
    await until('the sweep is over', said)
    const blobs = createBlobStore({ dir: layout.modelsDir, tempDir: layout.tempDir })
    t.equal((await Array.fromAsync(blobs.list())).length, 15, 'all are kept')
    const doctor = JSON.parse((await cli(cwd, ['doctor', '--json'])).stdout)
    t.match(
      doctor.checks.find(({ name }: { name: string }) => name === 'blobs'),
      { state: 'warning', findings: [{}, { message: /holds 15 files that no row of state\.db refers to/ }] },
    )
    await second.gateway.stop()
    const vacuum = await cli(cwd, ['vacuum', '--accept-loss'])
    t.equal(vacuum.code, 0, vacuum.stderr)
    t.match(vacuum.stderr, /the next sweep of the gateway/)
    await startGateway(t, { dataDir })
    await until('they are gone', async () => (await Array.fromAsync(blobs.list())).length === 0)
    const state = await openState(layout.stateDb)
    t.teardown(() => state.close())
    await until('the decision was used', async () => (await state.meta.noted('sweep_loss_accepted')) === 'no')
  },
)
