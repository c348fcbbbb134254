import t, { type Test } from 'tap'
import { z } from 'zod'
import { AppError } from '../../src/errors.js'
import { defineMethod, type Method } from '../../src/rpc/define-method.js'
import { callForPiece, dispatch } from '../../src/rpc/dispatch.js'
import { bytes, dispatchOf, parsed, request, textOf } from '../support/dispatch.js'
import { rejectsWith } from '../support/rejects-with.js'

t.test('dispatch: a result made as text goes out as it is', async (t) => {
  const { call } = dispatchOf()
  const answer = await dispatch(bytes(request('raw')), call)
  t.equal(answer.body, '{"jsonrpc":"2.0","result":{"big":9007199254740993},"id":1}')
})

t.test('dispatch: a record that only looks like marked text is a record', async (t) => {
  const { call } = dispatchOf()
  t.match(await parsed(await dispatch(bytes(request('lookalike')), call)), {
    result: { kind: 'rawJson', text: '"not raw"' },
  })
})

t.test('dispatch: a method that returns nothing answers null', async (t) => {
  const { call } = dispatchOf()
  t.strictSame(await parsed(await dispatch(bytes(request('nothing')), call)), {
    jsonrpc: '2.0',
    result: null,
    id: 1,
  })
})

t.test('dispatch: a fault that is no AppError says nothing of itself, and is logged', async (t) => {
  const { call, seen } = dispatchOf()
  const text = await textOf((await dispatch(bytes(request('fails')), call)).body)
  t.notMatch(text, /SELECT|api_key|stack/)
  t.match(JSON.parse(text), { error: { code: -32603, data: { name: 'INTERNAL' } } })
  t.match(seen.faults, [['fails', { message: 'SELECT secret FROM api_key' }]])
})

t.test('dispatch: data of an AppError goes to the caller, its cause only to the log', async (t) => {
  const { call, seen } = dispatchOf()
  const text = await textOf((await dispatch(bytes(request('refuses')), call)).body)
  t.notMatch(text, /inner/)
  t.match(JSON.parse(text), {
    error: { code: 6002, message: 'no way', data: { name: 'NO_ROUTE', requestId: 'r-1', leg: 2 } },
  })
  t.equal(seen.faults.length, 1)
})

t.test('dispatch: lacking a scope is 403 for a single call and 200 within a batch', async (t) => {
  const { call } = dispatchOf()
  const single = await dispatch(bytes(request('admin-only')), call)
  t.equal(single.status, 403)
  t.match(await parsed(single), { id: 1, error: { code: 1002, data: { scope: 'admin' } } })
  t.equal((await dispatch(bytes([request('admin-only')]), call)).status, 200)
})

t.test(
  'dispatch: an engine of a hub that is away is 503 for a single call, with the time to wait',
  async (t) => {
    const away = (name: 'DATABASE_UNAVAILABLE' | 'OBJECTS_UNAVAILABLE') =>
      defineMethod({
        ...{ name, summary: '', scope: 'map:read', params: z.strictObject({}), result: z.unknown() },
        handle() {
          throw new AppError(name, { retryAfterS: 5 })
        },
      })
    for (const name of ['DATABASE_UNAVAILABLE', 'OBJECTS_UNAVAILABLE'] as const) {
      const methods = new Map([[name, away(name) as Method<unknown>]])
      const { call } = dispatchOf({ api: { path: '/test', title: 'test', methods: async () => methods } })
      const single = await dispatch(bytes(request(name)), call)
      t.match(single, { status: 503, retryAfterS: 5 })
      t.match(await parsed(single), { id: 1, error: { data: { name } } })
      t.equal((await dispatch(bytes([request(name)]), call)).status, 200)
    }
  },
)

t.test('dispatch: each item of a batch is charged, at once and before any of them runs', async (t) => {
  const { call, seen } = dispatchOf()
  await dispatch(bytes(request('raw')), call)
  await dispatch(bytes([request('raw'), 7, request('raw')]), call)
  t.same(seen.charged, [1, 3])
})

t.test('dispatch: RATE_LIMITED states when to retry, with the id when there is one', async (t) => {
  const { call, seen } = dispatchOf({
    charge: async () => {
      throw new AppError('RATE_LIMITED', { retryAfterS: 12 })
    },
  })
  const single = await dispatch(bytes(request('stream', { name: 'a' }, 'x')), call)
  t.match(single, { status: 429, retryAfterS: 12 })
  t.match(await parsed(single), { id: 'x', error: { code: 1009 } })
  const batch = await dispatch(bytes([request('stream', { name: 'a' })]), call)
  t.match(batch, { status: 429, retryAfterS: 12 })
  t.match(await parsed(batch), { id: null })
  t.same(seen.events, [], 'nothing ran')
})

