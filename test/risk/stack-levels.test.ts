import t from 'tap'
import {
  addPiece,
  addStretch,
  createPieces,
  createStretches,
  stackLevels,
} from '../../src/risk/stack-levels.js'

type Stretch = [from: number, to: number, level: number]

const stretches = createStretches()
const pieces = createPieces()

/** Pieces [end, level] of a line of 1000 with some stretches; the lists are reused, as the callers do. */
function stacked(...list: Stretch[]): number[][] {
  stretches.count = 0
  for (const [from, to, level] of list) addStretch(stretches, from, to, level)
  stackLevels(stretches, 1000, pieces)
  return Array.from({ length: pieces.count }, (_, i) => [pieces.end[i]!, pieces.level[i]!])
}

/** The same by asking for the level of each unit of the line. */
function expectedOf(list: readonly Stretch[]): number[][] {
  const found: number[][] = []
  for (let at = 0; at < 1000; at++) {
    const level = Math.max(0, ...list.filter(([from, to]) => from <= at && at < to).map(([, , own]) => own))
    if (found.at(-1)?.[1] === level) found.at(-1)![0] = at + 1
    else found.push([at + 1, level])
  }
  return found
}

t.test('stackLevels: stretches apart from each other, in any order', async (t) => {
  t.same(stacked(), [[1000, 0]])
  t.same(stacked([0, 1000, 3]), [[1000, 3]])
  t.same(stacked([600, 700, 2], [100, 200, 5]), [[100, 0], [200, 5], [600, 0], [700, 2], [1000, 0]]) // biome-ignore format: pieces
  t.same(stacked([200, 300, 2], [100, 200, 2]), [[100, 0], [300, 2], [1000, 0]], 'equal neighbours are one piece') // biome-ignore format: pieces
  t.same(stacked([200, 300, 4], [100, 200, 2]), [[100, 0], [200, 2], [300, 4], [1000, 0]]) // biome-ignore format: pieces
})

t.test('stackLevels: the highest level of overlapping stretches', async (t) => {
  t.same(stacked([100, 500, 2], [300, 700, 5]), [[100, 0], [300, 2], [700, 5], [1000, 0]]) // biome-ignore format: pieces
  t.same(stacked([300, 700, 2], [100, 500, 5]), [[100, 0], [500, 5], [700, 2], [1000, 0]]) // biome-ignore format: pieces
  t.same(stacked([100, 900, 3], [200, 300, 1], [400, 500, 10]), [[100, 0], [400, 3], [500, 10], [900, 3], [1000, 0]]) // biome-ignore format: pieces
  t.same(stacked([100, 300, 3], [100, 300, 3], [200, 300, 3]), [[100, 0], [300, 3], [1000, 0]]) // biome-ignore format: pieces
})

t.test('stackLevels: few and many stretches agree with the level of each unit', async (t) => {
  // 32 are sorted by insertion, 33 by index; the generator is fixed, so that a failure repeats
  let state = 1
  const next = (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
  for (const count of [2, 3, 5, 8, 31, 32, 33, 40, 100]) {
    for (let run = 0; run < 5; run++) {
      const list = Array.from({ length: count }, (): Stretch => {
        const from = next(990)
        return [from, from + 1 + next(Math.min(200, 1000 - from)), 1 + next(10)]
      })
      t.same(stacked(...list), expectedOf(list), `${count} stretches`)
    }
    const apart = Array.from(
      { length: count },
      (_, i): Stretch => [i * 10, i * 10 + 5, 1 + (i % 10)],
    ).toReversed()
    t.same(stacked(...apart.slice(0, 100)), expectedOf(apart), `${count} stretches apart`)
  }
})

t.test('addPiece: none without length, a longer one at the same level', async (t) => {
  const list = createPieces()
  const added = (upTo: number, level: number) => {
    addPiece(list, upTo, level)
    return [list.count, list.end[list.count - 1], list.level[list.count - 1]]
  }
  addPiece(list, 0, 4)
  t.equal(list.count, 0)
  t.same(added(10, 4), [1, 10, 4])
  t.same(added(10, 5), [1, 10, 4])
  t.same(added(9, 5), [1, 10, 4])
  t.same(added(15, 4), [1, 15, 4])
  t.same(added(16, 0), [2, 16, 0])
})
