import { createHash, randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { unreachable } from '../../src/sync/faults.js'
import { fetchModel } from '../../src/sync/fetch-model.js'
import { attemptParts, replyOf, type Step, scriptedClient } from '../support/attempts.js'
import { deltaOf } from '../support/deltas.js'
import { rejectsWith } from '../support/rejects-with.js'

const BASE = randomBytes(20_000)
const NEXT = Buffer.from(BASE)
NEXT.set(randomBytes(50), 7000)
const digest = (bytes: Uint8Array, algorithm = 'sha256') => createHash(algorithm).update(bytes).digest('hex')
const REMOTE = {
  model_id: 'theirs',
  model_kind: 'kind',
  model_hash: digest(NEXT, 'md5'),
  model_sha256: digest(NEXT),
  model_size: NEXT.length,
}
const FILE = '/api/v2/model_store/models/theirs/file'
const WITH_BASE = `GET ${FILE}?bases=${digest(BASE)}`
const WHOLE = replyOf(200, [NEXT])
const BREAK = unreachable(new Error('the link broke'))

function deltaReply(
  delta: Buffer,
  change: Record<string, string> = {},
  body = [delta] as (Buffer | Error)[],
) {
  const headers = { 'delta-base': `"${digest(BASE)}"`, etag: `"${digest(delta)}"` }
  return replyOf(200, body, { ...headers, 'content-length': String(delta.length), ...change })
}

async function setUp(t: Test, steps: Step[]) {
  const at = await attemptParts(t)
  const deltas = await at.openDeltas()
  await at.put(BASE)
  const transfer = await at.begin('fetch')
  const script = scriptedClient(steps, { 'model_store.model.get_info': () => [REMOTE] })
  const row = async () => (await at.state.transfers.find(transfer.transferId)) ?? transfer
  const peer = { isPeer: true, nodeId: 'there', hasSignatures: false, takesDeltas: true }
  const run = async (change: Partial<typeof at.deps> = {}) => {
    const attempt = at.attemptOf(await row(), script.client, { peer })
    return await fetchModel({ ...at.deps, deltas, ...change }, attempt)
  }
  /** file requests so far */
  const gets = () => script.calls.filter((call) => call.startsWith('GET'))
  return { ...at, ...script, deltas, row, run, gets }
}

t.test('fetch bytes: names its models, and rebuilds from the delta to one of them', async (t) => {
  const delta = await deltaOf(BASE, NEXT)
  const { run, gets, row, deps } = await setUp(t, [deltaReply(delta)])
  const { model } = await run()
  t.match(model, { state: 40, sha256: digest(NEXT), md5: digest(NEXT, 'md5') })
  t.same(gets(), [WITH_BASE])
  t.match(await row(), {
    state: 'delivered',
    bytesSent: delta.length,
    savedBytes: NEXT.length - delta.length,
    delta: { base: digest(BASE), sizeBytes: delta.length, error: null },
  })
  t.same(await deps.parts.list(), [])
  const bytes = Buffer.concat(await Array.fromAsync((await deps.blobs.open(digest(NEXT))) ?? []))
  t.ok(bytes.equals(NEXT))
})

t.test('fetch bytes: the whole model where the peer answers it, or deltas are off', async (t) => {
  const answered = await setUp(t, [WHOLE])
  await answered.run()
  t.same(answered.gets(), [WITH_BASE])
  t.match(await answered.row(), { state: 'delivered', delta: null, savedBytes: 0 })
  const off = await setUp(t, [WHOLE])
  await off.run({ deltas: null })
  t.same(off.gets(), [`GET ${FILE}`])
})

t.test('fetch bytes: a cut delta goes on with its own tag, also in the next attempt', async (t) => {
  const delta = await deltaOf(BASE, NEXT)
  const rest = replyOf(206, [delta.subarray(100)], {
    'content-range': `bytes 100-${delta.length - 1}/${delta.length}`,
    'delta-base': `"${digest(BASE)}"`,
  })
  const cut = deltaReply(delta, {}, [delta.subarray(0, 100), BREAK])
  const { run, gets, row, requests } = await setUp(t, [cut, replyOf(500), rest])
  await rejectsWith(t, run(), 'UPSTREAM_REFUSED')
  t.match(await row(), { bytesSent: 100, delta: { sha256: digest(delta) } })
  t.match((await run()).model, { sha256: digest(NEXT) })
  t.same(gets(), [WITH_BASE, WITH_BASE, WITH_BASE])
  t.same(requests[2]?.headers, { range: 'bytes=100-', 'if-range': `"${digest(delta)}"` })
})

t.test('fetch bytes: the server has another delta, or none, after a cut', async (t) => {
  const delta = await deltaOf(BASE, NEXT)
  const cut = () => deltaReply(delta, {}, [delta.subarray(0, 100), BREAK])
  const other = await setUp(t, [cut(), deltaReply(delta)])
  t.match((await other.run()).model, { sha256: digest(NEXT) })
  const none = await setUp(t, [cut(), WHOLE])
  t.match((await none.run()).model, { sha256: digest(NEXT) })
  t.match(await none.row(), { delta: null, savedBytes: 0, bytesSent: NEXT.length })
})

t.test('fetch bytes: after a flipped bit the model itself is requested, with the reason', async (t) => {
  const delta = await deltaOf(BASE, NEXT)
  const flipped = Buffer.from(delta)
  flipped[120] = (flipped[120] ?? 0) ^ 1
  const { run, gets, row, deps } = await setUp(t, [deltaReply(flipped), WHOLE])
  t.match((await run()).model, { sha256: digest(NEXT) })
  t.same(gets(), [WITH_BASE, `GET ${FILE}`])
  t.match(await row(), { savedBytes: 0, delta: { sizeBytes: null, error: /^Bad delta: / } })
  t.same(await deps.parts.list(), [])
})

t.test('fetch bytes: a base that goes before the rebuild, and a full disk', async (t) => {
  const delta = await deltaOf(BASE, NEXT)
  const at = await setUp(t, [deltaReply(delta), WHOLE])
  const { rebuild } = at.deltas
  const missing = { ...rebuild, blobs: { ...rebuild.blobs, localFile: async () => undefined } }
  t.match((await at.run({ deltas: { ...at.deltas, rebuild: missing } })).model, { sha256: digest(NEXT) })
  t.match(await at.row(), { delta: { error: /no bytes of the base/ } })

  const full = await setUp(t, [deltaReply(delta)])
  const work = { ...full.deltas.rebuild.work, apply: () => Promise.reject(noSpace()) }
  const deltas = { ...full.deltas, rebuild: { ...full.deltas.rebuild, work } }
  await rejectsWith(t, full.run({ deltas }), 'DISK_FULL')
  t.match(await full.row(), { bytesSent: delta.length, delta: { error: null } })
  t.match((await full.run()).model, { sha256: digest(NEXT) }, 'later, without another request')
  t.equal(full.gets().length, 1)
})

t.test('fetch bytes: a delta that cannot be used is not read', async (t) => {
  const delta = await deltaOf(BASE, NEXT)
  for (const change of [
    { 'delta-base': `"${'f'.repeat(64)}"` },
    { etag: 'W/"1"' },
    { 'content-length': String(NEXT.length) },
    { 'content-length': '' },
  ]) {
    const { run, gets, row } = await setUp(t, [deltaReply(delta, change), WHOLE])
    t.match((await run()).model, { sha256: digest(NEXT) })
    t.same(gets(), [WITH_BASE, `GET ${FILE}`])
    t.match(await row(), { delta: { sizeBytes: null, error: /without a base, an ETag or a size/ } })
  }
})

function noSpace(): Error {
  return Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
}
