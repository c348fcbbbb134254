import { createHash } from 'node:crypto'
import { existsSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { AppError } from '../../../src/errors.js'
import { createBlobStore } from '../../../src/files/blob-store.js'
import { createPartFiles } from '../../../src/files/part-files.js'
import { type FetchFileDeps, fetchFile } from '../../../src/fleet/member/fetch-file.js'
import { unreachable } from '../../../src/sync/faults.js'
import type { Reply } from '../../../src/sync/http-client.js'
import { rejectsWith } from '../../support/rejects-with.js'

const BYTES = Buffer.from('the bytes of a map, of which some come first')
const SHA256 = createHash('sha256').update(BYTES).digest('hex')
const { signal } = new AbortController()

interface Answer {
  status: number
  headers?: Record<string, string>
  body?: Uint8Array
  /** the connection breaks after the body */
  isCut?: boolean
}

/** A member that downloads one file from a hub that answers in turn. */
function member(t: Test, answers: (Answer | Error)[], more: Partial<FetchFileDeps> = {}) {
  const dir = t.testdir({ tmp: {} })
  const parts = createPartFiles(path.join(dir, 'parts'))
  const held = createBlobStore({ dir: path.join(dir, 'held'), tempDir: path.join(dir, 'tmp') })
  const asked: (string | undefined)[] = []
  const client = {
    async send({ headers }: { headers?: Record<string, string> }): Promise<Reply> {
      asked.push(headers?.range)
      const answer = answers.shift() ?? new Error('the hub was asked once too often')
      if (answer instanceof Error) throw answer
      const { status, headers: found = {}, body = Buffer.alloc(0), isCut = false } = answer
      return {
        ...{ status, headers: found },
        text: async () => Buffer.from(body).toString(),
        async *chunks() {
          yield body
          if (isCut) throw unreachable(new Error('cut'))
        },
        discard: async () => undefined,
      }
    },
  }
  const deps: FetchFileDeps = {
    ...{ parts, held, throttle: { pieceBytes: 1, take: async () => undefined } },
    closedReason: async () => null,
    requireSpace: async () => undefined,
    sleep: async () => undefined,
    random: () => 0,
    ...more,
  }
  const progress = { bytes: 0, totalBytes: null }
  const part = parts.pathOf(SHA256)
  return { asked, held, part, progress, fetch: () => fetchFile(deps, client, SHA256, progress, signal) }
}

const whole = (body: Uint8Array = BYTES): Answer => ({
  status: 200,
  headers: { 'content-length': String(body.byteLength) },
  body,
})
const rest = (from: number, body: Uint8Array = BYTES.subarray(from)): Answer => ({
  status: 206,
  headers: { 'content-range': `bytes ${from}-${BYTES.length - 1}/${BYTES.length}` },
  body,
})

t.test('fetchFile: a file is held, and its part is gone', async (t) => {
  const { fetch, held, part } = member(t, [whole()])
  await fetch()
  t.match(await held.stat(SHA256), { sizeBytes: BYTES.length })
  t.notOk(existsSync(part))
})

t.test('fetchFile: after cuts the rest alone is requested', async (t) => {
  const cut: Answer = { ...whole(), body: BYTES.subarray(0, 10), isCut: true }
  const { fetch, held, asked } = member(t, [
    cut,
    { ...rest(10, BYTES.subarray(10, 15)), isCut: true },
    rest(15),
  ])
  await fetch()
  t.same(asked, [undefined, 'bytes=10-', 'bytes=15-'])
  t.ok(await held.stat(SHA256))
})

t.test('fetchFile: a hub that breaks off without a byte is left until the next report', async (t) => {
  const cuts = Array.from({ length: 4 }, () => unreachable(new Error('cut')))
  const { fetch, asked } = member(t, cuts)
  await rejectsWith(t, fetch(), 'UPSTREAM_UNREACHABLE')
  t.equal(asked.length, 4)
})

t.test(
  'fetchFile: a complete part of an earlier start needs no byte, a longer one is thrown away',
  async (t) => {
    const none = (length: number): Answer => ({
      status: 416,
      headers: { 'content-range': `bytes */${length}` },
    })
    const complete = member(t, [none(BYTES.length)])
    writeFileSync(complete.part, BYTES)
    await complete.fetch()
    t.same(complete.asked, [`bytes=${BYTES.length}-`])
    const longer = member(t, [none(BYTES.length), whole()])
    writeFileSync(longer.part, Buffer.concat([BYTES, BYTES]))
    await longer.fetch()
    t.same(longer.asked, [`bytes=${2 * BYTES.length}-`, undefined])
  },
)

t.test('fetchFile: a hub that answers without bytes is not asked for ever', async (t) => {
  const empty = () => ({ ...rest(4), body: Buffer.alloc(0) })
  const none = member(t, [empty(), empty(), empty(), empty()])
  writeFileSync(none.part, BYTES.subarray(0, 4))
  await rejectsWith(t, none.fetch(), 'UPSTREAM_REFUSED', { message: /no bytes, expected the rest/ })
  t.equal(none.asked.length, 4)
  await rejectsWith(t, member(t, [{ status: 416 }]).fetch(), 'UPSTREAM_REFUSED', { message: /416/ })
})

t.test('fetchFile: wrong bytes are thrown away and named, and nothing is held', async (t) => {
  const wrong = Buffer.from(BYTES).fill(0, 5, 6)
  const { fetch, held, part } = member(t, [whole(wrong), whole()])
  await rejectsWith(t, fetch(), 'DIGEST_MISMATCH', { message: new RegExp(`expected ${SHA256}`) })
  t.notOk(existsSync(part))
  t.same(await Array.fromAsync(held.list()), [])
  await fetch()
  t.ok(await held.stat(SHA256), 'the next attempt begins at 0')
})

t.test('fetchFile: fewer bytes than announced are asked for again', async (t) => {
  const short: Answer = { ...whole(), body: BYTES.subarray(0, 7) }
  const { fetch, asked } = member(t, [short, rest(7)])
  await fetch()
  t.same(asked, [undefined, 'bytes=7-'])
})

t.test('fetchFile: more bytes than announced are refused', async (t) => {
  const long: Answer = { ...whole(), body: Buffer.concat([BYTES, BYTES]) }
  await rejectsWith(t, member(t, [long]).fetch(), 'BODY_TOO_LARGE')
})

t.test('fetchFile: answers without the wanted bytes are refused by their reason', async (t) => {
  const error = JSON.stringify({ error: { message: 'No file' } })
  const gone: Answer = { status: 404, body: Buffer.from(error) }
  await t.rejects(member(t, [gone]).fetch(), { message: 'The upstream answered 404: No file' })
  const other: Answer = { ...rest(3), status: 206 }
  await t.rejects(member(t, [other]).fetch(), { message: /other bytes than the requested ones/ })
  await t.rejects(member(t, [{ status: 200 }]).fetch(), { message: /other bytes/ })
})

t.test('fetchFile: a full disk ends it before the first byte, and keeps what is there', async (t) => {
  const asked: number[] = []
  const full = async (bytes: number) => {
    asked.push(bytes)
    throw new AppError('DISK_FULL', {})
  }
  const { fetch, part, held } = member(t, [rest(4)], { requireSpace: full })
  writeFileSync(part, BYTES.subarray(0, 4))
  await rejectsWith(t, fetch(), 'DISK_FULL')
  t.same(asked, [BYTES.length - 4])
  t.ok(existsSync(part))
  t.same(await Array.fromAsync(held.list()), [])
})

t.test('fetchFile: outside the windows it stops, and its bytes stay', async (t) => {
  const { fetch } = member(t, [whole()], { closedReason: async () => 'outside sync.windows' })
  await rejectsWith(t, fetch(), 'CANCELLED')
})
