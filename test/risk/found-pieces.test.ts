import t from 'tap'
import { addFound, assemble, createFound } from '../../src/risk/found-pieces.js'
import type { Pieces } from '../../src/risk/stack-levels.js'
import type { Overlay } from '../../src/routing/search/overlay.js'

/** Pieces of a segment: end, level, end, level … The arrays may hold more than `count`. */
function pieces(...list: [endMm: number, level: number][]): Pieces {
  return {
    count: list.length,
    end: [...list.map(([end]) => end), 77],
    level: [...list.map(([, level]) => level), 7],
  }
}

/** Segment → its pieces. */
function listed({ segments, firstPiece, pieceEndMm, pieceLevel }: Overlay): [number, number[][]][] {
  return Array.from(segments, (segment, i) => {
    const own: number[][] = []
    for (let at = firstPiece[i]!; at < firstPiece[i + 1]!; at++) own.push([pieceEndMm[at]!, pieceLevel[at]!])
    return [segment, own]
  })
}

t.test('assemble: segments ascend, each with its pieces, arrays have no spare entries', async (t) => {
  const found = createFound(3)
  addFound(found, 5_000_000, pieces([10, 1], [20, 0]))
  addFound(found, 2, pieces([30, 4]))
  addFound(found, 2049, pieces([5, 2], [6, 3], [9, 1]))
  const overlay = assemble(found)
  t.same(listed(overlay), [
    [2, [[30, 4]]],
    [2049, [[5, 2], [6, 3], [9, 1]]],
    [5_000_000, [[10, 1], [20, 0]]],
  ]) // biome-ignore format: pieces
  t.same(
    [overlay.segments, overlay.firstPiece, overlay.pieceEndMm, overlay.pieceLevel].map(
      ({ length }) => length,
    ),
    [3, 4, 6, 6],
  )
})

t.test('assemble: a found segment replaces the former one, without pieces it is removed', async (t) => {
  const before = createFound(9)
  for (const segment of [1, 3, 5, 9]) addFound(before, segment, pieces([segment * 10, 1], [segment * 20, 2]))
  const former = assemble(before)
  const found = createFound(9)
  addFound(found, 9, pieces([7, 7]))
  addFound(found, 4, pieces([8, 8]))
  addFound(found, 3, pieces())
  addFound(found, 6, pieces())
  const overlay = assemble(found, former)
  t.same(listed(overlay), [
    [1, [[10, 1], [20, 2]]],
    [4, [[8, 8]]],
    [5, [[50, 1], [100, 2]]],
    [9, [[7, 7]]],
  ]) // biome-ignore format: pieces
  t.same([overlay.firstPiece.length, overlay.pieceEndMm.length, overlay.pieceLevel.length], [5, 6, 6])
  t.same(listed(former).length, 4, 'the former overlay is left as it was')
  t.same(listed(assemble(createFound(0), former)), listed(former))
  t.same(listed(assemble(createFound(0))), [])
})

t.test('addFound: arrays grow beyond what was expected', async (t) => {
  const expected: [number, number[][]][] = []
  const found = createFound(1)
  for (let segment = 999; segment >= 0; segment--) {
    const own: [number, number][] = Array.from({ length: 1 + (segment % 5) }, (_, i) => [segment + i + 1, (segment + i) % 11]) // biome-ignore format: pieces
    addFound(found, segment, pieces(...own))
    expected.unshift([segment, own])
  }
  t.same(listed(assemble(found)), expected)
  // one segment of more pieces than twice the room
  const many: [number, number][] = Array.from({ length: 1000 }, (_, i) => [i + 1, i % 11])
  const wide = createFound(1)
  addFound(wide, 3, pieces(...many))
  addFound(wide, 1, pieces([5, 5]))
  t.same(listed(assemble(wide)), [[1, [[5, 5]]], [3, many]]) // biome-ignore format: pieces
})
