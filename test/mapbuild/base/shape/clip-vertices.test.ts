import t from 'tap'
import { clipLines, clipRings } from '../../../../src/mapbuild/base/shape/clip-vertices.js'
import { toVertices } from '../../../../src/mapbuild/base/shape/vertices.js'

const BOX = [0, 0, 10, 10] as const
const plain = (parts: number[][]) => parts.map((part) => part.filter((_, i) => i % 3 !== 2))

t.test('clipLines: parts inside, cut on the border; a line outside is gone', async (t) => {
  t.same(plain(clipLines([toVertices([-5, 5, 15, 5])], BOX)), [[0, 5, 10, 5]])
  t.same(plain(clipLines([toVertices([5, 5, 15, 5, 15, 8, 5, 8])], BOX)), [
    [5, 5, 10, 5],
    [10, 8, 5, 8],
  ])
  t.same(clipLines([toVertices([-5, 5, -1, 8])], BOX), [])
  t.same(plain(clipLines([toVertices([-4, 6, 6, -4])], BOX)), [[0, 2, 2, 0]], 'across a corner')
})

t.test('clipRings: a ring around the box becomes the box, one beside it nothing', async (t) => {
  const around = toVertices([-5, -5, 15, -5, 15, 15, -5, 15, -5, -5])
  const [ring = []] = plain(clipRings([around], BOX))
  const points = new Set(ring.flatMap((x, i) => (i % 2 === 0 ? [`${x},${ring[i + 1]}`] : [])))
  t.same([...points].sort(), ['0,0', '0,10', '10,0', '10,10'])
  t.same(clipRings([toVertices([20, 0, 30, 0, 30, 10, 20, 0])], BOX), [])
})

t.test(
  'toVertices: a vertex is as important as its distance, never more than the one that parts its line',
  async (t) => {
    const vertices = toVertices([0, 0, 5, 3, 10, 0, 10.5, 0.1, 20, 0])
    const importance = vertices.filter((_, i) => i % 3 === 2)
    t.equal(importance[1], 9)
    t.ok(importance[3]! <= importance[1]!)
    t.ok(importance[0]! > 1e20 && importance[4]! > 1e20, 'ends stay')
  },
)
