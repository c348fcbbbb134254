import { createHash, randomBytes } from 'node:crypto'
import type { Test } from 'tap'
import type { BlobStore } from '../../src/files/blob-store.js'

/**
 * What every blob store must do, whatever it keeps the bytes in. Run it on a new implementation as it is.
 *
 * @param open a fresh, empty store
 */
export async function testBlobStore(t: Test, open: (t: Test) => Promise<BlobStore>): Promise<void> {
  await t.test('blob store: round trip of sizes around the piece size, with both digests', async (t) => {
    const store = await open(t)
    for (const size of [0, 1, 255, 256 * 1024 - 1, 256 * 1024, 256 * 1024 + 1, 1_000_003]) {
      const bytes = randomBytes(size)
      const staged = await store.stage(chunksOf(bytes, 10_007))
      t.equal(staged.sizeBytes, size)
      t.equal(staged.sha256, createHash('sha256').update(bytes).digest('hex'))
      t.equal(staged.md5, createHash('md5').update(bytes).digest('hex'))
      await staged.keep()
      t.same(await store.stat(staged.sha256), { sizeBytes: size })
      t.ok((await readAll(store, staged.sha256)).equals(bytes), `${size} bytes come back`)
    }
  })

  await t.test('blob store: nothing is there before keep, and nothing after drop', async (t) => {
    const store = await open(t)
    const staged = await store.stage(chunksOf(randomBytes(1000), 100))
    t.equal(await store.stat(staged.sha256), undefined)
    t.equal(await store.open(staged.sha256), undefined)
    await staged.drop()
    t.equal(await store.stat(staged.sha256), undefined)
    t.same(await Array.fromAsync(store.list()), [])
  })

  await t.test('blob store: a source that fails leaves nothing, and its error comes through', async (t) => {
    const store = await open(t)
    const broken = async function* () {
      yield randomBytes(500_000)
      throw new Error('the line went dead')
    }
    await t.rejects(store.stage(broken()), /the line went dead/)
    t.same(await Array.fromAsync(store.list()), [])
  })

  await t.test(
    'blob store: the same bytes are kept once, and put back whole when they were removed',
    async (t) => {
      const store = await open(t)
      const bytes = randomBytes(5000)
      for (let i = 0; i < 3; i++) await (await store.stage(chunksOf(bytes, 999))).keep()
      const digests = await Array.fromAsync(store.list())
      t.equal(digests.length, 1)
      const [sha256 = ''] = digests
      await store.remove(sha256)
      await store.remove(sha256)
      t.equal(await store.stat(sha256), undefined, 'removing twice is no error')
      await (await store.stage(chunksOf(bytes, 999))).keep()
      t.ok((await readAll(store, sha256)).equals(bytes))
    },
  )

  await t.test('blob store: ranges are half-open and may be empty', async (t) => {
    const store = await open(t)
    const bytes = randomBytes(700_000)
    const staged = await store.stage(chunksOf(bytes, 65_536))
    await staged.keep()
    for (const [start, end] of [
      [0, 0],
      [0, 1],
      [699_999, 700_000],
      [1, 600_000],
      [262_144, 524_288],
    ] as const) {
      const part = await readAll(store, staged.sha256, { start, end })
      t.ok(part.equals(bytes.subarray(start, end)), `bytes ${start} to ${end}`)
    }
  })

  await t.test('blob store: readers that stop early or never begin let go', async (t) => {
    const store = await open(t)
    const staged = await store.stage(chunksOf(randomBytes(600_000), 65_536))
    await staged.keep()
    for (let i = 0; i < 50; i++) {
      const unread = await store.open(staged.sha256)
      await unread?.return?.()
      for await (const _chunk of (await store.open(staged.sha256)) ?? []) break
    }
    await store.remove(staged.sha256)
    t.equal(await store.stat(staged.sha256), undefined)
  })

  await t.test('blob store: a reader goes on while the bytes are put again or removed', async (t) => {
    const store = await open(t)
    const bytes = randomBytes(600_000)
    const staged = await store.stage(chunksOf(bytes, 65_536))
    await staged.keep()
    const reader = await store.open(staged.sha256)
    const first = await reader?.next()
    await (await store.stage(chunksOf(bytes, 1000))).keep()
    await store.remove(staged.sha256)
    const rest = await Array.fromAsync(reader ?? [])
    t.ok(Buffer.concat([first?.value ?? Buffer.alloc(0), ...rest]).equals(bytes))
  })

  await t.test('blob store: readers do not see quarantined bytes', async (t) => {
    const store = await open(t)
    const bytes = randomBytes(100)
    const staged = await store.stage(chunksOf(bytes, 100))
    await staged.keep()
    await store.quarantine(staged.sha256)
    await store.quarantine(staged.sha256)
    t.equal(await store.stat(staged.sha256), undefined)
    t.same(await Array.fromAsync(store.list()), [])
    await (await store.stage(chunksOf(bytes, 100))).keep()
    t.ok((await readAll(store, staged.sha256)).equals(bytes), 'new bytes take the place')
  })

  await t.test('blob store: many at once, some of them equal', async (t) => {
    const store = await open(t)
    const bodies = Array.from({ length: 20 }, (_, i) => Buffer.alloc(1000 + (i % 7), i % 7))
    await Promise.all(bodies.map(async (bytes) => (await store.stage(chunksOf(bytes, 300))).keep()))
    t.equal((await Array.fromAsync(store.list())).length, 7)
  })

  await t.test('blob store: what is no digest is refused', async (t) => {
    const store = await open(t)
    await t.rejects(store.open('../../etc/passwd'), /expected 64 hex digits/)
    await t.rejects(store.stat('AB'.repeat(32)), /expected 64 hex digits/)
  })
}

export async function* chunksOf(bytes: Uint8Array, chunkBytes: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes)
}

async function readAll(
  store: BlobStore,
  sha256: string,
  range?: { start: number; end: number },
): Promise<Buffer> {
  const source = await store.open(sha256, range)
  if (source === undefined) throw new Error(`nothing is there under ${sha256}`)
  return Buffer.concat(await Array.fromAsync(source))
}
