import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { AppError } from '../../src/errors.js'
import { createBlobStore } from '../../src/files/blob-store.js'
import { openDeltaStore, type DeltaPair as Pair } from '../../src/models/delta-store.js'
import { createPins } from '../../src/models/pins.js'
import { chunksOf } from '../support/blob-store-conformance.js'
import { inlineDeltaWork, patched } from '../support/deltas.js'
import { rejectsWith } from '../support/rejects-with.js'

const { signal } = new AbortController()
const BASE = Buffer.from(Float32Array.from({ length: 30_000 }, (_, i) => Math.sin(i)).buffer)
const edited = (n: number) => {
  const next = Buffer.from(BASE)
  for (let at = n; at < next.length; at += 3001) next[at] = (next[at] ?? 0) ^ 0x55
  return next
}

async function setUp(t: Test, change: { maxBytes?: number; onCall?: (name: string) => void } = {}) {
  const dir = t.testdir({ blobs: {}, deltas: { 'half.delta.part': 'x' }, tmp: {} })
  const blobs = createBlobStore({ dir: path.join(dir, 'blobs'), tempDir: path.join(dir, 'tmp') })
  const put = async (bytes: Buffer) => {
    const staged = await blobs.stage(chunksOf(bytes, 70_000))
    await staged.keep()
    return staged.sha256
  }
  const space = { isFull: false }
  const infos: string[] = []
  const deps = {
    dir: path.join(dir, 'deltas'),
    blobs,
    pins: createPins(),
    work: inlineDeltaWork(change.onCall),
    minBytes: 1,
    maxBytes: change.maxBytes ?? 1e9,
    async requireSpace() {
      if (space.isFull) throw new AppError('DISK_FULL')
    },
    log: { info: (_: object, message: string) => void infos.push(message), warn: () => undefined },
  }
  const open = () => openDeltaStore(deps)
  const files = () => readdirSync(deps.dir).filter((name) => name.endsWith('.delta'))
  return { ...deps, put, open, files, space, infos, store: await open(), base: await put(BASE) }
}

t.test('delta store: a delta is made once, shared, and found again by the next process', async (t) => {
  const { put, open, files, dir, infos, store, base } = await setUp(t)
  t.same(readdirSync(dir), [], 'an unfinished delta of an earlier process is removed')
  const pair = { base, next: await put(edited(1)) }
  t.equal(await store.find(pair), undefined)
  const [one, two] = await Promise.all([store.make(pair, signal), store.make(pair, signal)])
  t.same(one.sha256, two.sha256)
  t.same(infos, ['delta made'])
  const bytes = readFileSync(path.join(dir, files()[0] ?? ''))
  t.equal(one.sha256, createHash('sha256').update(bytes).digest('hex'))
  t.equal(one.sizeBytes, bytes.length)
  t.ok((await patched(BASE, bytes)).equals(edited(1)))
  const again = await open()
  t.match(await again.find(pair), { sha256: one.sha256, sizeBytes: one.sizeBytes, base })
  const rest = await (await again.make(pair, signal)).open({ start: 100, end: bytes.length })
  t.ok(Buffer.concat(await Array.fromAsync(rest)).equals(bytes.subarray(100)))
  const none = await one.open({ start: bytes.length, end: bytes.length })
  t.same(await Array.fromAsync(none), [])
  await (await one.open({ start: 0, end: 5 })).return?.()
  await store.remove(pair)
  t.same(files(), [])
  t.same(infos, ['delta made'], 'nothing was made twice')
})

t.test('delta store: BAD_DELTA for a delta that saves too little, which is not tried again', async (t) => {
  const calls: string[] = []
  const { put, files, store, base } = await setUp(t, { onCall: (name) => calls.push(name) })
  const pair = { base, next: await put(randomBytes(100_000)) }
  await rejectsWith(t, store.make(pair, signal), 'BAD_DELTA', { message: /found more than 93750 bytes/ })
  t.same(files(), [])
  const before = calls.length
  await rejectsWith(t, store.make(pair, signal), 'BAD_DELTA', { message: /found more than 93750 bytes/ })
  t.equal(calls.length, before)
})

