import t from 'tap'
import { createByteCache } from '../../src/route-engine/byte-cache.js'

t.test('createByteCache: the least recently used value is dropped first', async (t) => {
  const cache = createByteCache<string>(10)
  cache.set('a', 'A', 4)
  cache.set('b', 'B', 4)
  t.equal(cache.get('a'), 'A')
  cache.set('c', 'C', 4)
  t.same([cache.get('a'), cache.get('b'), cache.get('c')], ['A', undefined, 'C'])
  t.same([cache.bytes(), cache.size()], [8, 2])
})

t.test('createByteCache: a value set again counts once; one larger than the cache is not kept', async (t) => {
  const cache = createByteCache<string>(10)
  cache.set('a', 'A', 4)
  cache.set('a', 'A2', 6)
  t.same([cache.get('a'), cache.bytes()], ['A2', 6])
  cache.set('a', 'A3', 11)
  t.same([cache.get('a'), cache.bytes()], [undefined, 0])
})

t.test('createByteCache: deletePrefix drops all keys with a prefix', async (t) => {
  const cache = createByteCache<string>(100)
  for (const key of ['1:a', '1:b', '12:a']) cache.set(key, key, 1)
  cache.deletePrefix('1:')
  t.same([cache.get('1:a'), cache.get('1:b'), cache.get('12:a')], [undefined, undefined, '12:a'])
  t.equal(cache.bytes(), 1)
})
