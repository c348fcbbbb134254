import t from 'tap'
import { AppError } from '../../src/errors.js'
import {
  classify,
  isUnsupported,
  malformed,
  refused,
  shorten,
  statusOfRpcError,
  stopped,
  unreachable,
} from '../../src/sync/faults.js'

t.test('classify: the scope of each status and error', async (t) => {
  const scope = (status: number) => classify(refused(status, '')).scope
  for (const status of [400, 403, 404, 405, 410, 413, 415, 422, 301, 307])
    t.equal(scope(status), 'final', `${status}`)
  for (const status of [401, 429, 502, 503, 504, 507]) t.equal(scope(status), 'lane', `${status}`)
  for (const status of [408, 409, 425, 500, 505]) t.equal(scope(status), 'transfer', `${status}`)
  t.equal(classify(unreachable(new Error('x'))).scope, 'lane')
  t.equal(classify(malformed('x')).scope, 'transfer')
  t.equal(classify(stopped('paused')).scope, 'stopped')
  t.equal(classify(new AppError('DISK_FULL')).scope, 'lane')
  t.equal(classify(new AppError('DIGEST_MISMATCH')).scope, 'transfer')
  t.equal(classify(new AppError('LOOP')).scope, 'final')
  t.equal(classify(new TypeError('bug')).scope, 'transfer')
  t.equal(classify(refused(503, '', { 'retry-after': '9' })).retryAfterS, 9)
  t.equal(
    classify(refused(503, '', { 'retry-after': ['7', '9'] })).retryAfterS,
    7,
    'the first of two headers',
  )
  t.equal(classify(refused(500, `a\n\u0000${'b'.repeat(999)}`)).message.length < 540, true)
})

t.test('isUnsupported: statuses without the path or the method, and malformed answers', async (t) => {
  for (const status of [400, 404, 405, 406, 415, 501]) t.ok(isUnsupported(refused(status, '')), `${status}`)
  t.ok(isUnsupported(malformed('x')))
  for (const status of [200, 401, 403, 500, 503]) t.notOk(isUnsupported(refused(status, '')), `${status}`)
  t.ok(isUnsupported(refused(403, ''), [403]))
  t.notOk(isUnsupported(unreachable(new Error('x'))))
  t.notOk(isUnsupported(new TypeError('bug')))
})

t.test('statusOfRpcError: by name, then by code, else 500', async (t) => {
  const cases: [{ code?: unknown; data?: unknown }, number][] = [
    [{ code: -32000, data: { name: 'UNKNOWN_STORE' } }, 404],
    [{ code: -32601, data: { name: 'toString' } }, 404],
    [{ code: -32602, data: null }, 400],
    [{ code: -32600 }, 400],
    [{ code: 1, data: 'text' }, 500],
  ]
  for (const [error, status] of cases) t.equal(statusOfRpcError(error), status, JSON.stringify(error))
})

t.test('unreachable: the reasons of several addresses, with a code', async (t) => {
  const both = new AggregateError([new Error('refused'), new Error('no route')])
  t.match(unreachable(both).message, /refused; no route$/)
  t.match(unreachable(Object.assign(new Error('refused'), { code: 'ECONN' })).message, /refused \(ECONN\)$/)
  t.match(unreachable('text').message, /: text$/)
})

t.test('classify: all redirects are final, no answer below 300 is', async (t) => {
  const scope = (status: number) => classify(refused(status, '')).scope
  for (const status of [300, 308, 399, 400, 499]) t.equal(scope(status), 'final', `${status}`)
  for (const status of [200, 204, 299, 500]) t.equal(scope(status), 'transfer', `${status}`)
})

t.test('classify: the status and the wait are there only if the upstream named them', async (t) => {
  t.strictSame(classify(malformed('nonsense')), {
    scope: 'transfer',
    name: 'UPSTREAM_REFUSED',
    message: 'The upstream answered nonsense',
  })
  t.strictSame(classify(refused(429, '')), {
    scope: 'lane',
    name: 'UPSTREAM_REFUSED',
    message: 'The upstream answered 429',
    status: 429,
  })
  t.strictSame(classify(refused(503, 'later', { 'retry-after': ['9', '10'] })), {
    scope: 'lane',
    name: 'UPSTREAM_REFUSED',
    message: 'The upstream answered 503: later',
    status: 503,
    retryAfterS: 9,
  })
  t.notOk('retryAfterS' in refused(503, '', { 'retry-after': 'soon' }).data)
  t.notOk('retryAfterS' in refused(503, '').data)
})

t.test('isUnsupported: only refusals of the upstream count, whatever else carries a status', async (t) => {
  t.notOk(isUnsupported(new AppError('DISK_FULL', { status: 404 })))
  t.notOk(
    isUnsupported(Object.assign(new Error('x'), { errorName: 'UPSTREAM_REFUSED', data: { status: 404 } })),
  )
  t.notOk(isUnsupported(refused(403, '')))
  t.notOk(isUnsupported(new AppError('UPSTREAM_REFUSED', { isMalformed: 'no' })))
})

t.test('statusOfRpcError: a name that is no text is not looked up', async (t) => {
  t.equal(statusOfRpcError({ code: 1, data: { name: ['UNKNOWN_STORE'] } }), 500)
  t.equal(statusOfRpcError({ data: { name: 'hasOwnProperty' } }), 500)
  t.equal(statusOfRpcError({}), 500)
})

t.test(
  'shorten: control characters become one space, text ends at 200 characters or those that are given',
  async (t) => {
    t.equal(shorten('\r\n a\u0000\u007f\u009f\nb \t'), 'a b')
    t.equal(shorten('\u00a0é~ '), 'é~')
    t.equal(shorten('x'.repeat(200)), 'x'.repeat(200))
    t.equal(shorten('x'.repeat(201)), `${'x'.repeat(200)}…`)
    t.equal(shorten('x'.repeat(501), 500), `${'x'.repeat(500)}…`)
  },
)

t.test('unreachable: a code that the message has is not repeated; the cause is kept', async (t) => {
  const cause = Object.assign(new Error('connect ECONN 10.0.0.1'), { code: 'ECONN' })
  t.match(unreachable(cause).message, /: connect ECONN 10\.0\.0\.1$/)
  t.equal(unreachable(cause).cause, cause)
  t.match(unreachable(new Error('plain')).message, /: plain$/)
})
