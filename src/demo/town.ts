import type { Polygon } from '../geo/types.js'
import {
  createRandom,
  createTownBuilder,
  type TownBuilder,
  type TownTags,
  townLngLat,
} from './town-builder.js'
import { addRingRoad, isInsideRing } from './town-ring.js'
import { columnTags, rowTags } from './town-streets.js'
import { writeExtract } from './write-extract.js'

/** Distance between streets: columns -11 … 11 run north, rows -9 … 9 run east, as far as the ring. */
const PITCH_M = 220
export const COLUMNS = 11
export const ROWS = 9

/** Crossing of the main street that is a roundabout. */
const ROUNDABOUT = { column: 0, row: 4 }
const ROUNDABOUT_RADIUS_M = 26
const ROUNDABOUT_CORNERS = 16
const RIVER_HALF_WIDTH_M = 75
const JITTER_M = 16
const SEED = 20_261_120

const flood: Polygon = { type: 'Polygon', coordinates: [floodRing()] }

/** Data of the demonstration: a flood, and two places whose shortest route crosses it. */
export const DEMO = {
  mapName: 'demo-town',
  extractName: 'demo-town.osm.pbf',
  /** lng, lat: north and south of the river; the shortest route takes the old bridge between them */
  start: townLngLat(-440, 1100),
  goal: townLngLat(450, -1240),
  /** the plain on both sides of the old bridge */
  floods: [flood],
  /** for `buildMap`: no data of OpenStreetMap is used */
  attribution: 'synthetic town of Fieldgate',
  licence: 'CC0-1.0',
  /** [west, south, east, north] of the town */
  bbox: [...townLngLat(-3000, -2600), ...townLngLat(3000, 2600)] as [number, number, number, number],
} as const

/**
 * Builds a town of about 700 segments as a complete `.osm.pbf` file: a grid with one-way streets and a
 * roundabout on both banks of a river, an old bridge in the middle and a new one on the ring road, a ferry,
 * turn restrictions, gates and private drives. The bytes are always the same.
 */
export function writeDemoTown(): Uint8Array<ArrayBuffer> {
  const town = createTownBuilder()
  const grid = placeGrid(town)
  addColumns(town, grid)
  addRows(town, grid)
  addRingRoad(town, (column, row) => grid.corner(column, row, 0, 0))
  addSpecialCases(town, grid)
  return writeExtract(town.data(), { bbox: DEMO.bbox, replicatedAtS: Date.UTC(2026, 10, 20) / 1000 })
}

/** Crossings of the streets. */
interface Grid {
  /**
   * Returns the node of a crossing for a street that leaves it eastwards (east = 1), northwards (north = 1)
   * and so on, which matters at the roundabout; undefined in the river.
   */
  corner(column: number, row: number, east: number, north: number): number | undefined
  /** Adds a bend between two neighbouring crossings. */
  bend(eastM: number, northM: number): number
}

/** Middle of the river at a place, metres north. */
function riverNorthM(eastM: number): number {
  return -60 + 170 * Math.sin(eastM / 900)
}

function placeGrid(town: TownBuilder): Grid {
  const random = createRandom(SEED)
  const jitter = () => (random() * 2 - 1) * JITTER_M
  const corners = new Map<string, number>()
  for (let column = -COLUMNS; column <= COLUMNS; column++) {
    for (let row = -ROWS; row <= ROWS; row++) {
      const east = column * PITCH_M + jitter()
      const north = row * PITCH_M + jitter()
      const isDry = Math.abs(north - riverNorthM(east)) >= RIVER_HALF_WIDTH_M
      if (!isDry || !isInsideRing(east, north)) continue
      if (column === ROUNDABOUT.column && row === ROUNDABOUT.row) addRoundabout(town, corners, east, north)
      else corners.set(`${column} ${row} 0 0`, town.node(east, north))
    }
  }
  return {
    corner: (column, row, east, north) =>
      corners.get(`${column} ${row} 0 0`) ?? corners.get(`${column} ${row} ${east} ${north}`),
    bend: (east, north) => town.node(east + jitter() / 2, north + jitter() / 2),
  }
}

/** Adds a roundabout that is driven clockwise (traffic keeps left), with an arm in each direction. */
function addRoundabout(town: TownBuilder, corners: Map<string, number>, eastM: number, northM: number): void {
  const ring: number[] = []
  for (let corner = 0; corner < ROUNDABOUT_CORNERS; corner++) {
    const angle = (-2 * Math.PI * corner) / ROUNDABOUT_CORNERS
    const east = Math.cos(angle)
    const north = Math.sin(angle)
    const node = town.node(eastM + east * ROUNDABOUT_RADIUS_M, northM + north * ROUNDABOUT_RADIUS_M)
    ring.push(node)
    if (corner % 4 !== 0) continue
    corners.set(
      `${ROUNDABOUT.column} ${ROUNDABOUT.row} ${Math.round(east) + 0} ${Math.round(north) + 0}`,
      node,
    )
  }
  town.way([...ring, ring[0] ?? 0], { highway: 'primary', junction: 'roundabout', name: '大手門ロータリー' })
}

