import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { AppError } from '../../src/errors.js'
import type { AttemptDeps } from '../../src/sync/attempt.js'
import { unreachable } from '../../src/sync/faults.js'
import { pushResumable } from '../../src/sync/push-resumable.js'
import { attemptParts, replyOf, type Step, scriptedClient } from '../support/attempts.js'
import { patched } from '../support/deltas.js'
import { rejectsWith } from '../support/rejects-with.js'

const BASE = randomBytes(20_000)
const NEXT = Buffer.from(BASE)
NEXT.set(randomBytes(50), 7000)
const DONE = replyOf(200, { model_id: 'theirs' })
const WHOLE = { have: false, upload_url: '/base/uploads/whole', offset: 0 }
const REFUSED = replyOf(422, { error: { message: 'Bad delta: found another base' } })
const BREAK = unreachable(new Error('the link broke'))

interface Announced {
  bases?: string[]
  delta?: { base: string; sha256: string; size: number }
}
type Answer = (params: Announced) => unknown
/** The peer has the first base, and takes a delta to it. */
const TAKES: Answer = ({ bases, delta }) => {
  if (delta !== undefined) return { ...WHOLE, upload_url: '/base/uploads/delta', base: delta.base }
  return bases === undefined ? WHOLE : { have: false, base: bases[0] }
}

async function setUp(t: Test, steps: Step[], answer: Answer = TAKES) {
  const at = await attemptParts(t)
  const deltas = await at.openDeltas()
  const base = await at.put(BASE)
  await at.state.transfers.deliver((await at.begin('feedback')).transferId, '{}')
  const model = await at.put(NEXT)
  const { transferId } = await at.begin('feedback')
  const announced: Announced[] = []
  const script = scriptedClient(steps, {
    'fl.announce': (params) => {
      announced.push(params as Announced)
      return answer(params as Announced)
    },
  })
  const stop = new AbortController()
  const row = async () => await at.state.transfers.find(transferId)
  const deps: AttemptDeps = { ...at.deps, deltas }
  const run = async (takesDeltas = true, change: Partial<AttemptDeps> = {}) => {
    const transfer = await row()
    if (transfer === undefined) throw new Error('the transfer is missing')
    const peer = { isPeer: true, nodeId: 'there', hasSignatures: false, takesDeltas }
    const attempt = at.attemptOf(transfer, script.client, { peer, signal: stop.signal })
    return await pushResumable({ ...deps, ...change }, attempt, model)
  }
  return { ...at, ...script, deltas, base: base.sha256, model, announced, row, run, stop, deps }
}

t.test('push delta: a base is agreed, the delta is sent and noted, and removed in the end', async (t) => {
  const { run, announced, base, model, requests, row, deltas } = await setUp(t, [DONE])
  t.equal(await run(), '{"model_id":"theirs"}')
  t.match(announced, [{ bases: [base] }, { delta: { base } }])
  t.equal(announced[1]?.bases, undefined)
  const sent = requests[0]?.body ?? Buffer.alloc(0)
  t.ok((await patched(BASE, sent)).equals(NEXT))
  t.equal(requests[0]?.headers['content-length'], String(sent.length))
  t.equal(announced[1]?.delta?.size, sent.length)
  t.match(await row(), {
    delta: { base, sizeBytes: sent.length, error: null },
    savedBytes: NEXT.length - sent.length,
  })
  t.equal(await deltas.store.find({ base, next: model.sha256 }), undefined)
})

t.test('push delta: none to a peer that takes none, and none where they are off', async (t) => {
  const { run, announced, requests, row } = await setUp(t, [DONE, replyOf(404), DONE])
  await run(false)
  await run(true, { deltas: null })
  t.same(
    announced.map(({ bases }) => bases),
    [undefined, undefined],
  )
  t.ok(requests[0]?.body.equals(NEXT))
  t.match(await row(), { delta: null, savedBytes: 0 })
})

t.test('push delta: the model itself follows when the peer refuses the delta', async (t) => {
  for (const refusal of [REFUSED, replyOf(460), replyOf(413), replyOf(400)]) {
    const { run, announced, calls, requests, row, base } = await setUp(t, [refusal, DONE])
    t.equal(await run(), '{"model_id":"theirs"}')
    t.match(announced, [{ bases: [base] }, { delta: {} }, {}])
    t.same([announced[2]?.bases, announced[2]?.delta], [undefined, undefined])
    t.equal(calls.at(-1), 'PATCH /base/uploads/whole')
    t.ok(requests[1]?.body.equals(NEXT))
    t.match(await row(), {
      savedBytes: 0,
      delta: { base, sizeBytes: null, error: /^The upstream answered 4/ },
    })
  }
})

t.test('push delta: the model itself follows when the offset of the delta is refused', async (t) => {
  const { run, calls } = await setUp(t, [BREAK, REFUSED, DONE])
  await run()
  t.same(calls.slice(2), [
    'PATCH /base/uploads/delta',
    'HEAD /base/uploads/delta',
    'fl.announce',
    'PATCH /base/uploads/whole',
  ])
})

t.test('push delta: the model itself follows when the base goes after the agreement', async (t) => {
  const { run, requests, row, base } = await setUp(t, [DONE], ({ bases }) =>
    bases === undefined ? WHOLE : { have: false, base: bases[0] },
  )
  await run()
  t.ok(requests[0]?.body.equals(NEXT))
  t.match(await row(), {
    resumeUrl: '/base/uploads/whole',
    delta: { base, sizeBytes: null, error: /no longer/ },
  })
})

