import { randomBytes } from 'node:crypto'
import { fstatSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { createBlobStore, createDigester, digestOf, ifThere, isDiskFull } from '../../src/files/blob-store.js'
import { createDiskSpace } from '../../src/files/disk-space.js'
import { chunksOf, testBlobStore } from '../support/blob-store-conformance.js'
import { countClosed, replaceMethod, systemError } from '../support/file-handles.js'
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

t.test('blob store: a folder of staged files that was removed is made anew', async (t) => {
  const { dir, tempDir } = folders(t)
  const store = createBlobStore({ dir, tempDir })
  rmSync(tempDir, { recursive: true })
  const staged = await store.stage(chunksOf(randomBytes(10), 10))
  t.equal(statSync(tempDir).mode & 0o777, 0o700)
  await staged.keep()
  t.same(await store.stat(staged.sha256), { sizeBytes: 10 })
})

t.test('blob store: a dropped blob leaves no file', async (t) => {
  const { dir, tempDir } = folders(t)
  const staged = await createBlobStore({ dir, tempDir }).stage(chunksOf(randomBytes(10), 10))
  await staged.drop()
  t.same(readdirSync(tempDir), [])
})

t.test('blob store: its directory is created with those above it, and may exist', async (t) => {
  const { tempDir, root } = folders(t)
  const dir = path.join(root, 'a', 'b')
  for (let i = 0; i < 2; i++) createBlobStore({ dir, tempDir })
  t.equal(statSync(dir).mode & 0o777, 0o700)
})

t.test(
  'blob store: keep syncs the file before its name, then the folders that have a new name',
  async (t) => {
    const { dir, tempDir } = folders(t)
    const store = createBlobStore({ dir, tempDir })
    const synced: number[] = []
    replaceMethod(t, 'sync', async (handle, sync) => {
      synced.push(fstatSync(handle.fd).ino)
      await sync()
    })
    const bytes = randomBytes(10)
    const first = await store.stage(chunksOf(bytes, 10))
    const folder = path.join(dir, first.sha256.slice(0, 2))
    const file = () => statSync(path.join(folder, first.sha256)).ino
    t.equal(synced.length, 1, 'the bytes, when stage resolves')
    await first.keep()
    t.same(synced, [file(), statSync(folder).ino, statSync(dir).ino])
    synced.length = 0
    await (await store.stage(chunksOf(bytes, 10))).keep()
    t.same(synced, [file(), statSync(folder).ino], 'an existing folder has no new name')
  },
)

t.test('blob store: every handle is closed', async (t) => {
  const { dir, tempDir } = folders(t)
  const store = createBlobStore({ dir, tempDir })
  const closed = countClosed(t)
  const staged = await store.stage(chunksOf(randomBytes(10), 10))
  t.equal(closed(), 1)
  await staged.keep()
  t.equal(closed(), 3, 'two folders')
  const reader = await store.open(staged.sha256)
  await Array.fromAsync(reader ?? [])
  t.equal(closed(), 4)
  await reader?.return?.()
  t.same(await reader?.next(), { done: true, value: undefined })
  t.equal(closed(), 4)
  const unread = await store.open(staged.sha256)
  await unread?.return?.()
  t.same(await unread?.next(), { done: true, value: undefined }, 'a closed reader has no bytes')
  t.equal(closed(), 5)
})

t.test('blob store: small chunks are gathered to writes of 256 KiB', async (t) => {
  const writes: number[] = []
  replaceMethod(t, 'writev', async (_handle, writev, chunks: Uint8Array[]) => {
    writes.push(chunks.reduce((sum, { byteLength }) => sum + byteLength, 0))
    return await writev(chunks)
  })
  const store = createBlobStore(folders(t))
  const piece = 256 * 1024
  for (const [size, chunkBytes, expected] of [
    [0, 1, []],
    [100, 10, [100]],
    [2 * piece, piece, [piece, piece]],
    [2 * piece + 1, piece / 2, [piece, piece, 1]],
    [piece + 1, piece + 1, [piece + 1]],
  ] as const) {
    writes.length = 0
    await (await store.stage(chunksOf(randomBytes(size), chunkBytes))).drop()
    t.same(writes, expected, `${size} bytes`)
  }
})

t.test('blob store: writes that the system cuts short are continued', async (t) => {
  const { dir, tempDir } = folders(t)
  replaceMethod(t, 'writev', async (handle, _writev, [first]: Uint8Array[]) => {
    const { bytesWritten } = await handle.write(first ?? new Uint8Array(0), 0, 7)
    return { bytesWritten }
  })
  replaceMethod(t, 'write', async (_handle, write, bytes: Uint8Array, at: number) =>
    write(bytes, at, Math.min(11, bytes.byteLength - at)),
  )
  const bytes = randomBytes(100)
  const staged = await createBlobStore({ dir, tempDir }).stage(chunksOf(bytes, 30))
  const [name = ''] = readdirSync(tempDir)
  t.ok(readFileSync(path.join(tempDir, name)).equals(bytes))
  await staged.drop()
})

t.test('blob store: a full disk or quota is DISK_FULL, another fault of a write is itself', async (t) => {
  const { dir, tempDir } = folders(t)
  const store = createBlobStore({ dir, tempDir })
  let fault = systemError('ENOSPC')
  replaceMethod(t, 'writev', () => Promise.reject(fault))
  const stage = () => store.stage(chunksOf(randomBytes(10), 10))
  await rejectsWith(t, stage(), 'DISK_FULL')
  fault = systemError('EDQUOT')
  await rejectsWith(t, stage(), 'DISK_FULL')
  fault = systemError('EIO')
  await t.rejects(stage(), { code: 'EIO' })
  t.same(readdirSync(tempDir), [], 'nothing is left behind')
})

t.test('blob store: list has the digests in order, and no other file or folder', async (t) => {
  const { dir, tempDir } = folders(t)
  const store = createBlobStore({ dir, tempDir })
  const digests = Array.from(
    { length: 40 },
    (_, i) => `${['ab', '01', '50'][i % 3]}${randomBytes(31).toString('hex')}`,
  )
  for (const folder of ['ab', '01', '50', 'quarantine', 'xab', 'abx', 'AB']) mkdirSync(path.join(dir, folder))
  for (const digest of digests) writeFileSync(path.join(dir, digest.slice(0, 2), digest), '')
  const [other = ''] = digests
  for (const folder of ['quarantine', 'xab', 'abx']) writeFileSync(path.join(dir, folder, other), '')
  for (const name of [`${other}.tmp`, `x${other}`, 'notes']) writeFileSync(path.join(dir, 'ab', name), '')
  writeFileSync(path.join(dir, 'notes'), '')
  t.same(await Array.fromAsync(store.list()), digests.sort())
})

t.test(
  'blob store: a digest is 64 hex digits, nothing before or after; messages quote 80 characters',
  async (t) => {
    const store = createBlobStore(folders(t))
    const digest = 'ab'.repeat(32)
    t.equal(await store.stat(digest), undefined)
    for (const odd of [`x${digest}`, `${digest}/..`, `${digest}0`, '', 'x'.repeat(9999)]) {
      const error = await store.stat(odd).catch((thrown: unknown) => thrown)
      t.match(error, { message: /expected 64 hex digits/ }, odd.slice(0, 80))
      t.ok(error instanceof Error && error.message.length < 150)
    }
  },
)

t.test('blob store: faults other than a missing file come through', async (t) => {
  const { dir, tempDir } = folders(t)
  const store = createBlobStore({ dir, tempDir })
  writeFileSync(path.join(dir, 'ab'), 'a file in place of a folder')
  const works: ((sha256: string) => Promise<unknown>)[] = [
    store.stat,
    store.open,
    store.remove,
    store.quarantine,
  ]
  for (const work of works) {
    await t.rejects(work('ab'.repeat(32)), { code: 'ENOTDIR' })
  }
})

t.test('digester: facts so far, and a copy that continues on its own', async (t) => {
  const whole = createDigester()
  whole.update(Buffer.from('ab'))
  const copy = whole.copy()
  whole.update(Buffer.from('c'))
  t.same(whole.facts(), {
    sha256: 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    md5: '900150983cd24fb0d6963f7d28e17f72',
    sizeBytes: 3,
  })
  t.equal(copy.facts().sizeBytes, 2)
  copy.update(Buffer.from('c'))
  t.same(copy.facts(), whole.facts())
  t.same(await digestOf(chunksOf(Buffer.from('abc'), 2)), whole.facts())
})

t.test('isDiskFull: the two codes of the system and nothing else', async (t) => {
  for (const code of ['ENOSPC', 'EDQUOT']) t.ok(isDiskFull(systemError(code)), code)
  for (const error of [
    systemError('EIO'),
    new Error('ENOSPC'),
    { code: 'ENOSPC' },
    null,
    undefined,
    'ENOSPC',
  ]) {
    t.equal(isDiskFull(error), false, String(error))
  }
})

t.test('ifThere: undefined for a missing file alone', async (t) => {
  t.equal(await ifThere(Promise.resolve(0)), 0)
  t.equal(await ifThere(Promise.reject(systemError('ENOENT'))), undefined)
  for (const error of [systemError('EACCES'), new Error('ENOENT'), { code: 'ENOENT' }]) {
    t.equal(await ifThere(Promise.reject(error)).catch((thrown: unknown) => thrown), error)
  }
})
