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

t.test('createByteCache: while all values are in use, the largest owner gives way', async (t) => {
  let nowMs = 0
  const cache = createByteCache<string>(10, () => nowMs)
  const has = (...keys: string[]) => keys.filter((key) => cache.get(key) !== undefined).join(' ')
  cache.set('mine', 'M', 4, 'one')
  for (let i = 0; i < 5; i++) cache.set(`new ${i}`, 'N', 3, 'many')
  t.equal(has('mine', 'new 2', 'new 3', 'new 4'), 'mine new 3 new 4')
  cache.set('mine', 'M', 5, 'one')
  t.equal(has('mine', 'new 3', 'new 4'), 'mine new 4', 'a value that grows')
  cache.set('large', 'L', 9, 'many')
  t.equal(has('mine', 'large', 'new 4'), 'mine', 'a value that leaves no room for others')

  nowMs = 59_999
  for (let i = 0; i < 3; i++) cache.set(`newer ${i}`, 'N', 3, 'many')
  t.ok(cache.get('mine'))
  nowMs += 60_001
  for (let i = 0; i < 3; i++) cache.set(`newest ${i}`, 'N', 3, 'many')
  t.equal(has('mine', 'newest 0', 'newest 1', 'newest 2'), 'newest 0 newest 1 newest 2', 'out of use')
  t.same([cache.bytes(), cache.size()], [9, 3])
})
