import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { createBlobStore, digestOf } from '../../src/files/blob-store.js'
import { createDiskSpace } from '../../src/files/disk-space.js'
import { createPartFiles } from '../../src/files/part-files.js'
import { chunksOf, testBlobStore } from '../support/blob-store-conformance.js'
import { rejectsWith } from '../support/rejects-with.js'

function folders(t: { testdir(): string }) {
  const root = t.testdir()
  const tempDir = path.join(root, 'tmp')
  mkdirSync(tempDir)
  return { dir: path.join(root, 'blobs'), tempDir, root }
}

t.test('blob store on the file system', async (t) => {
  await testBlobStore(t, async (t) => createBlobStore(folders(t)))
})

t.test('blob store: temp files go, files are private, folders are 256 at most', async (t) => {
  const { dir, tempDir } = folders(t)
  const store = createBlobStore({ dir, tempDir })
  const staged = await store.stage(chunksOf(randomBytes(10), 10))
  t.equal(readdirSync(tempDir).length, 1)
  await staged.keep()
  t.same(readdirSync(tempDir), [])
  const file = path.join(dir, staged.sha256.slice(0, 2), staged.sha256)
  t.equal(statSync(file).mode & 0o777, 0o600)
})

t.test('blob store: stageFile takes a file over, or leaves it where it was', async (t) => {
  const { dir, tempDir, root } = folders(t)
  const store = createBlobStore({ dir, tempDir })
  const bytes = randomBytes(300)
  const file = path.join(root, 'part')
  writeFileSync(file, bytes)
  const facts = await digestOf(chunksOf(bytes, 100))
  await (await store.stageFile(file, facts)).drop()
  t.equal(statSync(file).size, 300)
  await (await store.stageFile(file, facts)).keep()
  t.throws(() => statSync(file))
  t.same(await store.stat(facts.sha256), { sizeBytes: 300 })
})

t.test('blob store: DISK_FULL below the reserve leaves nothing', async (t) => {
  const { dir, tempDir, root } = folders(t)
  const space = createDiskSpace(root, Number.MAX_SAFE_INTEGER)
  const store = createBlobStore({ dir, tempDir, requireSpace: (bytes) => space.require(bytes) })
  await rejectsWith(t, store.stage(chunksOf(randomBytes(1000), 10)), 'DISK_FULL', { message: /bytes free/ })
  t.same(readdirSync(tempDir), [])
  t.ok((await space.freeBytes()) > 0)
  await t.resolves(createDiskSpace(root, 0).require(10))
})

t.test('part files: cut back to what is certain, refused when shorter', async (t) => {
  const parts = createPartFiles(path.join(t.testdir(), 'parts'))
  const writer = await parts.openAt('a-1', 0)
  await writer?.write([Buffer.from('hello '), Buffer.from('world')])
  await writer?.sync()
  await writer?.close()
  const again = await parts.openAt('a-1', 6)
  await again?.write([Buffer.from('there')])
  await again?.close()
  t.equal(Buffer.concat(await Array.fromAsync(parts.read('a-1', 100))).toString(), 'hello there')
  t.equal(await parts.openAt('a-1', 50), undefined, 'bytes that a row vouches for are missing')
  t.same(await parts.list(), ['a-1'])
  await parts.remove('a-1')
  await parts.remove('a-1')
  t.equal(await parts.has('a-1'), false)
  t.throws(() => parts.pathOf('../x'), /letters, digits/)
})
