import t from 'tap'
import { isMarked, rawJson, streamed } from '../../src/rpc/result.js'

t.test('isMarked: only results made here, not values of the same shape', async (t) => {
  const chunks = (async function* () {
    yield '1'
  })()
  t.ok(isMarked(rawJson('1')))
  t.ok(isMarked(streamed(chunks)))
  for (const value of [
    { ...rawJson('1') },
    { kind: 'streamedJson', chunks },
    null,
    undefined,
    'rawJson',
    1,
  ]) {
    t.notOk(isMarked(value))
  }
})
