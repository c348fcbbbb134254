import t from 'tap'
import { AppError, isAppError, retryAfterS } from '../../../../src/errors.js'
import {
  faultKind,
  faultOf,
  NOT_REPLICATED,
  toDatabaseError,
} from '../../../../src/storage/postgres/connection/faults.js'

const withCode = (code: string) => Object.assign(new Error('x'), { code })

t.test('faults: codes of the server, of sockets and of the driver have a kind', async (t) => {
  const kinds = {
    lost: [
      '57P01',
      '57P02',
      '57P03',
      '25P03',
      '25P04',
      '08000',
      '08006',
      '08P01',
      'ECONNREFUSED',
      'ECONNRESET',
      'EPIPE',
    ],
    'not primary': ['25006'],
    conflict: ['40001', '40P01'],
    crowded: ['53300', 'DATABASE_NO_CONNECTION'],
    full: ['53100'],
    slow: ['57014', '55P03'],
    'not replicated': [NOT_REPLICATED],
  }
  for (const [kind, codes] of Object.entries(kinds)) {
    for (const code of codes) t.equal(faultKind(withCode(code)), kind, code)
  }
  for (const code of ['23505', '23503', '42P01', '28P01', '22021'])
    t.equal(faultKind(withCode(code)), undefined)
})

t.test('faults: the driver has losses without a code', async (t) => {
  const lost = [
    'Connection terminated unexpectedly',
    'Connection terminated',
    'Client has encountered a connection error and is not queryable',
    'Client was closed and is not queryable',
    'timeout expired',
  ]
  for (const message of lost) t.equal(faultKind(new Error(message)), 'lost', message)
  t.equal(faultKind(new Error('found a string, expected a number')), undefined)
  t.equal(faultKind('Connection terminated'), 'lost')
})

t.test('faults: callers get an error with a time to wait, and nothing of the server', async (t) => {
  const names = [
    ['57P01', 'DATABASE_UNAVAILABLE', 5],
    ['25006', 'DATABASE_UNAVAILABLE', 5],
    [NOT_REPLICATED, 'DATABASE_UNAVAILABLE', 5],
    ['40001', 'BUSY', 1],
    ['53300', 'BUSY', 7],
    ['53100', 'DISK_FULL', 60],
    ['57014', 'TIME_LIMIT', 1],
  ] as const
  for (const [code, name, waitS] of names) {
    const cause = faultOf(code, 'db1:5432: password of INSERT')
    const error = toDatabaseError(cause, () => 0.5)
    if (!isAppError(error)) throw new Error(`found ${error}, expected an AppError`)
    t.equal(error.errorName, name, code)
    t.equal(retryAfterS(error), waitS, code)
    t.equal(error.cause, cause)
    t.notMatch(error.message, /5432|INSERT/)
  }
})

t.test('faults: what a repeat does not change passes as it is', async (t) => {
  for (const error of [withCode('23505'), new AppError('TOO_MANY_SESSIONS'), new Error('x')]) {
    t.equal(
      toDatabaseError(error, () => 0.5),
      error,
    )
  }
})

t.test('faults: callers that found no connection at one time return one by one', async (t) => {
  const waitS = (random: number) => {
    const error = toDatabaseError(withCode('53300'), () => random)
    return isAppError(error) ? retryAfterS(error) : undefined
  }
  t.same([0, 0.25, 1].map(waitS), [2, 5, 12])
})
