import { randomBytes } from 'node:crypto'
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { AppError } from '../../src/errors.js'
import { HEAD_BYTES } from '../../src/models/delta/format.js'
import { rebuild } from '../../src/models/rebuild.js'
import { attemptParts } from '../support/attempts.js'
import { deltaOf, digested } from '../support/deltas.js'
import { rejectsWith } from '../support/rejects-with.js'

const BASE = randomBytes(20_000)
const NEXT = Buffer.from(BASE)
NEXT.set(randomBytes(50), 7000)
const { sha256 } = digested(NEXT)
const base = digested(BASE).sha256

async function setUp(t: Test) {
  const at = await attemptParts(t)
  await at.put(BASE)
  const file = path.join(at.rebuild.tempDir, '..', 'arrived')
  const delta = await deltaOf(BASE, NEXT)
  writeFileSync(file, delta)
  const arrived = { file, base, sha256, sizeBytes: NEXT.length }
  const left = () => readdirSync(at.rebuild.tempDir)
  return { ...at, deps: at.rebuild, arrived, delta, file, left }
}

t.test('rebuild: the bytes with both digests, kept like those of an upload', async (t) => {
  const { deps, arrived, left } = await setUp(t)
  const staged = await rebuild(deps, arrived)
  t.match(staged, { sha256, sizeBytes: NEXT.length, md5: /^[0-9a-f]{32}$/ })
  await staged.keep()
  const bytes = Buffer.concat(await Array.fromAsync((await deps.blobs.open(sha256)) ?? []))
  t.ok(bytes.equals(NEXT))
  const dropped = await rebuild(deps, arrived)
  await dropped.drop()
  t.same(left(), [])
})

t.test('rebuild: BAD_DELTA for every flipped bit, and no file is left', async (t) => {
  const { deps, arrived, delta, file, left } = await setUp(t)
  for (let n = 0; n < 60; n++) {
    const at = n < 20 ? n * 5 : HEAD_BYTES + Math.floor(((delta.length - HEAD_BYTES) * (n - 20)) / 40)
    const damaged = Buffer.from(delta)
    damaged[at] = (damaged[at] ?? 0) ^ (1 << (n % 8))
    writeFileSync(file, damaged)
    await rejectsWith(t, rebuild(deps, arrived), 'BAD_DELTA')
  }
  writeFileSync(file, delta.subarray(0, -1))
  await rejectsWith(t, rebuild(deps, arrived), 'BAD_DELTA')
  writeFileSync(file, '')
  await rejectsWith(t, rebuild(deps, arrived), 'BAD_DELTA')
  t.same(left(), [])
})

t.test('rebuild: BAD_DELTA for another delta than was announced, before its blocks are read', async (t) => {
  const { deps, arrived, file } = await setUp(t)
  const calls: string[] = []
  const work: typeof deps.work = { ...deps.work, apply: async () => calls.push('apply') }
  const other = { ...deps, work }
  const wrong = rebuild(other, { ...arrived, sizeBytes: NEXT.length + 1 })
  await rejectsWith(t, wrong, 'BAD_DELTA', { message: /becomes 20000 bytes .*expected 20001/ })
  await rejectsWith(t, rebuild(other, { ...arrived, sha256: base }), 'BAD_DELTA', { message: /expected/ })
  await rejectsWith(t, rebuild(other, { ...arrived, base: sha256 }), 'BAD_DELTA', { message: /of the base/ })
  writeFileSync(file, await deltaOf(BASE, Buffer.alloc(2 ** 22)))
  await rejectsWith(t, rebuild(other, arrived), 'BAD_DELTA', { message: /becomes 4194304 bytes/ })
  t.same(calls, [])
})

t.test('rebuild: BAD_DELTA when the base is gone, its bytes are others, or the thread dies', async (t) => {
  const { deps, arrived, left } = await setUp(t)
  const stored = (await deps.blobs.localFile(base)) ?? ''
  writeFileSync(stored, randomBytes(BASE.length))
  await rejectsWith(t, rebuild(deps, arrived), 'BAD_DELTA')
  rmSync(stored)
  await rejectsWith(t, rebuild(deps, arrived), 'BAD_DELTA', { message: /no bytes of the base/ })
  writeFileSync(stored, BASE)
  const died = { ...deps.work, apply: () => Promise.reject(new Error('the worker died')) }
  await rejectsWith(t, rebuild({ ...deps, work: died }, arrived), 'BAD_DELTA', { message: /the worker died/ })
  t.same(left(), [])
})

t.test('rebuild: a full disk, a busy thread and a shutdown say nothing about the delta', async (t) => {
  const { deps, arrived, left } = await setUp(t)
  const full = { ...deps, requireSpace: () => Promise.reject(new AppError('DISK_FULL')) }
  await rejectsWith(t, rebuild(full, arrived), 'DISK_FULL')
  const failing = (error: Error) => ({ ...deps, work: { ...deps.work, apply: () => Promise.reject(error) } })
  const noSpace = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
  await rejectsWith(t, rebuild(failing(noSpace), arrived), 'DISK_FULL')
  await rejectsWith(t, rebuild(failing(new AppError('BUSY')), arrived), 'BUSY')
  await rejectsWith(t, rebuild(failing(new AppError('CANCELLED')), arrived), 'CANCELLED')
  t.same(left(), [])
})
