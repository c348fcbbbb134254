import t from 'tap'
import { shorten } from '../../src/rpc/shorten.js'

t.test('shorten: cuts between characters', async (t) => {
  t.equal(shorten('abc', 3), 'abc')
  t.equal(shorten('abcd', 3), 'abc…')
  t.equal(shorten('ab😀', 3), 'ab…')
  t.equal(shorten('ab😀d', 4), 'ab😀…')
})