t.test('dispatch: a failing charge is INTERNAL, not a refusal of the caller', async (t) => {
  const { call } = dispatchOf({
    charge: async () => {
      throw new Error('limiter broke')
    },
  })
  t.equal((await dispatch(bytes(request('raw')), call)).status, 500)
})

t.test(
  'dispatch: an array of one holds the params of a method that takes them so; a bare object does too',
  async (t: Test) => {
    const { call } = dispatchOf()
    const result = async (params: unknown) => parsed(await dispatch(bytes(request('in-array', params)), call))
    t.match(await result([{ name: 'a' }]), { result: 'a' })
    t.match(await result({ name: 'a' }), { result: 'a' })
    for (const params of [[], [{ name: 'a' }, 1], [[{ name: 'a' }]], ['a']]) {
      t.match(await result(params), { error: { code: -32602 } }, JSON.stringify(params))
    }
  },
)

t.test('callForPiece: faults are thrown', async (t) => {
  const { call } = dispatchOf()
  await rejectsWith(t, callForPiece('none', {}, call), 'METHOD_NOT_FOUND', { data: { method: 'none' } })
  await rejectsWith(t, callForPiece('admin-only', {}, call), 'FORBIDDEN', { message: /admin/ })
  await rejectsWith(t, callForPiece('in-array', {}, call), 'INVALID_PARAMS', {
    data: { faults: [{ path: '$.name' }] },
  })
  t.equal(await callForPiece('rpc.discover', undefined, call), '{"openrpc":"here"}')
})

t.test('dispatch: text that is not JSON is 400, JSON that is too deep is 200', async (t) => {
  const { call, seen } = dispatchOf()
  const broken = await dispatch(new TextEncoder().encode('{'), call)
  t.equal(broken.status, 400)
  t.match(await parsed(broken), { id: null, error: { code: -32700, data: { name: 'PARSE_ERROR' } } })
  const deep = await dispatch(new TextEncoder().encode('['.repeat(11)), call)
  t.equal(deep.status, 200)
  t.match(await parsed(deep), { id: null, error: { code: -32600, data: { maxDepth: 10 } } })
  t.same(seen.charged, [])
})

t.test('dispatch: a malformed request is answered, not charged and not run', async (t) => {
  const { call, seen } = dispatchOf()
  for (const [value, id] of [
    [{ method: 'raw', id: 4 }, 4],
    [5, null],
  ] as const) {
    const answer = await dispatch(bytes(value), call)
    t.equal(answer.status, 200)
    t.match(await parsed(answer), { id, error: { code: -32600 } })
  }
  t.same(seen.charged, [])
})

t.test('dispatch: a batch has 1 to maxBatch members', async (t) => {
  const { call, seen } = dispatchOf()
  const batch = (size: number) => dispatch(bytes(Array(size).fill(request('raw'))), call)
  for (const size of [0, 4]) {
    const answer = await batch(size)
    t.equal(answer.status, 200)
    t.match(await parsed(answer), {
      id: null,
      error: { code: -32600, message: `Invalid request: found a batch of ${size}, expected 1 to 3` },
    })
  }
  t.same(seen.charged, [])
  t.equal(((await parsed(await batch(3))) as unknown[]).length, 3)
  t.equal(((await parsed(await batch(1))) as unknown[]).length, 1)
})

t.test('dispatch: a batch answers its requests, also malformed ones, and no notification', async (t) => {
  const { call } = dispatchOf()
  const { id: _, ...notification } = request('raw')
  const answers = await parsed(await dispatch(bytes([notification, 7, request('raw', {}, 'b')]), call))
  t.match(answers, [
    { id: null, error: { code: -32600 } },
    { id: 'b', result: {} },
  ])
  t.equal((answers as unknown[]).length, 2)
  t.same(await dispatch(bytes([notification, notification]), call), { status: 204, body: null })
  const exact = new TextEncoder().encode('[{"jsonrpc":"2.0","id":1,"method":[9007199254740993]}, 7]')
  t.match(await parsed(await dispatch(exact, call)), [
    { error: { code: -32600 } },
    { error: { code: -32600 } },
  ])
})

t.test('dispatch: a notification that fails has no answer; its fault is reported', async (t) => {
  const { call, seen } = dispatchOf()
  for (const method of ['fails', 'admin-only', 'no-such']) {
    t.same(await dispatch(bytes({ jsonrpc: '2.0', method }), call), { status: 204, body: null }, method)
  }
  t.same(
    seen.faults.map(([method]) => method),
    ['fails'],
  )
})

t.test('dispatch: refusals that the caller caused are not reported as faults', async (t) => {
  const { call, seen } = dispatchOf()
  await dispatch(bytes([request('no-such'), request('admin-only'), request('in-array', {})]), call)
  t.same(seen.faults, [])
})

