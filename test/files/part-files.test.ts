import { fstatSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { createPartFiles } from '../../src/files/part-files.js'
import { countClosed, replaceMethod, systemError } from '../support/file-handles.js'
import { rejectsWith } from '../support/rejects-with.js'

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

const textOf = async (source: AsyncIterable<Uint8Array>) =>
  Buffer.concat(await Array.fromAsync(source)).toString()

t.test('part files: the directory is created with those above it, and may exist', async (t) => {
  const dir = path.join(t.testdir(), 'a', 'b')
  for (let i = 0; i < 2; i++) createPartFiles(dir)
  t.equal(statSync(dir).mode & 0o777, 0o700)
})

t.test('part files: a directory that was removed is made anew, and what was in it is lost', async (t) => {
  const dir = path.join(t.testdir(), 'parts')
  const parts = createPartFiles(dir)
  rmSync(dir, { recursive: true })
  t.equal(await parts.openAt('a-1', 5), undefined)
  const writer = await parts.openAt('a-1', 0)
  await writer?.write([Buffer.from('hello')])
  await writer?.close()
  t.equal(await textOf(parts.read('a-1', 5)), 'hello')
})

t.test('part files: an id is 1 to 64 letters, digits and hyphens', async (t) => {
  const parts = createPartFiles(t.testdir())
  for (const id of ['a', 'Z-9', 'x'.repeat(64)]) t.match(parts.pathOf(id), new RegExp(`${id}\\.part$`))
  for (const id of ['', 'a/b', '../a', 'a.', ' a', 'a\n', 'é', 'x'.repeat(65)]) {
    t.throws(() => parts.pathOf(id), /letters, digits/, JSON.stringify(id))
  }
  t.throws(() => parts.pathOf('x'.repeat(9999)), /id x{80}, expected/, 'a long one is quoted in short')
})

t.test('part files: list and has know parts alone', async (t) => {
  const dir = t.testdir()
  const parts = createPartFiles(dir)
  writeFileSync(path.join(dir, 'notes.txt'), '')
  t.equal(await parts.has('a'), false)
  await (await parts.openAt('a', 0))?.close()
  t.equal(await parts.has('a'), true, 'an empty part too')
  t.same(await parts.list(), ['a'])
  t.equal(statSync(path.join(dir, 'a.part')).mode & 0o777, 0o600)
})

t.test('part files: a writer goes on where it was opened or cut', async (t) => {
  const parts = createPartFiles(t.testdir())
  const writer = await parts.openAt('a', 0)
  await writer?.write([Buffer.from('one '), Buffer.alloc(0), Buffer.from('two')])
  await writer?.write([])
  await writer?.truncate(4)
  await writer?.write([Buffer.from('2')])
  await writer?.close()
  t.equal(statSync(parts.pathOf('a')).size, 5)
  const again = await parts.openAt('a', 5)
  await again?.write([Buffer.from('!')])
  await again?.close()
  t.equal(await textOf(parts.read('a', 6)), 'one 2!')
  await (await parts.openAt('a', 3))?.close()
  t.equal(statSync(parts.pathOf('a')).size, 3, 'cut by opening')
})

t.test('part files: a read ends at its end or at that of the file', async (t) => {
  const parts = createPartFiles(t.testdir())
  writeFileSync(parts.pathOf('a'), Buffer.alloc(600_000, 'x'))
  const sizes: number[] = []
  for await (const bytes of parts.read('a', 600_000)) sizes.push(bytes.byteLength)
  t.same(sizes, [262_144, 262_144, 75_712])
  t.equal((await textOf(parts.read('a', 599_999))).length, 599_999)
  t.equal((await textOf(parts.read('a', 1e9))).length, 600_000)
  t.equal(await textOf(parts.read('a', 0)), '')
})

t.test('part files: writes that the system cuts short are continued', async (t) => {
  const parts = createPartFiles(t.testdir())
  const writer = await parts.openAt('a', 0)
  replaceMethod(t, 'write', (_handle, write, bytes: Uint8Array, from: number, length: number, at: number) => {
    t.equal(from + length, bytes.byteLength, 'the rest of the chunk')
    return write(bytes, from, Math.min(3, length), at)
  })
  await writer?.write([Buffer.from('0123456789'), Buffer.from('abcd')])
  await writer?.close()
  t.equal(await textOf(parts.read('a', 100)), '0123456789abcd')
})

t.test('part files: a full disk is DISK_FULL, another fault of a write is itself', async (t) => {
  const writer = await createPartFiles(t.testdir()).openAt('a', 0)
  let fault = systemError('ENOSPC')
  replaceMethod(t, 'write', () => Promise.reject(fault))
  await rejectsWith(t, writer?.write([Buffer.from('x')]) as Promise<void>, 'DISK_FULL')
  fault = systemError('EIO')
  await t.rejects(writer?.write([Buffer.from('x')]) as Promise<void>, { code: 'EIO' })
  await writer?.close()
})

t.test('part files: sync covers the bytes, and the name of a new part once', async (t) => {
  const dir = t.testdir()
  const parts = createPartFiles(dir)
  const synced: number[] = []
  replaceMethod(t, 'sync', async (handle, sync) => {
    synced.push(fstatSync(handle.fd).ino)
    await sync()
  })
  const writer = await parts.openAt('a', 0)
  await writer?.write([Buffer.from('x')])
  await writer?.sync()
  await writer?.sync()
  await writer?.close()
  const file = statSync(parts.pathOf('a')).ino
  t.same(synced, [file, statSync(dir).ino, file])
  synced.length = 0
  const again = await parts.openAt('a', 1)
  await again?.sync()
  await again?.close()
  t.same(synced, [file], 'a part with bytes has its name on disk')
})

t.test('part files: every handle is closed, also after a fault', async (t) => {
  const parts = createPartFiles(t.testdir())
  const closed = countClosed(t)
  const writer = await parts.openAt('a', 0)
  await writer?.write([Buffer.from('abc')])
  await writer?.close()
  t.equal(closed(), 1)
  await parts.openAt('a', 9)
  t.equal(closed(), 2, 'a part that is too short')
  for await (const _ of parts.read('a', 3)) break
  t.equal(closed(), 3, 'a read that is left')
  replaceMethod(t, 'truncate', () => Promise.reject(systemError('EIO')))
  await t.rejects(parts.openAt('a', 1), { code: 'EIO' })
  t.equal(closed(), 4)
  t.same(readdirSync(path.dirname(parts.pathOf('a'))), ['a.part'])
})
