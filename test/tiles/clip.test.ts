import t from 'tap'
import { clipLine } from '../../src/tiles/clip.js'

const clip = (line: number[], grid = 1) => {
  const parts: number[][] = []
  clipLine(line, grid, (part) => parts.push(part))
  return parts
}

t.test('clipLine: parts inside the tile and its buffer of 128 units', async (t) => {
  t.same(clip([-1000, 50, 5000, 50]), [[-128, 50, 4224, 50]])
  t.same(clip([-128, -1000, -128, 5000]), [[-128, -128, -128, 4224]], 'along the border')
  t.same(clip([-129, -1000, -129, 5000]), [], 'beside it')
  t.same(
    clip([10, 10, 10, -500, 90, -500, 90, 10]),
    [
      [10, 10, 10, -128],
      [90, -128, 90, 10],
    ],
    'out and in again',
  )
})

t.test('clipLine: coordinates are rounded to the grid, and equal points dropped', async (t) => {
  t.same(clip([0, 0, 3, 3, 9, 9, 17, 17], 8), [[0, 0, 8, 8, 16, 16]])
  t.same(clip([1, 1, 2, 2], 8), [])
})
