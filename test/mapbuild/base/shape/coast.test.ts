import t from 'tap'
import { fillSea } from '../../../../src/mapbuild/base/shape/coast.js'

// y grows to the south, so a coast that runs east has its water, on the right, in the south
const BOX = [0, 0, 100, 100] as const
/** Even-odd test over all rings. */
const isSea = (rings: number[][], x: number, y: number) => {
  let inside = false
  for (const ring of rings) {
    for (let at = 2; at < ring.length; at += 2) {
      const [ax, ay, bx, by] = [ring[at - 2]!, ring[at - 1]!, ring[at]!, ring[at + 1]!]
      if (ay > y !== by > y && x < ax + ((y - ay) / (by - ay)) * (bx - ax)) inside = !inside
    }
  }
  return inside
}
// counterclockwise on a map: land
const island = (x: number, y: number) => [x, y, x, y + 4, x + 4, y + 4, x + 4, y, x, y]
const lagoon = (x: number, y: number) => [x, y, x + 4, y, x + 4, y + 4, x, y + 4, x, y]

t.test('fillSea: a coast across the box has its water on the right', async (t) => {
  const { rings, lines, fault } = fillSea([], [[-10, 50, 40, 60, 110, 50]], BOX)
  t.equal(fault, undefined)
  t.same(lines, [])
  t.ok(isSea(rings, 50, 90))
  t.notOk(isSea(rings, 50, 10))
  const back = fillSea([], [[110, 50, 40, 60, -10, 50]], BOX)
  t.ok(isSea(back.rings, 50, 10), 'the other direction, the other side')
  t.notOk(isSea(back.rings, 50, 90))
})

t.test('fillSea: islands, water inside of them, a coast at a corner, two coasts', async (t) => {
  const withIsland = fillSea([island(50, 80)], [[-10, 50, 110, 50]], BOX)
  t.ok(isSea(withIsland.rings, 20, 80))
  t.notOk(isSea(withIsland.rings, 52, 82))
  const corner = fillSea([], [[-5, 20, 20, -5]], BOX)
  t.ok(isSea(corner.rings, 90, 90), 'land in the corner, three corners of the box are sea')
  t.notOk(isSea(corner.rings, 2, 2))
  const strait = fillSea(
    [],
    [
      [-5, 40, 105, 40],
      [105, 60, -5, 60],
    ],
    BOX,
  )
  t.same(
    [10, 50, 90].map((y) => isSea(strait.rings, 50, y)),
    [false, true, false],
  )
})

t.test('fillSea: islands alone are in the sea, a ring the other way round is water in land', async (t) => {
  const sea = fillSea([island(50, 50)], [], BOX)
  t.ok(isSea(sea.rings, 10, 10))
  t.notOk(isSea(sea.rings, 52, 52))
  const land = fillSea([lagoon(50, 50)], [], BOX)
  t.notOk(isSea(land.rings, 10, 10))
  t.ok(isSea(land.rings, 52, 52))
  const big = [10, 10, 10, 90, 90, 90, 90, 10, 10, 10]
  const both = fillSea([big, lagoon(50, 50)], [], BOX)
  t.same([isSea(both.rings, 5, 5), isSea(both.rings, 20, 20), isSea(both.rings, 52, 52)], [true, false, true])
})

t.test('fillSea: a ring that leaves the box is cut, also where it begins inside', async (t) => {
  for (const shift of [0, 1, 2, 3]) {
    const corners = [
      [80, 40],
      [80, 60],
      [120, 60],
      [120, 40],
    ]
    const turned = [...corners.slice(shift), ...corners.slice(0, shift)]
    const ring = [...turned, turned[0]!].flat()
    const { rings, fault } = fillSea([ring], [], BOX)
    t.equal(fault, undefined)
    t.same(
      [isSea(rings, 50, 50), isSea(rings, 90, 50), isSea(rings, 90, 80)],
      [true, false, true],
      `from corner ${shift}`,
    )
  }
})

t.test('fillSea: a coast that ends inside, or has water on both sides, is a line', async (t) => {
  const chain = [-10, 50, 50, 50]
  t.match(fillSea([], [chain], BOX), { rings: [], lines: [chain], fault: /ends inside/ })
  const twice = fillSea(
    [],
    [
      [-10, 50, 110, 50],
      [-10, 60, 110, 60],
    ],
    BOX,
  )
  t.match(twice, { rings: [], fault: /different sides/ })
  t.equal(twice.lines.length, 2)
})

t.test('fillSea: an end just inside the border is extended to it', async (t) => {
  const { rings, fault } = fillSea([], [[0.5, 50, 99.5, 50]], BOX)
  t.equal(fault, undefined)
  t.ok(isSea(rings, 50, 90))
})

t.test('fillSea: a coast outside of the box fills nothing', async (t) => {
  t.same(fillSea([], [], BOX), { rings: [], lines: [], fault: undefined })
  t.same(fillSea([island(200, 200)], [], BOX), { rings: [], lines: [], fault: undefined })
})
