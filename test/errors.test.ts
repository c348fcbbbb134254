import t from 'tap'
import { AppError, ERRORS, type ErrorName, invalidParams, isAppError, messageOf } from '../src/errors.js'

const entries = Object.entries(ERRORS) as [ErrorName, (typeof ERRORS)[ErrorName]][]

t.test(
  'ERRORS: codes are unique, standard ones where the specification has them, ours from 1000 up',
  async (t) => {
    const codes = entries.map(([, { code }]) => code)
    t.equal(new Set(codes).size, codes.length)
    const standard = {
      PARSE_ERROR: -32700,
      INVALID_REQUEST: -32600,
      METHOD_NOT_FOUND: -32601,
      INVALID_PARAMS: -32602,
      INTERNAL: -32603,
    }
    for (const [name, { code }] of entries) {
      if (name in standard) t.equal(code, standard[name as keyof typeof standard], name)
      else t.ok(code >= 1000 && code < 12_000, `${name} ${code}`)
    }
  },
)

t.test('ERRORS: every row has an HTTP status of a refusal and a message without a full stop', async (t) => {
  for (const [name, { status, message }] of entries) {
    t.ok(status >= 400 && status <= 599, `${name} ${status}`)
    t.match(name, /^[A-Z][A-Z0-9_]+$/)
    t.match(message, /^[A-Z].*[^.]$/, name)
  }
})

t.test(
  'AppError: carries its name, data and cause, and the message of the table unless told better',
  async (t) => {
    const cause = new Error('inner')
    const plain = new AppError('NO_ROUTE')
    t.match(plain, { errorName: 'NO_ROUTE', message: ERRORS.NO_ROUTE.message, data: {} })
    const told = new AppError('NO_ROUTE', { leg: 2 }, { message: 'no way from 1 to 2', cause })
    t.match(told, { message: 'no way from 1 to 2', data: { leg: 2 } })
    t.equal(told.cause, cause)
  },
)

t.test('isAppError: knows one from anything else', async (t) => {
  t.ok(isAppError(new AppError('BUSY')))
  for (const other of [new Error('x'), { name: 'AppError', errorName: 'BUSY' }, null, undefined, 'BUSY']) {
    t.notOk(isAppError(other))
  }
})

t.test('invalidParams: quotes the first fault and counts the others', async (t) => {
  const one = { path: '$.id', message: 'found a string, expected a number' }
  const two = { path: '$.name', message: 'found nothing, expected a string' }
  t.match(invalidParams([one]), {
    errorName: 'INVALID_PARAMS',
    message: 'Invalid params: $.id: found a string, expected a number',
    data: { faults: [one] },
  })
  t.match(invalidParams([two, one]), {
    message: 'Invalid params: $.name: found nothing, expected a string (and 1 more)',
    data: { faults: [two, one] },
  })
})

t.test('invalidParams: carries the first 100 of many faults, and counts all', async (t) => {
  const faults = Array.from({ length: 250 }, (_, index) => ({ path: `$[${index}]`, message: 'wrong' }))
  const error = invalidParams(faults)
  t.same(error.data.faults, faults.slice(0, 100))
  t.equal(error.message, 'Invalid params: $[0]: wrong (and 249 more)')
})

t.test('invalidParams: refuses an empty list', async (t) => {
  t.throws(() => invalidParams([]), { message: 'invalidParams needs at least one fault' })
})

t.test('messageOf: of whatever was thrown', async (t) => {
  t.equal(messageOf(new Error('x')), 'x')
  t.equal(messageOf('x'), 'x')
  t.equal(messageOf(undefined), 'undefined')
  t.equal(messageOf(7n), '7')
})
