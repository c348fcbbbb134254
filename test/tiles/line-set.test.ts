import t from 'tap'
import { createLineSet } from '../../src/tiles/line-set.js'

t.test('createLineSet: lines are joined where they meet, in any direction', async (t) => {
  const set = createLineSet(1)
  set.add([0, 0, 10, 0])
  set.add([20, 10, 10, 0])
  set.add([30, 0, 20, 10])
  t.same(set.lines(), [[0, 0, 10, 0, 20, 10, 30, 0]])
})

t.test('createLineSet: an edge is kept once, in either direction', async (t) => {
  const set = createLineSet(1)
  set.add([0, 0, 10, 0, 20, 10])
  set.add([20, 10, 10, 0])
  set.add([5, 5, 5, 9, 10, 0, 0, 0, 0, 9])
  t.same(
    set.lines().reduce((edges, line) => edges + line.length / 2 - 1, 0),
    2 + 2 + 1,
  )
})

t.test('createLineSet: points within the grid of the simplified line are dropped', async (t) => {
  const lineOf = (...points: number[]) => {
    const set = createLineSet(8)
    set.add(points)
    return set.lines()[0]
  }
  t.same(lineOf(0, 0, 16, 8, 32, 0), [0, 0, 32, 0], 'at the tolerance')
  t.same(lineOf(0, 0, 16, 16, 32, 0), [0, 0, 16, 16, 32, 0], 'beyond it')
  t.same(lineOf(0, 0, 16, 16, 32, 0, 0, 0), [0, 0, 16, 16, 32, 0, 0, 0], 'a closed line')
})