t.test('dispatch: an unknown method is quoted in short', async (t) => {
  const { call } = dispatchOf()
  const answer = (await parsed(await dispatch(bytes(request('x'.repeat(10_000))), call))) as {
    error: { message: string; data: { method: string } }
  }
  t.match(answer.error, { code: -32601, data: { name: 'METHOD_NOT_FOUND' } })
  t.ok(answer.error.message.startsWith(`Found the method "${'x'.repeat(40)}…", expected one like `))
  t.equal(answer.error.data.method, `${'x'.repeat(200)}…`)
})

t.test('dispatch: an unknown method names the path that has it, or the closest ones', async (t) => {
  const { call } = dispatchOf()
  const messageOf = async (method: string) =>
    (
      (await parsed(await dispatch(bytes(request(method)), call))) as {
        error: { message: string; data: object }
      }
    ).error
  t.match(await messageOf('elsewhere'), {
    message: 'Found the method "elsewhere", which /other/jsonrpc has',
    data: { path: '/other/jsonrpc' },
  })
  t.match((await messageOf('in-aray')).message, /^Found the method "in-aray", expected one like in-array, /)
})

t.test('dispatch: a refusal without a time to wait names none', async (t) => {
  const charge = () => Promise.reject(new AppError('RATE_LIMITED', { retryAfterS: 'soon' }))
  const { call } = dispatchOf({ charge })
  t.notOk('retryAfterS' in (await dispatch(bytes(request('raw')), call)))
})

t.test('onCall: the name, outcome and duration of each call', async (t) => {
  const outcomes: [method: string, outcome: string][] = []
  const durations: number[] = []
  const { call } = dispatchOf({
    onCall(method, outcome, ms) {
      outcomes.push([method, outcome])
      durations.push(ms)
    },
  })
  const startedAtMs = performance.now()
  for (const method of [
    'raw',
    'fails',
    'refuses',
    'admin-only',
    'no-such',
    'rpc.discover',
    'stream-fails-first',
  ]) {
    await dispatch(bytes(request(method)), call)
  }
  t.same(outcomes, [
    ['raw', 'ok'],
    ['fails', 'INTERNAL'],
    ['refuses', 'NO_ROUTE'],
    ['admin-only', 'FORBIDDEN'],
    ['unknown', 'METHOD_NOT_FOUND'],
    ['rpc.discover', 'ok'],
    ['stream-fails-first', 'INTERNAL'],
  ])
  t.ok(
    durations.every((ms) => ms >= 0),
    'no duration is negative',
  )
  const wholeMs = performance.now() - startedAtMs
  t.ok(durations.reduce((sum, ms) => sum + ms, 0) <= wholeMs, 'one after the other they fit in the whole')
})

t.test('dispatch: others have their turn between the items of a batch', async (t) => {
  const busy = defineMethod({
    ...{ name: 'busy', summary: '', scope: 'none' },
    params: z.strictObject({}),
    result: z.null(),
    handle: () => {
      for (const endsAtMs = performance.now() + 6; performance.now() < endsAtMs; ); // longer than a slice
      return null
    },
  })
  const methods = new Map([['busy', busy as Method<unknown>]])
  const api = { path: '/test', title: 'test', methods: async () => methods }
  const { call } = dispatchOf({ api, maxBatch: 10 })
  let turns = 0
  const count = () => {
    turns++
    timer = setImmediate(count)
  }
  let timer = setImmediate(count)
  await dispatch(bytes(Array.from({ length: 10 }, (_, id) => request('busy', {}, id))), call)
  clearImmediate(timer)
  t.ok(turns >= 9, `${turns} turns`)
})

t.test('dispatch: neighbours that may overlap run side by side, others one after another', async (t) => {
  const order: string[] = []
  const method = (name: string, mayOverlap: boolean) =>
    defineMethod({
      name,
      summary: '',
      scope: 'map:read',
      params: z.strictObject({}),
      result: z.unknown(),
      mayOverlap,
      async handle() {
        order.push(`${name} begins`)
        await new Promise((resolve) => setImmediate(resolve))
        order.push(`${name} ends`)
        return name
      },
    })
  const methods = new Map([method('open', true), method('plain', false)].map((one) => [one.name, one]))
  const { call } = dispatchOf({ api: { path: '/x', title: '', methods: async () => methods }, maxBatch: 5 })
  const names = ['open', 'open', 'plain', 'plain', 'open']
  const answer = await dispatch(bytes(names.map((name, id) => request(name, {}, id))), call)
  t.match(
    await parsed(answer),
    names.map((result, id) => ({ result, id })),
  )
  t.same(order, [
    ...['open begins', 'open begins', 'open ends', 'open ends'],
    ...['plain begins', 'plain ends', 'plain begins', 'plain ends', 'open begins', 'open ends'],
  ])
})
