import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { createS3Client, type S3Client } from '../../../src/files/s3/client.js'
import { createS3Store } from '../../../src/files/s3/store.js'
import { chunksOf, testBlobStore } from '../../support/blob-store-conformance.js'
import { openBucket, startSwift, swiftOptions, withoutSwift } from '../../support/swift.js'

const skip = withoutSwift()
const MIB = 1024 * 1024

/** A store with a prefix of its own in a bucket. */
function storeIn(t: Test, client: S3Client, options: { partBytes?: number; copyBytes?: number } = {}) {
  const tempDir = t.testdir()
  const { partBytes = 5 * MIB, copyBytes = 100 * MIB } = options
  const store = createS3Store({ client, prefix: `${randomUUID()}/`, tempDir, partBytes, copyBytes })
  return { store, tempDir }
}

const sha256Of = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

t.test('s3: Swift', { skip }, async (t) => {
  const swift = await startSwift(t)
  const client = await openBucket(t, swift, 'models')
  await testBlobStore(t, async (t) => storeIn(t, client).store)

  await t.test('parts: an upload larger than one, and ranges across their border', async (t) => {
    const { store, tempDir } = storeIn(t, client)
    const bytes = randomBytes(12 * MIB + 7)
    const staged = await store.stage(chunksOf(bytes, 100_003))
    await staged.keep()
    t.same(readdirSync(tempDir), [], 'nothing waits any more')
    t.same(await store.stat(staged.sha256), { sizeBytes: bytes.length })
    const whole = await store.open(staged.sha256)
    t.equal(sha256Of(Buffer.concat(await Array.fromAsync(whole ?? []))), staged.sha256)
    const range = { start: 5 * MIB - 5, end: 5 * MIB + 5 }
    const part = await store.open(staged.sha256, range)
    t.ok(Buffer.concat(await Array.fromAsync(part ?? [])).equals(bytes.subarray(range.start, range.end)))
  })

  await t.test('a stretch of a file is put, in parts too, and the file stays', async (t) => {
    const { store, tempDir } = storeIn(t, client)
    const file = path.join(tempDir, 'upload')
    const bytes = randomBytes(12 * MIB)
    writeFileSync(file, bytes)
    for (const range of [
      { start: 0, end: 5 },
      { start: 1000, end: 11 * MIB + 7 },
      { start: 12 * MIB - 1, end: 12 * MIB },
    ]) {
      const sha256 = await store.putRange(file, range)
      const expected = bytes.subarray(range.start, range.end)
      t.equal(sha256, sha256Of(expected))
      t.ok(Buffer.concat(await Array.fromAsync((await store.open(sha256)) ?? [])).equals(expected))
    }
    t.same(readdirSync(tempDir), ['upload'], 'without a copy')
  })

  await t.test('objects are listed with the time at which they were put', async (t) => {
    const { store } = storeIn(t, client)
    const staged = await store.stage(chunksOf(Buffer.from('aged'), 10))
    await staged.keep()
    const [found, ...others] = await Array.fromAsync(store.listAged())
    t.same([found?.sha256, others], [staged.sha256, []])
    t.ok(Math.abs((found?.putAtMs ?? 0) - Date.now()) < 600_000, String(found?.putAtMs))
  })

  await t.test('a file of this disk is sent and removed; dropped, it stays', async (t) => {
    const { store, tempDir } = storeIn(t, client)
    const file = path.join(tempDir, 'upload')
    const bytes = randomBytes(3000)
    writeFileSync(file, bytes)
    const md5 = createHash('md5').update(bytes).digest('hex')
    const facts = { sha256: sha256Of(bytes), md5, sizeBytes: bytes.length }
    await (await store.stageFile(file, facts)).drop()
    t.ok(existsSync(file))
    await (await store.stageFile(file, facts)).keep()
    t.notOk(existsSync(file))
    t.same(await store.stat(facts.sha256), { sizeBytes: 3000 })
    writeFileSync(file, bytes)
    const wrong = await store.stageFile(file, { ...facts, md5: '0'.repeat(32) })
    await t.rejects(
      wrong.keep(),
      { errorName: 'OBJECTS_UNAVAILABLE', message: /BadDigest/ },
      'the store compares',
    )
  })

  await t.test('copies on this disk: one download, checked, the least used go', async (t) => {
    const { store, tempDir } = storeIn(t, client, { copyBytes: 1 })
    const staged = await store.stage(chunksOf(Buffer.alloc(50_000, 7), 10_000))
    await staged.keep()
    const [one, other] = await Promise.all([store.localFile(staged.sha256), store.localFile(staged.sha256)])
    t.equal(one, other)
    t.equal(sha256Of(readFileSync(one ?? '')), staged.sha256)
    t.equal(await store.localFile('0'.repeat(64)), undefined)
    t.same(readdirSync(path.join(tempDir, 'copies')), [staged.sha256], 'it stays for whoever got its path')
    await store.remove(staged.sha256)
    t.same(readdirSync(path.join(tempDir, 'copies')), [])
  })

  await t.test('an address that anybody can read for a time', async (t) => {
    const { store } = storeIn(t, client)
    const staged = await store.stage(chunksOf(Buffer.from('rain'), 2))
    await staged.keep()
    const url = await store.presign(staged.sha256, 60)
    const answer = await fetch(url)
    t.same([answer.status, await answer.text()], [200, 'rain'])
    const tampered = await fetch(url.replace(staged.sha256, '0'.repeat(64)))
    t.equal(tampered.status, 403)
    await tampered.body?.cancel()
  })

  await t.test('a list of many pages, in order', async (t) => {
    const { store } = storeIn(t, client)
    const digests = new Set<string>()
    for (let at = 0; at < 40; at++) {
      const staged = await store.stage(chunksOf(randomBytes(10), 10))
      digests.add(staged.sha256)
      await staged.keep()
    }
    t.same(await Array.fromAsync(store.list()), [...digests].sort())
  })

  await t.test('what the store refuses is told with what was expected', async (t) => {
    const check = async (options: Partial<ReturnType<typeof swiftOptions>>) => {
      const other = createS3Client({ ...swiftOptions(swift, 'models'), timeoutMs: 2000, ...options })
      t.teardown(() => other.close())
      return await storeIn(t, other).store.check()
    }
    await check({})
    await t.rejects(check({ secretKey: 'wrong' }), {
      errorName: 'OBJECTS_UNAVAILABLE',
      message: /SignatureDoesNotMatch.*expected the secret of this access key/s,
    })
    await t.rejects(check({ accessKey: 'nobody' }), { errorName: 'OBJECTS_UNAVAILABLE', message: /expected/ })
    await t.rejects(check({ bucket: 'none' }), { message: /NoSuchBucket.*expected a bucket that exists/s })
    await t.rejects(check({ endpoint: 'http://127.0.0.1:1' }), { message: /ECONNREFUSED/ })
  })

  await t.test('a frozen store ends in an error, and nothing is left', async (t) => {
    const own = await startSwift(t)
    await openBucket(t, own, 'models')
    const hasty = createS3Client({ ...swiftOptions(own, 'models'), timeoutMs: 300 })
    t.teardown(() => hasty.close())
    const { store, tempDir } = storeIn(t, hasty)
    const staged = await store.stage(chunksOf(randomBytes(100_000), 1000))
    process.kill(own.pid, 'SIGSTOP')
    await t.rejects(staged.keep(), {
      errorName: 'OBJECTS_UNAVAILABLE',
      message: /found no answer within 300 ms/,
    })
    await t.rejects(store.stat(staged.sha256), /found no answer within 300 ms/)
    await staged.drop()
    t.same(readdirSync(tempDir), [])
  })
})
