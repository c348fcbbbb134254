import t from 'tap'
import { createGrowing, filled, push, reserve } from '../../../src/mapbuild/arrays/growing.js'

t.test('growing arrays: grow, keep their elements, and are read as far as they are filled', async (t) => {
  const numbers = createGrowing(Uint32Array, 1)
  for (let i = 0; i < 1000; i++) push(numbers, i * 3)
  t.equal(filled(numbers).length, 1000)
  t.equal(filled(numbers)[999], 2997)
  reserve(numbers, 10)
  t.equal(numbers.length, 1000)
})
