import t from 'tap'
import { createStringPool } from '../../../src/mapbuild/arrays/string-pool.js'
import { readString } from '../../../src/routing/graph/strings.js'

t.test('string pool: each string once, readable at its offset', async (t) => {
  const pool = createStringPool()
  const texts = ['', 'a', '桜通り', 'a', '🚲 & <x>', 'x'.repeat(100_000)]
  const offsets = texts.map((text) => pool.add(text))
  t.equal(offsets[0], 0)
  t.equal(offsets[1], offsets[3])
  for (const [i, offset] of offsets.entries()) {
    t.equal(readString({ strings: pool.bytes() }, offset), texts[i])
    t.equal(pool.text(offset), texts[i])
  }
})
