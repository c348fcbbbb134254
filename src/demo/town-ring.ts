import type { TownBuilder } from './town-builder.js'

const HALF_WIDTH_M = 2750
const HALF_HEIGHT_M = 2250
/**
 * The ring road is open in the west, where the river enters: it begins and ends at plus and minus this angle.
 */
const OPEN_DEGREES = 172
const STEP_DEGREES = 4
/** The new bridge lies between plus and minus this angle from due east. */
const BRIDGE_DEGREES = 8

/** Streets that are connected to the ring. */
const GATE_COLUMNS = [-5, 0, 5]
const GATE_ROWS = [-4, 4]
/** Column or row beyond all streets. */
const FAR = 20

/** Returns true at least 200 m inside the ring, where streets may be. */
export function isInsideRing(eastM: number, northM: number): boolean {
  return (eastM / (HALF_WIDTH_M - 200)) ** 2 + (northM / (HALF_HEIGHT_M - 200)) ** 2 < 1
}

/** Adds the ring road with the new bridge, and the roads that connect it to the streets. */
export function addRingRoad(
  town: TownBuilder,
  corner: (column: number, row: number) => number | undefined,
): void {
  const ring: { node: number; degrees: number }[] = []
  for (let degrees = OPEN_DEGREES; degrees >= -OPEN_DEGREES; degrees -= STEP_DEGREES) {
    const angle = (degrees * Math.PI) / 180
    const node = town.node(HALF_WIDTH_M * Math.cos(angle), HALF_HEIGHT_M * Math.sin(angle))
    ring.push({ node, degrees })
  }
  const tags = { highway: 'trunk', name: '環状線 Ring Road', ref: '9', maxspeed: '60' }
  const between = (high: number, low: number) =>
    ring.filter(({ degrees }) => degrees <= high && degrees >= low).map(({ node }) => node)
  town.way(between(OPEN_DEGREES, BRIDGE_DEGREES), tags)
  town.way(between(BRIDGE_DEGREES, -BRIDGE_DEGREES), {
    ...tags,
    name: '東大橋 East Bridge',
    bridge: 'yes',
    layer: '1',
  })
  town.way(between(-BRIDGE_DEGREES, -OPEN_DEGREES), tags)
  for (const { column, row, from } of findGates(corner)) {
    const degrees = (Math.atan2(row / HALF_HEIGHT_M, column / HALF_WIDTH_M) * 180) / Math.PI
    const nearest = ring.reduce((best, place) =>
      Math.abs(place.degrees - degrees) < Math.abs(best.degrees - degrees) ? place : best,
    )
    town.way([from, nearest.node], { highway: 'tertiary', name: 'Gate Road', maxspeed: '50' })
  }
}

/** Finds the outermost crossings of the connected streets, at both ends of each. */
function findGates(corner: (column: number, row: number) => number | undefined) {
  const gates: { column: number; row: number; from: number }[] = []
  const search = (places: { column: number; row: number }[]) => {
    for (const place of places) {
      const from = corner(place.column, place.row)
      if (from === undefined) continue
      gates.push({ ...place, from })
      return
    }
  }
  const inwards = Array.from({ length: FAR }, (_, i) => FAR - i)
  for (const side of [1, -1]) {
    for (const column of GATE_COLUMNS) search(inwards.map((row) => ({ column, row: side * row })))
    for (const row of GATE_ROWS) search(inwards.map((column) => ({ column: side * column, row })))
  }
  return gates
}
