import { deepStrictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { buildOverlay, rebuildOverlay } from '../../src/risk/build-overlay.js'
import { diffCells } from '../../src/risk/diff-cells.js'
import { anyCell, cellsOf, latticeRoads } from '../support/cells.js'

const SIDE = 12

const roads = latticeRoads(SIDE, { corners: 4, roads: 40 })
const cell = anyCell(SIDE)
const cells = fc.array(cell, { maxLength: 60 })

t.test('property: an updated overlay equals one that is built from scratch', async () => {
  const edit = fc.record({
    drop: fc.nat({ max: 60 }),
    add: fc.array(cell, { maxLength: 5 }),
    isFirst: fc.boolean(),
  })
  fc.assert(
    fc.property(roads, cells, edit, (graph, list, { drop, add, isFirst }) => {
      const kept = list.filter((_, index) => index !== drop)
      const before = cellsOf(list)
      const after = cellsOf(isFirst ? [...add, ...kept] : [...kept, ...add])
      const changed = diffCells(before, after, Infinity)
      if (changed === undefined) throw new Error('no limit was set')
      const former = buildOverlay(graph, before)
      deepStrictEqual(rebuildOverlay(graph, former, after, changed), buildOverlay(graph, after))
    }),
    { numRuns: 300 },
  )
})