/** Adds the streets that run north. They end at the river; only the main street crosses it. */
function addColumns(town: TownBuilder, grid: Grid): void {
  for (let column = -COLUMNS; column <= COLUMNS; column++) {
    const tags = columnTags(column)
    const rows = rowsOf(grid, column)
    const isNorth = (row: number) => row * PITCH_M > riverNorthM(column * PITCH_M)
    const south = rows.filter((row) => !isNorth(row))
    const north = rows.filter(isNorth)
    for (const bank of [south, north]) addColumnStreets(town, grid, column, bank, tags)
    const from = grid.corner(column, south[south.length - 1] ?? 0, 0, 1)
    const to = grid.corner(column, north[0] ?? 0, 0, -1)
    if (column === 0 && from !== undefined && to !== undefined) {
      town.way([from, to], { ...tags, name: '桜橋 Old Bridge', bridge: 'yes', layer: '1' })
    }
  }
}

/** Rows of a column with a crossing on dry land, from south to north. */
function rowsOf(grid: Grid, column: number): number[] {
  const rows = Array.from({ length: 2 * ROWS + 1 }, (_, i) => i - ROWS)
  return rows.filter((row) => grid.corner(column, row, 0, 1) !== undefined)
}

/** Adds the street of a column on one bank: one way, or two where the roundabout cuts it. */
function addColumnStreets(
  town: TownBuilder,
  grid: Grid,
  column: number,
  rows: readonly number[],
  tags: TownTags,
): void {
  let refs: number[] = []
  for (const [i, row] of rows.entries()) {
    const arrival = grid.corner(column, row, 0, -1)
    const departure = grid.corner(column, row, 0, 1)
    if (arrival !== undefined) refs.push(arrival)
    if (i === rows.length - 1) break
    if (departure !== undefined && departure !== arrival) {
      if (refs.length > 1) town.way(refs, tags)
      refs = [departure]
    }
    refs.push(grid.bend(column * PITCH_M, (row + 0.5) * PITCH_M))
  }
  if (refs.length > 1) town.way(refs, tags)
}

function addRows(town: TownBuilder, grid: Grid): void {
  for (let row = -ROWS; row <= ROWS; row++) {
    const tags = rowTags(row)
    for (let column = -COLUMNS; column < COLUMNS; column++) {
      const from = grid.corner(column, row, 1, 0)
      const to = grid.corner(column + 1, row, -1, 0)
      const isSameBank =
        row * PITCH_M > riverNorthM(column * PITCH_M) === row * PITCH_M > riverNorthM((column + 1) * PITCH_M)
      if (from === undefined || to === undefined || !isSameBank) continue
      town.way([from, grid.bend((column + 0.5) * PITCH_M, row * PITCH_M), to], tags)
    }
  }
}

/** Adds one example of each special case that a map must handle. */
function addSpecialCases(town: TownBuilder, grid: Grid): void {
  const at = (column: number, row: number) => grid.corner(column, row, 0, 0) ?? 0
  const spot = (column: number, row: number, tags?: Readonly<Record<string, string>>) =>
    town.node(column * PITCH_M, row * PITCH_M, tags)
  // a ferry far up the river, slower than any bridge
  town.way([at(-8, 2), spot(-8, 0.4), at(-8, -2)], {
    route: 'ferry',
    name: '渡し船 River ferry',
    duration: '00:35',
  })
  // a drive behind a gate, a short cut closed by a bollard, a car park
  const yard = spot(4.5, 5.5)
  const gate = spot(4.2, 5.2, { barrier: 'gate', access: 'private' })
  town.way([at(4, 5), gate, yard], { highway: 'service', access: 'private', service: 'driveway' })
  const bollard = spot(-3.5, 5.5, { barrier: 'bollard' })
  town.way([at(-4, 5), bollard, at(-3, 6)], { highway: 'residential', name: '抜け道' })
  const aisle = spot(6.6, -4.4)
  town.way([at(6, -4), aisle, at(7, -5)], { highway: 'service', service: 'parking_aisle' })
  town.way([at(7, -4), spot(7.5, -4.5), at(8, -5)], { highway: 'footway', name: 'Station Passage' })
  // turn restrictions: only straight on into the second way, no way back from it, no right turn into it
  const [west, middle, east] = [spot(5.3, 6.5), spot(5.5, 6.5), spot(5.7, 6.5)]
  const first = town.way([at(5, 6), west], { highway: 'residential', name: '坂の上' })
  const second = town.way([west, middle], { highway: 'residential', name: '坂の上', maxspeed: '20' })
  const third = town.way([middle, east], { highway: 'residential', name: '坂の下' })
  const branch = town.way([west, spot(5.3, 6.8)], { highway: 'service' })
  town.way([middle, spot(5.5, 6.2)], { highway: 'service' })
  town.restriction('only_straight_on', first, { node: west }, second)
  town.restriction('no_u_turn', first, { way: second }, third)
  town.restriction('no_right_turn', branch, { node: west }, second)
}

/** Ring of an ellipse around the old bridge: 950 m along the river, 430 m across. */
function floodRing(): [number, number][] {
  const corners = 24
  const ring: [number, number][] = []
  for (let corner = 0; corner < corners; corner++) {
    const angle = (2 * Math.PI * corner) / corners
    ring.push(townLngLat(950 * Math.cos(angle), -60 + 430 * Math.sin(angle)))
  }
  return [...ring, townLngLat(950, -60)]
}
