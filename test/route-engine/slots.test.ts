import t from 'tap'
import { slotAt, slotStarts } from '../../src/route-engine/slots.js'

t.test('slotAt: half-open between two changes, unbounded at the ends', async (t) => {
  const changes = [10n, 20n, 30n]
  t.same(slotAt(changes, 9n), { fromUs: undefined, untilUs: 10n })
  t.same(slotAt(changes, 10n), { fromUs: 10n, untilUs: 20n })
  t.same(slotAt(changes, 29n), { fromUs: 20n, untilUs: 30n })
  t.same(slotAt(changes, 30n), { fromUs: 30n, untilUs: undefined })
  t.same(slotAt([], 5n), { fromUs: undefined, untilUs: undefined })
})

t.test('slotStarts: the departure, then every later change once, up to the limit', async (t) => {
  t.same(slotStarts([[5n, 20n], [20n, 30n]], 10n, 9), [10n, 20n, 30n]) // biome-ignore format: series
  t.same(slotStarts([[5n, 20n], [20n, 30n]], 20n, 9), [20n, 30n]) // biome-ignore format: series
  t.same(slotStarts([[5n, 20n], [20n, 30n]], 0n, 2), [0n, 5n]) // biome-ignore format: series
  t.same(slotStarts([], 7n, 9), [7n])
})
