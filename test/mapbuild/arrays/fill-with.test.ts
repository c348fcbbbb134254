import t from 'tap'
import { fillWith } from '../../../src/mapbuild/arrays/fill-with.js'

t.test('fillWith: a value for each place, in the array given', async (t) => {
  const array = new Int32Array(4)
  t.equal(
    fillWith(array, (at) => 10 - at * 6),
    array,
  )
  t.same([...array], [10, 4, -2, -8])
  t.equal(fillWith(new Uint8Array(0), () => 1).length, 0)
})
