import fc from 'fast-check'
import type { Geometry, Position } from '../../src/geo/types.js'
import { addCell, type CellSet, createCellSet } from '../../src/risk/cell-set.js'
import type { Graph } from '../../src/routing/graph/graph.js'
import { makeGraph, type Road } from './make-graph.js'

/** Place of a lattice of 1e-4 degree, about 10 m, not far from where doubles of degrees are uneven. */
export function place(x: number, y: number): [number, number] {
  return [Math.round(86_000_000 + x * 1000) / 1e7, Math.round(411_000_000 + y * 1000) / 1e7]
}

/** Places from (0, 0) to (max, max). */
export function lattice(max: number): fc.Arbitrary<[number, number]> {
  return fc.tuple(fc.nat({ max }), fc.nat({ max })).map(([x, y]) => place(x, y))
}

/** Maps of separate roads over the places of a lattice, each 5 m long by its figures. */
export function latticeRoads(max: number, most: { corners: number; roads: number }): fc.Arbitrary<Graph> {
  const ends = fc.tuple(lattice(max), lattice(max))
  const corners = fc.array(lattice(max), { maxLength: most.corners })
  return fc.array(fc.record({ ends, corners }), { minLength: 1, maxLength: most.roads }).map((list) =>
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
}

/** A cell of risk. */
export interface Cell {
  geometry: Geometry
  level: number
}

/** Mesh squares mostly, some squares beside the mesh, some triangles, over a lattice of the given side. */
export function anyCell(side: number): fc.Arbitrary<Cell> {
  return fc
    .record({
      x: fc.nat({ max: side * 2 }),
      y: fc.nat({ max: side * 2 }),
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
}

/** A set of the cells, in their order. */
export function cellsOf(list: readonly Cell[]): CellSet {
  const set = createCellSet()
  for (const { geometry, level } of list) addCell(set, geometry, level)
  return set
}
