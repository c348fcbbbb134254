import t from 'tap'
import { coversArea } from '../../src/geo/ring-area.js'
import type { Position } from '../../src/geo/types.js'

t.test('coversArea: true for rings around an area, false for points and lines', async (t) => {
  const rows: [Position[], boolean][] = [
    [[[0, 0], [1, 0], [0, 1], [0, 0]], true],
    [[[0, 0], [2, 2], [2, 0], [0, 2], [0, 0]], true],
    [[[0, 0], [0, 0], [0, 0], [0, 0]], false],
    [[[0, 0], [1, 1], [2, 2], [0, 0]], false],
    [[[0.1, 0.1], [0.2, 0.2], [0.3, 0.3], [0.1, 0.1]], false],
    [[[0, 0], [1, 0], [1, 1], [1, 0], [0, 0]], false],
    [[[0, 0], [1, 0], [1, 1e-300], [0, 0]], true],
    [[], false],
  ] // biome-ignore format: one ring a line
  for (const [ring, expected] of rows) t.equal(coversArea(ring), expected, JSON.stringify(ring))
})
