import { deepStrictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import type { Geometry, Position } from '../../src/geo/types.js'
import { buildOverlay, rebuildOverlay } from '../../src/risk/build-overlay.js'
import { addCell, type CellSet, createCellSet } from '../../src/risk/cell-set.js'
import { diffCells } from '../../src/risk/diff-cells.js'
import { makeGraph, type Road } from '../support/make-graph.js'

const SIDE = 12

const place = (x: number, y: number): [number, number] => [
  Math.round(86_000_000 + x * 1000) / 1e7,
  Math.round(411_000_000 + y * 1000) / 1e7,
]

interface Cell {
  geometry: Geometry
  level: number
}

const lattice = fc
  .tuple(fc.nat({ max: SIDE }), fc.nat({ max: SIDE }))
  .map(([x, y]): [number, number] => place(x, y))

const roads = fc
  .array(fc.record({ ends: fc.tuple(lattice, lattice), corners: fc.array(lattice, { maxLength: 4 }) }), {
    minLength: 1,
    maxLength: 40,
  })
  .map((list) =>
    makeGraph({
      junctions: list.flatMap(({ ends }) => ends),
      roads: list.map(
        ({ corners }, index): Road => ({
          from: index * 2,
          to: index * 2 + 1,
          speed: [30, 30],
          corners,
          lengthMm: 5_000,
        }),
      ),
    }),
  )

/** Mesh squares mostly, some squares beside the mesh, some triangles. */
const cell = fc
  .record({
    x: fc.nat({ max: SIDE * 2 }),
    y: fc.nat({ max: SIDE * 2 }),
    level: fc.integer({ min: 1, max: 4 }),
    kind: fc.constantFrom('mesh', 'mesh', 'mesh', 'beside', 'triangle'),
  })
  .map(({ x, y, level, kind }): Cell => {
    const shift = kind === 'beside' ? 0.37 : 0
    const at = (dx: number, dy: number) => place(x / 2 + dx + shift, y / 2 + dy + shift)
    const ring: Position[] =
      kind === 'triangle'
        ? [at(0, 0), at(3, 0), at(1, 3), at(0, 0)]
        : [at(0, 0), at(0.5, 0), at(0.5, 0.5), at(0, 0.5), at(0, 0)]
    return { geometry: { type: 'Polygon', coordinates: [ring] }, level }
  })

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

function cellsOf(list: readonly Cell[]): CellSet {
  const set = createCellSet()
  for (const { geometry, level } of list) addCell(set, geometry, level)
  return set
}
