import t from 'tap'
import { AppError } from '../../src/errors.js'
import {
  classify,
  isUnsupported,
  malformed,
  refused,
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
  t.equal(classify(refused(500, `a\n\u0000${'b'.repeat(999)}`)).message.length < 240, true)
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
