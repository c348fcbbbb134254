import t from 'tap'
import { HILBERT_SIDE, hilbert } from '../../src/geo/hilbert.js'

t.test('hilbert: numbers every cell once, and neighbours on the curve are neighbours', async (t) => {
  const side = 32
  const shift = HILBERT_SIDE / side
  const cells: [number, number][] = []
  for (let x = 0; x < side; x++) {
    for (let y = 0; y < side; y++) cells[Math.floor(hilbert(x * shift, y * shift) / shift ** 2)] = [x, y]
  }
  t.equal(cells.filter((cell) => cell !== undefined).length, side * side)
  for (let i = 1; i < cells.length; i++) {
    const [ax, ay] = cells[i - 1] ?? [0, 0]
    const [bx, by] = cells[i] ?? [0, 0]
    if (Math.abs(ax - bx) + Math.abs(ay - by) !== 1) t.fail(`${ax} ${ay} to ${bx} ${by}`)
  }
  t.equal(hilbert(0, 0), 0)
  t.equal(hilbert(HILBERT_SIDE - 1, 0), 2 ** 32 - 1)
})
