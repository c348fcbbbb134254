import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import type { State } from '../../../src/storage/state.js'

type Open = (t: Test) => Promise<Pick<State, 'uploads'> & { advance(ms: number): void }>

const SHA = 'ab'.repeat(32)

/** Resumable uploads. @param open fresh and empty, on a clock that stands still until it is moved */
export async function conformUploads(t: Test, open: Open): Promise<void> {
  const upload = (more: { keyId?: string; sizeBytes?: number; params?: string } = {}) => ({
    ...{ uploadId: randomUUID(), keyId: 'k', sha256: SHA, sizeBytes: 5, params: '{"b":1,"a":"ä"}' },
    ...more,
  })

  await t.test('uploads: found by id, and by key, bytes and facts', async (t) => {
    const { uploads } = await open(t)
    const made = await uploads.create(upload())
    t.match(made, { keyId: 'k', offsetBytes: 0, params: '{"b":1,"a":"ä"}', modelId: null })
    t.equal(made.createdAtUs, made.activeAtUs)
    t.strictSame(await uploads.find(made.uploadId), made)
    t.strictSame(await uploads.findSame('k', SHA, made.params), made)
    t.equal(await uploads.findSame('other', SHA, made.params), undefined)
    t.equal(await uploads.findSame('k', SHA, '{"a":"ä","b":1}'), undefined, 'by the text')
    t.equal(await uploads.find(randomUUID()), undefined)
    await t.rejects(uploads.create({ ...upload(), uploadId: made.uploadId }), 'an id is there once')
    await t.rejects(uploads.create(upload({ params: '[]' })))
    await uploads.remove(made.uploadId)
    await uploads.remove(made.uploadId)
    t.same(await uploads.ids(), [])
  })

  await t.test('uploads: offsets, and what is open, complete or idle', async (t) => {
    const state = await open(t)
    const { uploads } = state
    t.equal(await uploads.missingBytes(), 0)
    const large = await uploads.create(upload({ sizeBytes: 5_000_000_000_000 }))
    state.advance(1000)
    const small = await uploads.create(upload({ keyId: 'other' }))
    t.equal(await uploads.missingBytes(), 5_000_000_000_005)
    state.advance(1000)
    await uploads.advance(large.uploadId, 4_999_999_999_999)
    t.equal(await uploads.missingBytes(), 6)
    t.match(await uploads.find(large.uploadId), { offsetBytes: 4_999_999_999_999 })
    t.same(
      (await uploads.listIdle(Number.MAX_SAFE_INTEGER, 10)).map(({ uploadId }) => uploadId),
      [small.uploadId, large.uploadId],
      'longest idle first',
    )
    t.same(await uploads.listIdle(small.activeAtUs, 10), [])
    t.same(await uploads.listUnregistered(10), [])
    await uploads.advance(small.uploadId, 5)
    await uploads.advance(large.uploadId, 5_000_000_000_000)
    t.same(await uploads.listUnregistered(10), [large.uploadId, small.uploadId], 'oldest first')
    t.same(await uploads.listUnregistered(1), [large.uploadId])
    t.equal(await uploads.countOpen('k'), 1)
    t.equal(await uploads.countOpen('nobody'), 0)
    t.same(await uploads.ids(), [large.uploadId, small.uploadId].sort())
  })
}
