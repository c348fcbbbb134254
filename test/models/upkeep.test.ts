import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { createBlobStore } from '../../src/files/blob-store.js'
import { createPins } from '../../src/models/pins.js'
import { checkModels, scrubOnce, sweepBlobs } from '../../src/models/upkeep.js'
import { chunksOf } from '../support/blob-store-conformance.js'
import { memoryState } from '../support/memory-state.js'
import { model } from '../support/model-rows-conformance.js'

async function setUp(t: Parameters<typeof memoryState>[0] & { testdir(): string }) {
  const root = t.testdir()
  mkdirSync(path.join(root, 'tmp'))
  const dir = path.join(root, 'blobs')
  const blobs = createBlobStore({ dir, tempDir: path.join(root, 'tmp') })
  const { models } = await memoryState(t)
  const lines: string[] = []
  const log = { info: (_: object, m: string) => lines.push(m), warn: (_: object, m: string) => lines.push(m) }
  let damaged = 0
  const deps = { models, blobs, pins: createPins(), log, onDamaged: (n: number) => (damaged += n) }
  const put = async (bytes: Buffer, isNamed = true) => {
    const staged = await blobs.stage(chunksOf(bytes, 1000))
    await staged.keep()
    if (isNamed) await models.add(model({ ...staged, md5: staged.md5 }), { autoCreate: true, push: false })
    return { sha256: staged.sha256, file: path.join(dir, staged.sha256.slice(0, 2), staged.sha256) }
  }
  return { deps, put, lines, dir, damaged: () => damaged }
}

t.test('sweep: orphans go, named and pinned bytes stay', async (t) => {
  const { deps, put } = await setUp(t)
  const named = await put(randomBytes(10))
  const orphan = await put(randomBytes(10), false)
  const pinned = await put(randomBytes(10), false)
  const unpin = await deps.pins.pin(pinned.sha256)
  t.equal(await sweepBlobs(deps), 1)
  t.same((await Array.fromAsync(deps.blobs.list())).sort(), [named.sha256, pinned.sha256].sort())
  t.equal(await deps.blobs.stat(orphan.sha256), undefined)
  unpin()
  t.equal(await sweepBlobs(deps), 1)
})

t.test('scrub: bit rot is put aside once, the rest is untouched', async (t) => {
  const { deps, put, lines, dir, damaged } = await setUp(t)
  const good = await put(randomBytes(3000))
  const rotten = await put(randomBytes(3000))
  writeFileSync(rotten.file, randomBytes(3000))
  const { signal } = new AbortController()
  const waits: number[] = []
  const wait = async (ms: number) => void waits.push(ms)
  t.same(await scrubOnce(deps, { bytesPerSecond: 1000, wait, signal }), { checked: 2, damaged: 1 })
  t.equal(
    waits.reduce((a, b) => a + b, 0),
    6000,
    '6,000 bytes at 1,000 a second',
  )
  t.same(await scrubOnce(deps, { bytesPerSecond: 1000, wait, signal }), { checked: 1, damaged: 0 })
  t.match(await deps.models.counts(), { models: 2, damaged: 1 })
  t.equal(damaged(), 1)
  t.match(lines, ['damaged model bytes moved to quarantine'])
  t.equal(readdirSync(path.join(dir, 'quarantine')).length, 1)
  t.ok(await deps.blobs.stat(good.sha256))
})

t.test('check at the start: sizes are compared, a file that came back heals', async (t) => {
  const { deps, put } = await setUp(t)
  const bytes = randomBytes(3000)
  const short = await put(bytes)
  writeFileSync(short.file, bytes.subarray(0, 100))
  await checkModels(deps)
  t.match(await deps.models.counts(), { damaged: 1 })
  writeFileSync(short.file, bytes) // restored from a backup
  await checkModels(deps)
  t.match(await deps.models.counts(), { damaged: 0 })
})

t.test('check at the start: nothing of it throws', async (t) => {
  const { deps, lines } = await setUp(t)
  const broken = { ...deps.models, quarantineBadRows: () => Promise.reject(new Error('disk I/O error')) }
  await checkModels({ ...deps, models: broken })
  t.same(lines, ['the models could not be checked'])
})
