import { createHash, randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { AppError } from '../../src/errors.js'
import type { TransferNote } from '../../src/storage/models/transfers.js'
import type { Attempt } from '../../src/sync/attempt.js'
import { unreachable } from '../../src/sync/faults.js'
import { pushResumable } from '../../src/sync/push-resumable.js'
import { attemptParts, replyOf, type SentRequest, type Step, scriptedClient } from '../support/attempts.js'
import { rejectsWith } from '../support/rejects-with.js'

const BYTES = randomBytes(5000)
const SHA256 = createHash('sha256').update(BYTES).digest('hex')
const DONE = replyOf(200, { model_id: 'theirs' })
const BREAK = unreachable(new Error('the link broke'))
const WANTED = { have: false, upload_url: '/base/uploads/1', offset: 0 }
const offsetIs = (offset: number | string, status = 200) =>
  replyOf(status, '', { 'upload-offset': String(offset) })

/** Receives some bytes of a body, then breaks. */
const breakAfter = (bytes: number) => async (request: SentRequest) => {
  let received = 0
  for await (const chunk of request.body) {
    received += chunk.byteLength
    if (received >= bytes) break
  }
  throw BREAK
}

/** A model whose push is answered by a script. Announcements are answered by `announced`, then by WANTED. */
async function setUp(t: Test, steps: Step[], announced: unknown[] = [], resumeUrl: string | null = null) {
  const at = await attemptParts(t)
  const model = await at.put(BYTES)
  const transfer = { ...(await at.begin('feedback')), resumeUrl }
  const params: object[] = []
  const script = scriptedClient(steps, {
    'fl.announce': (given) => {
      params.push(given)
      return announced.shift() ?? WANTED
    },
  })
  const notes: TransferNote[] = []
  const transfers: typeof at.deps.transfers = {
    ...at.deps.transfers,
    async note(transferId, change) {
      notes.push(change)
      await at.deps.transfers.note(transferId, change)
    },
  }
  const deps = { ...at.deps, transfers }
  const push = async (change: Partial<Attempt> = {}) => {
    const attempt = at.attemptOf(transfer, script.client, change)
    return { attempt, answer: pushResumable(deps, attempt, model) }
  }
  return { ...at, ...script, model, params, notes, push, run: async () => await (await push()).answer }
}

t.test('push resumable: announces, sends all bytes and returns the answer', async (t) => {
  const { push, calls, requests, params, notes, model, upstream } = await setUp(t, [DONE])
  const { attempt, answer } = await push()
  t.equal(await answer, '{"model_id":"theirs"}')
  t.same(calls, ['fl.announce', 'PATCH /base/uploads/1'])
  t.match(params, [
    { sha256: SHA256, size: 5000, data: { model_store_ddc: upstream.upstreamStore, round: 3 } },
  ])
  t.match(params, [{ data: { origin: { node: 'here', model_id: model.modelId, chain: ['here'] } } }])
  t.ok(requests[0]?.body.equals(BYTES))
  t.same(requests[0]?.headers, {
    'tus-resumable': '1.0.0',
    'content-type': 'application/offset+octet-stream',
    'content-length': '5000',
    'upload-offset': '0',
  })
  t.same(notes, [{ bytesSent: 0, resumeUrl: '/base/uploads/1' }])
  t.same(attempt.moved, [1000, 1000, 1000, 1000, 1000])
})

t.test('push resumable: bytes that the peer has are not sent', async (t) => {
  const { run, calls } = await setUp(t, [], [{ have: true, model_info: { model_id: 'known' } }])
  t.equal(await run(), '{"model_id":"known"}')
  t.same(calls, ['fl.announce'])
})

t.test('push resumable: continues where an announced upload stands', async (t) => {
  const { push, requests } = await setUp(t, [DONE], [{ ...WANTED, offset: 4000 }])
  const { attempt, answer } = await push()
  await answer
  t.ok(requests[0]?.body.equals(BYTES.subarray(4000)))
  t.match(requests[0]?.headers, { 'content-length': '1000', 'upload-offset': '4000' })
  t.equal(attempt.progress.doneBytes, 4000)
})

t.test('push resumable: an upload of an earlier attempt is asked for its offset', async (t) => {
  for (const status of [200, 204]) {
    const { run, calls, requests, notes } = await setUp(t, [offsetIs(3000, status), DONE], [], '/up/7')
    t.equal(await run(), '{"model_id":"theirs"}')
    t.same(calls, ['HEAD /up/7', 'PATCH /up/7'])
    t.match(requests[0]?.headers, { 'tus-resumable': '1.0.0' })
    t.ok(requests[1]?.body.equals(BYTES.subarray(3000)))
    t.same(notes, [{ bytesSent: 3000, resumeUrl: '/up/7' }])
  }
})

t.test(
  'push resumable: the answer to a HEAD is discarded, so that its connection is used again',
  async (t) => {
    const head = offsetIs(0)
    const { run } = await setUp(t, [head, DONE], [], '/up/7')
    await run()
    t.equal(head.isDiscarded, true)
  },
)

t.test('push resumable: an upload that the peer no longer knows is announced again', async (t) => {
  for (const status of [404, 410]) {
    const atHead = await setUp(t, [replyOf(status), DONE], [], '/up/7')
    t.equal(await atHead.run(), '{"model_id":"theirs"}', `HEAD answered ${status}`)
    t.same(atHead.calls, ['HEAD /up/7', 'fl.announce', 'PATCH /base/uploads/1'])
    const atPatch = await setUp(t, [replyOf(status), DONE])
    t.equal(await atPatch.run(), '{"model_id":"theirs"}', `PATCH answered ${status}`)
    t.same(atPatch.calls, ['fl.announce', 'PATCH /base/uploads/1', 'fl.announce', 'PATCH /base/uploads/1'])
  }
})

t.test('push resumable: UPSTREAM_REFUSED for an upload address of another origin', async (t) => {
  const { run, calls } = await setUp(t, [], [{ ...WANTED, upload_url: 'https://evil.example/uploads/1' }])
  await rejectsWith(t, run(), 'UPSTREAM_REFUSED', { message: /an upload address of another origin/ })
  t.same(calls, ['fl.announce'], 'nothing is sent there')
})

t.test('push resumable: UPSTREAM_REFUSED for a HEAD with another status or without an offset', async (t) => {
  for (const status of [500, 403, 201, 308]) {
    const { run } = await setUp(t, [replyOf(status, '', { 'upload-offset': '0' })], [], '/up/7')
    await rejectsWith(t, run(), 'UPSTREAM_REFUSED', { data: { status } })
  }
  for (const offset of ['', '-1', '0.5', 'x', '9007199254740992']) {
    const headers = offset === '' ? {} : { 'upload-offset': offset }
    const { run, calls } = await setUp(t, [replyOf(200, '', headers)], [], '/up/7')
    await rejectsWith(t, run(), 'UPSTREAM_REFUSED', {
      message: /no Upload-Offset/,
      data: { isMalformed: true },
    })
    t.same(calls, ['HEAD /up/7'], `offset ${offset}`)
  }
})

t.test('push resumable: after a break the offset is asked for and the rest is sent', async (t) => {
  const { push, calls, requests, sleeps, notes } = await setUp(t, [breakAfter(2000), offsetIs(2000), DONE])
  const { attempt, answer } = await push()
  t.equal(await answer, '{"model_id":"theirs"}')
  t.same(calls.slice(1), ['PATCH /base/uploads/1', 'HEAD /base/uploads/1', 'PATCH /base/uploads/1'])
  t.ok(requests.at(-1)?.body.equals(BYTES.subarray(2000)))
  t.same(sleeps, [], 'the first break is retried at once')
  t.same(
    notes.map(({ bytesSent }) => bytesSent),
    [0, 2000],
  )
  t.equal(attempt.progress.doneBytes, 2000)
})

t.test('push resumable: UPSTREAM_UNREACHABLE at the fourth break without a byte gained', async (t) => {
  const steps = [breakAfter(0), offsetIs(0), breakAfter(0), BREAK, BREAK]
  const { run, calls, sleeps } = await setUp(t, steps)
  await rejectsWith(t, run(), 'UPSTREAM_UNREACHABLE')
  t.same(
    calls.map((call) => call.slice(0, 5)),
    ['fl.an', 'PATCH', 'HEAD ', 'PATCH', 'HEAD ', 'HEAD '],
  )
  t.same(sleeps, [100, 100], 'half of 200 ms before the third and the fourth request')
})

t.test(
  'push resumable: a byte gained forgives the breaks before it, an offset known before does not',
  async (t) => {
    const gaining = [breakAfter(0)]
    for (let i = 1; i <= 4; i++) gaining.push(offsetIs(i * 1000) as never, breakAfter(0))
    const gained = await setUp(t, [...gaining, offsetIs(4000), DONE])
    t.equal(await gained.run(), '{"model_id":"theirs"}', 'five breaks, each after a thousand bytes more')
    t.same(gained.sleeps, [])
    // the offset falls back and grows again, but never beyond the best one
    const back = [offsetIs(3000), breakAfter(0), offsetIs(1000), breakAfter(0), offsetIs(2000), breakAfter(0)]
    const lost = await setUp(t, [...back, offsetIs(3000), breakAfter(0)], [], '/up/7')
    await rejectsWith(t, lost.run(), 'UPSTREAM_UNREACHABLE')
  },
)

t.test('push resumable: an attempt that was stopped is not continued', async (t) => {
  const controller = new AbortController()
  const stopping = async () => {
    controller.abort(new AppError('CANCELLED'))
    throw BREAK
  }
  const { push, calls } = await setUp(t, [stopping])
  await rejectsWith(t, (await push({ signal: controller.signal })).answer, 'UPSTREAM_UNREACHABLE')
  t.same(calls, ['fl.announce', 'PATCH /base/uploads/1'])
})

t.test('push resumable: CANCELLED between two pieces once sending is not allowed', async (t) => {
  const at = await setUp(t, [])
  const closing = async (request: SentRequest) => {
    for await (const _ of request.body) at.gate.reason = 'paused'
    throw new Error('the body was not interrupted')
  }
  const script = scriptedClient([closing], { 'fl.announce': () => WANTED })
  const transfer = (await at.state.transfers.find(1)) as never
  const attempt = at.attemptOf(transfer, script.client)
  await rejectsWith(t, pushResumable(at.deps, attempt, at.model), 'CANCELLED', { data: { reason: 'paused' } })
  t.same(attempt.moved, [1000])
})

t.test('push resumable: errors that are no break end the attempt', async (t) => {
  const { run, calls } = await setUp(t, [new Error('a fault of this program')])
  await t.rejects(run(), /a fault of this program/)
  t.equal(calls.length, 2)
})

t.test('push resumable: 204 at the end is announced again, 204 before it is continued', async (t) => {
  const known = { have: true, model_info: { model_id: 'registered' } }
  const complete = await setUp(t, [offsetIs(5000, 204)], [WANTED, known])
  t.equal(await complete.run(), '{"model_id":"registered"}')
  t.same(complete.calls, ['fl.announce', 'PATCH /base/uploads/1', 'fl.announce'])
  const partial = await setUp(t, [offsetIs(1000, 204), offsetIs(1000), DONE])
  t.equal(await partial.run(), '{"model_id":"theirs"}')
  t.same(partial.calls.slice(2), ['HEAD /base/uploads/1', 'PATCH /base/uploads/1'])
})

t.test('push resumable: UPSTREAM_REFUSED for 200 without a model, and for any other status', async (t) => {
  for (const text of ['', '{}', '{"model_id":7}', '[]', 'OK']) {
    const { run } = await setUp(t, [replyOf(200, text)])
    await rejectsWith(t, run(), 'UPSTREAM_REFUSED', { message: /no model_info after the last byte/ })
  }
  for (const status of [201, 400, 403, 413, 461, 500, 503]) {
    const { run, calls } = await setUp(t, [
      replyOf(status, '{"error":{"message":"not now"}}', { 'retry-after': '9' }),
    ])
    const refusal = { message: /: not now$/, data: { status, retryAfterS: 9 } }
    await rejectsWith(t, run(), 'UPSTREAM_REFUSED', refusal)
    t.equal(calls.length, 2)
  }
})

t.test(
  'push resumable: 409 and 423 ask for the offset again, at most three times without a byte',
  async (t) => {
    for (const status of [409, 423]) {
      const once = await setUp(t, [replyOf(status), offsetIs(2000), DONE])
      t.equal(await once.run(), '{"model_id":"theirs"}')
      t.ok(once.requests.at(-1)?.body.equals(BYTES.subarray(2000)))
      const steps = Array.from({ length: 4 }, () => [replyOf(status), offsetIs(0)]).flat()
      const held = await setUp(t, steps)
      await rejectsWith(t, held.run(), 'UPSTREAM_REFUSED', { data: { status } })
      t.equal(held.calls.filter((call) => call.startsWith('PATCH')).length, 4)
    }
  },
)

t.test('push resumable: wrong bytes at the peer are sent once more, then DIGEST_MISMATCH', async (t) => {
  const once = await setUp(t, [replyOf(460), DONE])
  t.equal(await once.run(), '{"model_id":"theirs"}')
  t.same(once.calls, ['fl.announce', 'PATCH /base/uploads/1', 'fl.announce', 'PATCH /base/uploads/1'])
  const twice = await setUp(t, [replyOf(460), replyOf(460)])
  await rejectsWith(t, twice.run(), 'DIGEST_MISMATCH', { message: /not those of the announced digest/ })
  t.match(await twice.state.models.counts(), { damaged: 0 })
})

t.test(
  'push resumable: MODEL_DAMAGED, and the model is marked, when its own bytes are wrong or gone',
  async (t) => {
    for (const [fault, bytes] of [
      ['wrong', BYTES.subarray(1)],
      ['missing', undefined],
    ] as const) {
      const at = await setUp(t, [replyOf(460)])
      const { deps, model } = at
      let opens = 0
      const open: typeof deps.blobs.open = async (sha256, range) => {
        if (opens++ === 0) return await deps.blobs.open(sha256, range)
        return bytes === undefined
          ? undefined
          : (async function* () {
              yield bytes
            })()
      }
      const attempt = at.attemptOf((await at.state.transfers.find(1)) as never, at.client)
      const run = pushResumable({ ...deps, blobs: { ...deps.blobs, open } }, attempt, model)
      await rejectsWith(t, run, 'MODEL_DAMAGED', { data: { model_id: model.modelId } })
      t.match(await at.state.models.counts(), { damaged: 1 }, fault)
    }
  },
)

t.test('push resumable: MODEL_DAMAGED when the bytes are not on disk', async (t) => {
  const { run, deps, model, calls } = await setUp(t, [])
  await deps.blobs.remove(model.sha256)
  await rejectsWith(t, run(), 'MODEL_DAMAGED', { data: { model_id: model.modelId } })
  t.same(calls, ['fl.announce'])
})
