import fc from 'fast-check'
import t from 'tap'
import { AppError, ERRORS } from '../../src/errors.js'
import { errorText, RESULT_HEAD, readRequest, resultTail, toRpcError } from '../../src/rpc/envelope.js'

const request = (more: object = {}) => ({ jsonrpc: '2.0', method: 'm', params: {}, id: 1, ...more })

t.test('readRequest: a well-formed request, with any kind of id', async (t) => {
  for (const id of ['', 'text', 0, -1, 1.5, 2 ** 53 - 1, null]) {
    t.same(readRequest(request({ id })), { id, method: 'm', params: {} }, `id ${id}`)
  }
  t.same(readRequest(request({ params: [1] })), { id: 1, method: 'm', params: [1] })
  t.same(readRequest({ jsonrpc: '2.0', method: '', id: 1 }), { id: 1, method: '', params: undefined })
  t.same(
    readRequest(request({ further: true })),
    { id: 1, method: 'm', params: {} },
    'other members are ignored',
  )
})

t.test('readRequest: a request without an id is a notification, one with the id null is not', async (t) => {
  t.same(readRequest({ jsonrpc: '2.0', method: 'm' }), { id: undefined, method: 'm', params: undefined })
  t.same(readRequest(request({ id: null })), { id: null, method: 'm', params: {} })
})

t.test('readRequest: each malformed request, with its id where that is valid', async (t) => {
  const table: [value: unknown, id: unknown, message: RegExp][] = [
    [undefined, null, /found nothing, expected a request object$/],
    [null, null, /found null, expected a request object/],
    [5, null, /found 5, expected a request object/],
    ['text', null, /found "text", expected a request object/],
    [[], null, /found an array of \d+, expected a request object/],
    [request({ id: {} }), null, /id: found an object, expected a string, a number/],
    [request({ id: [1] }), null, /id: found an array/],
    [request({ id: true }), null, /id: found true/],
    [request({ id: undefined }), null, /id: found nothing/],
    [request({ id: 2 ** 53 }), null, /id: found 9007199254740992/],
    [request({ id: -(2 ** 53) }), null, /id: found -9007199254740992/],
    [request({ id: Number.POSITIVE_INFINITY }), null, /id: found Infinity/],
    [request({ id: Number.NaN }), null, /id: found NaN/],
    [request({ jsonrpc: '1.0' }), 1, /jsonrpc: found "1.0", expected "2.0"$/],
    [request({ jsonrpc: 2 }), 1, /jsonrpc: found 2/],
    [{ method: 'm', id: 'x' }, 'x', /jsonrpc: found nothing/],
    [{ method: 'm' }, null, /jsonrpc: found nothing/],
    [request({ method: 5 }), 1, /method: found 5, expected a string$/],
    [{ jsonrpc: '2.0', id: 0 }, 0, /method: found nothing/],
    [{ jsonrpc: '2.0' }, null, /method: found nothing/],
    [request({ params: null }), 1, /params: found null, expected an object or an array$/],
    [request({ params: undefined }), 1, /params: found nothing/],
    [request({ params: 'x' }), 1, /params: found "x"/],
    [{ jsonrpc: '2.0', method: 'm', params: 7 }, null, /params: found 7/],
  ]
  for (const [value, id, message] of table) {
    const found = readRequest(value)
    const label = JSON.stringify(value) ?? 'undefined'
    if (!('fault' in found)) t.fail(label)
    else {
      t.equal(found.id, id, label)
      t.equal(found.fault.errorName, 'INVALID_REQUEST', label)
      t.match(found.fault.message, message)
    }
  }
})

t.test(
  'property: readRequest takes an integer id exactly when a double holds it and its neighbours',
  async () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (id) => {
        const isTaken = !('fault' in readRequest(request({ id })))
        return isTaken === (!Number.isInteger(id) || Math.abs(id) <= Number.MAX_SAFE_INTEGER)
      }),
    )
  },
)

t.test('toRpcError: an AppError keeps its code, message and data', async (t) => {
  t.same(toRpcError(new AppError('NO_ROUTE', { leg: 2 }, { message: 'no way' }), 'r-1'), {
    code: ERRORS.NO_ROUTE.code,
    message: 'no way',
    data: { name: 'NO_ROUTE', requestId: 'r-1', leg: 2 },
  })
})

t.test('toRpcError: anything else becomes INTERNAL without its message', async (t) => {
  for (const error of [new Error('secret'), 'secret', undefined, { errorName: 'NO_ROUTE' }]) {
    const made = toRpcError(error, 'r-1')
    t.match(made, { code: -32603, data: { name: 'INTERNAL', requestId: 'r-1' } })
    t.notMatch(JSON.stringify(made), /secret/)
  }
})

t.test('answers: the texts of a result and of an error are JSON-RPC 2.0', async (t) => {
  const error = { code: 1, message: 'm', data: {} }
  t.same(JSON.parse(errorText('a"b', error)), { jsonrpc: '2.0', error, id: 'a"b' })
  for (const id of ['a"b', 7, null]) {
    t.same(JSON.parse(`${RESULT_HEAD}[1]${resultTail(id)}`), { jsonrpc: '2.0', result: [1], id })
  }
})
