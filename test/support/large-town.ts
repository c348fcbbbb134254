import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import type { Position } from '../../src/geo/types.js'
import { writeGraphFile } from '../../src/mapbuild/graph/write-graph.js'
import { addCell, type CellSet, createCellSet } from '../../src/risk/cell-set.js'
import { makeGraph, type Road } from './make-graph.js'
import { seeded } from './random-graph.js'
import { town } from './town.js'

const SIZE = 100
const random = seeded(11)

/** A town with bends, large enough that the index of its roads can be read by pages. */
function largeTown() {
  const network = town(SIZE)
  const roads = network.roads.map((road): Road => {
    const [fromLng, fromLat] = network.junctions[road.from]!
    const [toLng, toLat] = network.junctions[road.to]!
    const bend = (): [number, number] => [
      (fromLng + toLng) / 2 + (random() - 0.5) * 0.001,
      (fromLat + toLat) / 2 + (random() - 0.5) * 0.001,
    ]
    return random() < 0.5 ? road : { ...road, corners: [bend()] }
  })
  return makeGraph({ ...network, roads })
}

/** Writes the map file of a large town, and removes it after the tests. */
export function largeTownFile(): string {
  const dir = mkdtempSync(path.join(tmpdir(), 'fieldgate-town-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  const file = path.join(dir, 'town.graph')
  writeGraphFile(file, largeTown())
  return file
}

/** A ring of some corners around a random place. */
function ringOf(corners: number, radius: number): Position[] {
  const [lng, lat] = [10 + random() * 0.002 * SIZE, 50 + random() * 0.002 * SIZE]
  const open = Array.from({ length: corners }, (_, i): Position => {
    const angle = ((i + 0.2) / corners) * 2 * Math.PI
    return [lng + radius * Math.cos(angle), lat + radius * Math.sin(angle)]
  })
  return [...open, open[0]!]
}

/** Cells anywhere in the town: small rings, areas of many corners, and squares along the axes. */
export function townCells(count: number): CellSet {
  const cells = createCellSet()
  for (let i = 0; i < count; i++) {
    const corners = i % 7 === 0 ? 40 : 5
    const [west, south] = ringOf(4, 0.001)[0]!
    const square: Position[] = [
      [west, south],
      [west + 0.001, south],
      [west + 0.001, south + 0.001],
      [west, south + 0.001],
      [west, south],
    ]
    const ring = i % 3 === 0 ? square : ringOf(corners, 0.0003 + random() * 0.002)
    addCell(cells, { type: 'Polygon', coordinates: [ring] }, 1 + (i % 10))
  }
  return cells
}
