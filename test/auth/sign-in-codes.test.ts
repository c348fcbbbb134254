import t from 'tap'
import { createSignInCodes } from '../../src/auth/sign-in-codes.js'

t.test('sign-in codes: each works once, within ten minutes', async (t) => {
  let nowMs = 0
  const codes = createSignInCodes(() => nowMs)
  codes.offer('a', 'key 1')
  codes.offer('b', 'key 2')
  t.equal(codes.take('c'), undefined)
  t.equal(codes.take('a'), 'key 1')
  t.equal(codes.take('a'), undefined, 'used')
  nowMs = 599_999
  t.equal(codes.take('b'), 'key 2')
  codes.offer('d', 'key 3')
  nowMs += 600_000
  t.equal(codes.take('d'), undefined, 'old')
})

t.test('sign-in codes: a few are kept, the newest', async (t) => {
  const codes = createSignInCodes(() => 0)
  for (let n = 0; n < 20; n++) codes.offer(`code ${n}`, `key ${n}`)
  t.equal(codes.take('code 0'), undefined)
  t.equal(codes.take('code 19'), 'key 19')
})
