import t from 'tap'
import { measure } from '../../../src/routing/search/cost.js'
import { overlayOf } from '../../support/random-network.js'

const SENSITIVITY = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
/** Segment 0, 1000 mm: level 9 up to 400 mm, level 2 behind it. */
const WATER = { overlay: overlayOf(new Map([[0, [[400, 9], [1000, 2]]]])), sensitivity: SENSITIVITY } // biome-ignore format: pieces
/** Segment 0: level 1 up to 500 mm, level 4 behind it. */
const SNOW = { overlay: overlayOf(new Map([[0, [[500, 1], [1000, 4]]]])), sensitivity: SENSITIVITY } // biome-ignore format: pieces

t.test('measure: a part that begins at the end of a piece does not include that piece', async (t) => {
  const behind = { lengthMm: 600, weightedMm: 600 * 3, levelMm: 600 * 2, maxLevel: 2 }
  t.same(measure([WATER], 0, 400, 1000), behind)
  t.same(measure([WATER, SNOW], 0, 400, 1000), {
    lengthMm: 600,
    weightedMm: 100 * (1 + 2 + 1) + 500 * (1 + 2 + 4),
    levelMm: 100 * 2 + 500 * 4,
    maxLevel: 4,
  })
})

t.test('measure: a part that ends at the begin of a piece does not include that piece', async (t) => {
  t.same(measure([WATER], 0, 0, 400), { lengthMm: 400, weightedMm: 4000, levelMm: 3600, maxLevel: 9 })
  t.same(measure([SNOW, WATER], 0, 100, 400), {
    lengthMm: 300,
    weightedMm: 300 * (1 + 1 + 9),
    levelMm: 300 * 9,
    maxLevel: 9,
  })
})
