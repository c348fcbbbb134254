import { PbfWriter } from 'pbf'
import { EXTENT } from './mercator.js'

/** Feature of a tile: lines in tile units with properties. */
export interface TileFeature {
  /** undefined = none */
  readonly id: number | undefined
  readonly properties: Readonly<Record<string, string | number | boolean>>
  /** x, y, x, y … whole numbers, each line at least two different points */
  readonly lines: readonly (readonly number[])[]
}

/** Version of the vector tile specification. */
const VERSION = 2
/** Geometry type and commands of the specification, section 4.3. */
const LINESTRING = 2
const MOVE_TO = 1
const LINE_TO = 2

/**
 * Writes a vector tile with one layer.
 *
 * @see https://github.com/mapbox/vector-tile-spec/tree/master/2.1
 */
export function writeTile(layer: string, features: readonly TileFeature[]): Uint8Array {
  const pbf = new PbfWriter()
  pbf.writeMessage(3, writeLayer, { layer, features })
  return pbf.finish()
}

function writeLayer(
  { layer, features }: { layer: string; features: readonly TileFeature[] },
  pbf: PbfWriter,
): void {
  const keys = new Map<string, number>()
  const values = new Map<string | number | boolean, number>()
  pbf.writeStringField(1, layer)
  for (const { id, properties, lines } of features) {
    // pairs of positions in the pools of keys and values, which all features of the layer share
    const tags = Object.entries(properties).flatMap(([key, value]) => [
      indexIn(keys, key),
      indexIn(values, value),
    ])
    pbf.writeMessage(2, writeFeature, { id, tags, geometry: commandsOf(lines) })
  }
  for (const key of keys.keys()) pbf.writeStringField(3, key)
  for (const value of values.keys()) pbf.writeMessage(4, writeValue, value)
  pbf.writeVarintField(5, EXTENT)
  pbf.writeVarintField(15, VERSION)
}

/** Writes a feature: fields 1 id, 2 tags, 3 geometry type, 4 geometry. */
function writeFeature(
  { id, tags, geometry }: { id: number | undefined; tags: number[]; geometry: number[] },
  pbf: PbfWriter,
): void {
  if (id !== undefined) pbf.writeVarintField(1, id)
  pbf.writePackedVarint(2, tags)
  pbf.writeVarintField(3, LINESTRING)
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
function commandsOf(lines: readonly (readonly number[])[]): number[] {
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
    x = line[line.length - 2]!
    y = line[line.length - 1]!
  }
  return commands
}

/** 0, -1, 1, -2 … → 0, 1, 2, 3 … */
function zigzag(value: number): number {
  return (value << 1) ^ (value >> 31)
}
