import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { createBlobStore } from '../../src/files/blob-store.js'
import { createPins } from '../../src/models/pins.js'
import { checkModels, scrubOnce } from '../../src/models/upkeep.js'
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

t.test('check at the start: rows that cannot be shown are hidden, logged and counted', async (t) => {
  const { deps, lines, damaged } = await setUp(t)
  const fault = { seq: 1, modelId: 'm', reason: 'its model_meta is not a JSON object' }
  const pages = [
    { lastSeq: 7, faults: [fault, { ...fault, seq: 2 }] },
    { lastSeq: 9, faults: [] },
    { lastSeq: null, faults: [] },
  ]
  const asked: number[] = []
  const models = {
    ...deps.models,
    async quarantineBadRows(after: number) {
      asked.push(after)
      return pages.shift() ?? { lastSeq: null, faults: [] }
    },
  }
  await checkModels({ ...deps, models })
  t.same(asked, [0, 7, 9])
  t.same(lines, ['damaged model row hidden', 'damaged model row hidden'])
  t.equal(damaged(), 2)
})

t.test(
  'check at the start: bytes that cannot be examined are logged, and the others still are',
  async (t) => {
    const { deps, put, lines } = await setUp(t)
    const both = [await put(randomBytes(10)), await put(randomBytes(20))].map(({ sha256 }) => sha256).sort()
    const { stat } = deps.blobs
    const blobs: typeof deps.blobs = {
      ...deps.blobs,
      stat: (sha256) => (sha256 === both[0] ? Promise.reject(new Error('EIO')) : stat(sha256)),
    }
    await deps.blobs.remove(both[1] ?? '')
    await checkModels({ ...deps, blobs })
    t.same(lines, ['model bytes cannot be checked', 'damaged model bytes moved to quarantine'])
    t.match(await deps.models.counts(), { damaged: 1 })
  },
)

t.test(
  'check at the start: damaged bytes of the right size stay damaged until their digest is right',
  async (t) => {
    const { deps, put, lines } = await setUp(t)
    const { sha256, file } = await put(randomBytes(3000))
    await deps.models.setDamaged(sha256, true)
    writeFileSync(file, randomBytes(3000))
    await checkModels(deps)
    const { open } = deps.blobs
    deps.blobs.open = async () => undefined // removed between its size and its bytes
    await checkModels(deps)
    deps.blobs.open = open
    t.same([lines, (await deps.models.counts()).damaged], [[], 1])
  },
)

t.test('check and scrub: bytes that are pinned at this moment are left alone', async (t) => {
  const { deps, put, damaged } = await setUp(t)
  const { sha256, file } = await put(randomBytes(3000))
  writeFileSync(file, 'short')
  const unpin = await deps.pins.pin(sha256)
  await checkModels(deps)
  t.same([damaged(), (await deps.models.counts()).damaged], [0, 0])
  unpin()
  await checkModels(deps)
  t.equal(damaged(), 1)
})

const PACE = { bytesPerSecond: 1000, wait: async () => undefined, signal: new AbortController().signal }

t.test('scrub: missing bytes are damaged, unless their model was deleted meanwhile', async (t) => {
  const { deps, put, damaged } = await setUp(t)
  const { sha256 } = await put(randomBytes(10))
  await deps.blobs.remove(sha256)
  const models = { ...deps.models, isNamed: async () => false }
  t.same(await scrubOnce({ ...deps, models }, PACE), { checked: 1, damaged: 0 })
  t.equal(damaged(), 0)
  t.same(await scrubOnce(deps, PACE), { checked: 1, damaged: 1 })
  t.equal(damaged(), 1)
})

t.test('scrub: bytes that cannot be read are damaged', async (t) => {
  const { deps, put, lines } = await setUp(t)
  await put(randomBytes(10))
  const open: typeof deps.blobs.open = async () =>
    (async function* () {
      yield randomBytes(3)
      throw new Error('EIO')
    })()
  t.same(await scrubOnce({ ...deps, blobs: { ...deps.blobs, open } }, PACE), { checked: 1, damaged: 1 })
  t.same(lines, ['damaged model bytes moved to quarantine'])
})

t.test('scrub: it ends between two chunks and between two blobs when it is stopped', async (t) => {
  const { deps, put, damaged } = await setUp(t)
  for (let i = 0; i < 3; i++) await put(randomBytes(200_000))
  const stopping = new AbortController()
  let waits = 0
  const wait = async () => {
    if (++waits === 2) stopping.abort()
  }
  t.same(await scrubOnce(deps, { ...PACE, wait, signal: stopping.signal }), { checked: 1, damaged: 0 })
  t.equal(damaged(), 0, 'bytes of which only a part was read are not judged')
  t.same(await scrubOnce(deps, { ...PACE, signal: stopping.signal }), { checked: 0, damaged: 0 })
})

t.test('check and scrub: read all pages of digests', async (t) => {
  const { deps } = await setUp(t)
  const digests = Array.from({ length: 1000 }, (_, i) => String(i).padStart(64, '0'))
  const asked: string[] = []
  const models: typeof deps.models = {
    ...deps.models,
    async digests(after, limit) {
      asked.push(after)
      const rest = digests.filter((sha256) => sha256 > after).slice(0, limit)
      return rest.map((sha256) => ({ sha256, sizeBytes: 1, isDamaged: true }))
    },
  }
  const all = ['', digests[499], digests[999]]
  await checkModels({ ...deps, models })
  t.same(asked.splice(0), all)
  t.same(await scrubOnce({ ...deps, models }, PACE), { checked: 0, damaged: 0 })
  t.same(asked, all)
})