t.test('delta store: UNKNOWN_MODEL without the base, DISK_FULL without space; both pass', async (t) => {
  const { put, blobs, store, base, space } = await setUp(t)
  const pair = { base, next: await put(edited(1)) }
  await blobs.remove(base)
  await rejectsWith(t, store.make(pair, signal), 'UNKNOWN_MODEL')
  await put(BASE)
  space.isFull = true
  await rejectsWith(t, store.make(pair, signal), 'DISK_FULL')
  space.isFull = false
  t.ok((await store.make(pair, signal)).sizeBytes > 0)
})

t.test('delta store: an error for files whose bytes are not those of their digest', async (t) => {
  const { put, dir, files, store, base } = await setUp(t)
  const next = await put(edited(1))
  writeFileSync(path.join(dir, '..', 'blobs', next.slice(0, 2), next), edited(2))
  await t.rejects(store.make({ base, next }, signal), /found a new file of the SHA-256/)
  t.same(files(), [])
})

t.test('delta store: the deltas that were used longest ago make room', async (t) => {
  const at = await setUp(t)
  const pairs = await Promise.all(
    [1, 2, 3].map(async (n) => ({ base: at.base, next: await at.put(edited(n)) })),
  )
  const [one, two, three] = pairs as [Pair, Pair, Pair]
  const { sizeBytes } = await at.store.make(one, signal)
  await at.store.make(two, signal)
  const store = await openDeltaStore({ ...at, maxBytes: Math.floor(sizeBytes * 2.5) })
  for (const [index, { base, next }] of [two, one].entries())
    utimesSync(path.join(at.dir, `${base}-${next}.delta`), index + 1, index + 1)
  t.ok(await store.find(two), 'used last')
  await store.make(three, signal)
  t.same(at.files().sort(), [two, three].map(({ base, next }) => `${base}-${next}.delta`).sort())
})

t.test(
  'delta store: deltas that nobody used since expire; one that is being read is read to its end',
  async (t) => {
    const at = await setUp(t)
    const pairs = await Promise.all(
      [1, 2].map(async (n) => ({ base: at.base, next: await at.put(edited(n)) })),
    )
    const [one, two] = pairs as [Pair, Pair]
    const old = await at.store.make(one, signal)
    await at.store.make(two, signal)
    const file = path.join(at.dir, `${one.base}-${one.next}.delta`)
    const bytes = readFileSync(file)
    const reading = await old.open({ start: 0, end: old.sizeBytes })
    utimesSync(file, 1, 1)
    t.equal(await at.store.expire(1000), 0, 'used at this time')
    t.equal(await at.store.expire(1001), 1)
    t.same(at.files(), [`${two.base}-${two.next}.delta`])
    t.ok(Buffer.concat(await Array.fromAsync(reading)).equals(bytes))
    t.equal(await at.store.find(one), undefined)
    t.equal((await at.store.make(one, signal)).sha256, old.sha256, 'it is made again when it is asked for')
  },
)

t.test('delta store: an aborted caller leaves the making; closing ends it, and leaves no file', async (t) => {
  const abort = new AbortController()
  const calls: string[] = []
  const { put, files, dir, store, base } = await setUp(t, {
    onCall: (name) => {
      if (calls.push(name) === 1) abort.abort(new AppError('CANCELLED'))
    },
  })
  const pair = { base, next: await put(edited(1)) }
  await rejectsWith(t, store.make(pair, abort.signal), 'CANCELLED')
  t.ok((await store.make(pair, signal)).sizeBytes > 0, 'the other caller gets it')
  const other = store.make({ base, next: await put(edited(2)) }, signal)
  other.catch(() => undefined)
  await store.close()
  await other.catch(() => undefined)
  t.same(
    readdirSync(dir).filter((name) => name.endsWith('.part')),
    [],
  )
  t.ok(files().length >= 1)
})
