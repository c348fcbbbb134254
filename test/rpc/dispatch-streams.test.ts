import t from 'tap'
import { z } from 'zod'
import { defineMethod } from '../../src/rpc/define-method.js'
import { dispatch } from '../../src/rpc/dispatch.js'
import { isWhole } from '../../src/rpc/pieces.js'
import { streamed } from '../../src/rpc/result.js'
import { bytes, dispatchOf, parsed, request, textOf } from '../support/dispatch.js'

t.test('dispatch: a streamed result is one JSON value within its answer', async (t) => {
  const { call, seen } = dispatchOf()
  const answer = await dispatch(bytes(request('stream', { name: 'a' }, 'id')), call)
  t.not(typeof answer.body, 'string')
  t.strictSame(await parsed(answer), { jsonrpc: '2.0', result: [1, 2], id: 'id' })
  t.same(seen.events, ['a begun', 'a closed'])
})

t.test('dispatch: a streamed result within a batch', async (t) => {
  const { call } = dispatchOf()
  const batch = [request('raw'), request('stream', { name: 'a' }, 2), request('stream', { name: 'b' }, 3)]
  const answers = (await parsed(await dispatch(bytes(batch), call))) as { id: number; result: unknown }[]
  t.same(
    answers.map((answer) => answer.id),
    [1, 2, 3],
  )
  t.same(answers[2]?.result, [1, 2])
})

t.test('dispatch: a notification closes the stream it caused', async (t) => {
  const { call, seen } = dispatchOf()
  const { id: _, ...notification } = request('stream', { name: 'a' })
  const answer = await dispatch(bytes(notification), call)
  t.same(answer, { status: 204, body: null })
  t.same(seen.events, ['a begun', 'a closed'])
})

t.test('dispatch: an answer that nobody reads closes every stream of its batch', async (t) => {
  const { call, seen } = dispatchOf()
  const batch = [request('stream', { name: 'a' }), request('raw'), request('stream', { name: 'b' })]
  const { body } = await dispatch(bytes(batch), call)
  t.same(seen.events, ['a begun', 'b begun'])
  if (body === null || isWhole(body)) return t.fail('expected a stream')
  await body.return?.()
  t.same(seen.events.slice(2).sort(), ['a closed', 'b closed'])
  t.same(await body.next(), { done: true, value: undefined }, 'and is at its end')
})

t.test('dispatch: an answer that is left half read closes its streams', async (t) => {
  const { call, seen } = dispatchOf()
  const { body } = await dispatch(
    bytes([request('stream', { name: 'a' }), request('stream', { name: 'b' })]),
    call,
  )
  if (body === null || isWhole(body)) return t.fail('expected a stream')
  for (let parts = 0; parts < 3; parts++) await body.next()
  await body.return?.()
  t.ok(seen.events.includes('a closed') && seen.events.includes('b closed'), seen.events.join())
})

t.test('dispatch: a stream that fails before its first part is a proper error', async (t) => {
  const { call, seen } = dispatchOf()
  const answer = await dispatch(bytes(request('stream-fails-first')), call)
  t.equal(answer.status, 200)
  t.match(await parsed(answer), {
    error: { code: -32603, data: { name: 'INTERNAL', requestId: 'r-1' } },
    id: 1,
  })
  t.equal(seen.faults.length, 1)
  t.same(seen.events, ['first begun', 'first closed'])
})

t.test(
  'dispatch: a stream that fails later breaks the answer off and closes the ones behind it',
  async (t) => {
    const { call, seen } = dispatchOf()
    const answer = await dispatch(
      bytes([request('stream-fails-later'), request('stream', { name: 'b' })]),
      call,
    )
    await t.rejects(textOf(answer.body), { message: 'later broke' })
    t.same(seen.events, ['later begun', 'b begun', 'later closed', 'b closed'])
  },
)

t.test('dispatch: a source that cannot be closed does not keep the others open', async (t) => {
  const { call, seen } = dispatchOf()
  const stubborn = {
    next: async () => ({ done: false, value: '1' }),
    return: async () => {
      throw new Error('stuck')
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
  const plain = { summary: '', scope: 'none', params: z.strictObject({}), result: z.unknown() } as const
  const methods = new Map(await call.api.methods())
  methods.set('stubborn', defineMethod({ ...plain, name: 'stubborn', handle: () => streamed(stubborn) }))
  const { body } = await dispatch(bytes([request('stubborn'), request('stream', { name: 'b' })]), {
    ...call,
    api: { ...call.api, methods: async () => methods },
  })
  if (body === null || isWhole(body)) return t.fail('expected a stream')
  await t.rejects(body.return?.() as Promise<unknown>, { message: 'stuck' })
  t.same(seen.events, ['b begun', 'b closed'])
})