t.test('push delta: the model itself follows when no delta can be made', async (t) => {
  const { run, deps, requests, row, base } = await setUp(t, [DONE])
  await deps.blobs.remove(base)
  await run()
  t.ok(requests[0]?.body.equals(NEXT))
  t.match(await row(), { delta: { base, sizeBytes: null, error: /Found no bytes of the base/ } })
})

t.test('push delta: a refused delta is not tried again by the next attempt', async (t) => {
  const { run, announced } = await setUp(t, [REFUSED, replyOf(503), replyOf(404), DONE])
  await rejectsWith(t, run(), 'UPSTREAM_REFUSED')
  await run()
  t.equal(announced.filter(({ bases }) => bases !== undefined).length, 1)
})

t.test('push delta: the model itself follows when the peer loses the delta twice', async (t) => {
  const { run, calls, row } = await setUp(t, [replyOf(404), replyOf(410), DONE])
  await run()
  t.same(
    calls.filter((call) => call.startsWith('PATCH')),
    ['PATCH /base/uploads/delta', 'PATCH /base/uploads/delta', 'PATCH /base/uploads/whole'],
  )
  t.match(await row(), { savedBytes: 0, delta: { sizeBytes: null } })
})

t.test('push delta: another attempt goes on with the bytes of the first', async (t) => {
  const offset = replyOf(200, '', { 'upload-offset': '40' })
  const { run, calls, requests, row, base, model, deltas } = await setUp(t, [replyOf(503), offset, DONE])
  await rejectsWith(t, run(), 'UPSTREAM_REFUSED')
  const size = (await row())?.delta?.sizeBytes ?? 0
  await run()
  t.same(calls.slice(3), ['HEAD /base/uploads/delta', 'PATCH /base/uploads/delta'])
  t.equal(requests[2]?.body.length, size - 40)
  t.ok(requests[0]?.body.subarray(40).equals(requests[2]?.body ?? Buffer.alloc(0)))
  t.equal(await deltas.store.find({ base, next: model.sha256 }), undefined)
})

t.test('push delta: an attempt whose delta is lost or differs announces again', async (t) => {
  const { run, calls, state, row, deltas, base, model } = await setUp(t, [replyOf(503), DONE])
  await rejectsWith(t, run(), 'UPSTREAM_REFUSED')
  await deltas.store.remove({ base, next: model.sha256 })
  const transfer = await row()
  const delta = { base, sha256: 'f'.repeat(64), sizeBytes: 77, error: null }
  await state.transfers.note(transfer?.transferId ?? 0, { delta })
  await run()
  t.same(calls.slice(3), ['fl.announce', 'fl.announce', 'PATCH /base/uploads/delta'])
})

t.test('push delta: the row forgets a delta that is lost when the peer has no base any more', async (t) => {
  let hasBase = true
  const { run, requests, row, deltas, base, model } = await setUp(t, [replyOf(503), DONE], (params) =>
    hasBase ? TAKES(params) : WHOLE,
  )
  await rejectsWith(t, run(), 'UPSTREAM_REFUSED')
  await deltas.store.remove({ base, next: model.sha256 })
  hasBase = false
  await deltas.store.close()
  const transfer = await row()
  t.not(transfer?.delta, null)
  await run(false)
  t.ok(requests[1]?.body.equals(NEXT))
  t.match(await row(), { delta: null, savedBytes: 0 })
})

t.test('push delta: UPSTREAM_REFUSED for a base that was not announced', async (t) => {
  const { run } = await setUp(t, [], () => ({ have: false, base: 'f'.repeat(64) }))
  await rejectsWith(t, run(), 'UPSTREAM_REFUSED', { message: /a base that was not announced/ })
})

t.test('push delta: UPSTREAM_REFUSED when the answer to a delta has no address', async (t) => {
  const { run, calls } = await setUp(t, [], ({ bases }) => ({ have: false, base: bases?.[0] ?? '' }))
  await rejectsWith(t, run(), 'UPSTREAM_REFUSED', { message: /no upload address/ })
  t.same(calls, ['fl.announce', 'fl.announce'])
})

t.test('push delta: a delta that the peer has whole is announced again', async (t) => {
  let size = 0
  const answers: Answer[] = [TAKES, TAKES, () => ({ have: true, model_info: { model_id: 'made' } })]
  const whole = () => replyOf(204, '', { 'upload-offset': String(size) })
  const { run, calls } = await setUp(t, [whole], (params) => {
    size = params.delta?.size ?? size
    return answers.shift()?.(params)
  })
  t.equal(await run(), '{"model_id":"made"}')
  t.same(calls, ['fl.announce', 'fl.announce', 'PATCH /base/uploads/delta', 'fl.announce'])
})

t.test('push delta: a status that says nothing about the delta leaves it for the next attempt', async (t) => {
  for (const status of [401, 408, 425, 429]) {
    const { run, deltas, base, model, row } = await setUp(t, [replyOf(status)])
    await rejectsWith(t, run(), 'UPSTREAM_REFUSED', { data: { status } })
    t.match(await row(), { resumeUrl: '/base/uploads/delta', delta: { base, error: null } }, `${status}`)
    t.ok(await deltas.store.find({ base, next: model.sha256 }))
  }
})

t.test('push delta: an attempt that is stopped while the delta is made gives up no delta', async (t) => {
  const set = await setUp(t, [], (params) => {
    set.stop.abort(new AppError('CANCELLED'))
    return TAKES(params)
  })
  await rejectsWith(t, set.run(), 'CANCELLED')
  t.same(set.calls, ['fl.announce'])
  t.match(await set.row(), { delta: null, resumeUrl: null })
})
