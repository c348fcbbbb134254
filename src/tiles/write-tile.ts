import { PbfWriter } from 'pbf'
import { EXTENT } from './mercator.js'

/** Feature of a tile: points, lines or areas in tile units with properties. */
export interface TileFeature {
  /** undefined = none */
  readonly id: number | undefined
  /** kind of geometry by its number in the specification: 1 points, 2 lines (the default), 3 areas */
  readonly type?: number
  readonly properties: Readonly<Record<string, string | number | boolean>>
  /**
   * x, y, x, y … whole numbers, each line at least two different points; of areas the rings, without their
   * repeated points, outer ones clockwise on a screen and followed by their holes
   */
  readonly lines: readonly (readonly number[])[]
}

/** Version of the vector tile specification. */
const VERSION = 2
/** Geometry type and commands of the specification, section 4.3. */
const POINT = 1
const LINESTRING = 2
const POLYGON = 3
const MOVE_TO = 1
const LINE_TO = 2
/** the command, for one ring */
const CLOSE_PATH = (1 << 3) | 7

/** Writes a vector tile with one layer. */
export function writeTile(layer: string, features: readonly TileFeature[]): Uint8Array {
  return writeLayers([{ name: layer, features }])
}

/** Layer of a tile. */
export interface TileLayer {
  readonly name: string
  readonly features: readonly TileFeature[]
}

/**
 * Writes a vector tile.
 *
 * @see https://github.com/mapbox/vector-tile-spec/tree/master/2.1
 */
export function writeLayers(layers: readonly TileLayer[]): Uint8Array {
  const pbf = new PbfWriter()
  for (const layer of layers) pbf.writeMessage(3, writeLayer, layer)
  return pbf.finish()
}

function writeLayer({ name: layer, features }: TileLayer, pbf: PbfWriter): void {
  const keys = new Map<string, number>()
  const values = new Map<string | number | boolean, number>()
  pbf.writeStringField(1, layer)
  for (const { id, type = LINESTRING, properties, lines } of features) {
    // pairs of positions in the pools of keys and values, which all features of the layer share
    const tags = Object.entries(properties).flatMap(([key, value]) => [
      indexIn(keys, key),
      indexIn(values, value),
    ])
    pbf.writeMessage(2, writeFeature, { id, tags, type, geometry: commandsOf(lines, type) })
  }
  for (const key of keys.keys()) pbf.writeStringField(3, key)
  for (const value of values.keys()) pbf.writeMessage(4, writeValue, value)
  pbf.writeVarintField(5, EXTENT)
  pbf.writeVarintField(15, VERSION)
}

/** Writes a feature: fields 1 id, 2 tags, 3 geometry type, 4 geometry. */
function writeFeature(
  { id, tags, type, geometry }: { id: number | undefined; tags: number[]; type: number; geometry: number[] },
  pbf: PbfWriter,
): void {
  if (id !== undefined) pbf.writeVarintField(1, id)
  pbf.writePackedVarint(2, tags)
  pbf.writeVarintField(3, type)
  pbf.writePackedVarint(4, geometry)
}

/** Writes a value: fields 1 string, 3 double, 5 whole number (a varint, shorter than a double), 7 boolean. */
function writeValue(value: string | number | boolean, pbf: PbfWriter): void {
  if (typeof value === 'string') pbf.writeStringField(1, value)
  else if (typeof value === 'boolean') pbf.writeBooleanField(7, value)
  else if (Number.isInteger(value) && value >= 0) pbf.writeVarintField(5, value)
  else pbf.writeDoubleField(3, value)
}

/** Returns the index of an item in a pool, and adds it when it is new. */
function indexIn<T>(pool: Map<T, number>, item: T): number {
  const known = pool.get(item)
  if (known !== undefined) return known
  pool.set(item, pool.size)
  return pool.size - 1
}

/** Commands of a geometry: each point is relative to the one before, also from line to line. */
function commandsOf(lines: readonly (readonly number[])[], type: number): number[] {
  if (type === POINT) return pointCommands(lines.flat())
  const commands: number[] = []
  let x = 0
  let y = 0
  for (const line of lines) {
    // a command is the number of its points, shifted by three bits, and its id
    const points = line.length / 2
    commands.push((1 << 3) | MOVE_TO, zigzag(line[0]! - x), zigzag(line[1]! - y))
    commands.push(((points - 1) << 3) | LINE_TO)
    for (let at = 2; at < line.length; at += 2) {
      commands.push(zigzag(line[at]! - line[at - 2]!), zigzag(line[at + 1]! - line[at - 1]!))
    }
    if (type === POLYGON) commands.push(CLOSE_PATH)
    x = line[line.length - 2]!
    y = line[line.length - 1]!
  }
  return commands
}

function pointCommands(points: readonly number[]): number[] {
  const commands = [((points.length / 2) << 3) | MOVE_TO]
  for (let at = 0; at < points.length; at += 2) {
    commands.push(
      zigzag(points[at]! - (points[at - 2] ?? 0)),
      zigzag(points[at + 1]! - (points[at - 1] ?? 0)),
    )
  }
  return commands
}

/** 0, -1, 1, -2 … → 0, 1, 2, 3 … */
function zigzag(value: number): number {
  return (value << 1) ^ (value >> 31)
}
