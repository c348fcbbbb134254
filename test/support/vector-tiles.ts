import { gunzipSync } from 'node:zlib'
import Database from 'better-sqlite3'
import { PbfReader } from 'pbf'

/** Feature of a tile, read back. */
export interface ReadFeature {
  type: number
  properties: Record<string, unknown>
  /** points, lines or rings: x, y …; rings without their repeated point */
  parts: number[][]
}

/** Reads a vector tile: layer → features. By the specification, apart from the writer. */
export function readVectorTile(bytes: Uint8Array): Record<string, ReadFeature[]> {
  const layers: Record<string, ReadFeature[]> = {}
  const pbf = new PbfReader(bytes)
  for (let field = pbf.nextField(); field !== 0; field = pbf.nextField()) {
    if (field !== 3) continue
    const { name, features } = readLayer(pbf.readBytes())
    layers[name] = features
  }
  return layers
}

function readLayer(bytes: Uint8Array): { name: string; features: ReadFeature[] } {
  let name = ''
  const keys: string[] = []
  const values: unknown[] = []
  const raw: Uint8Array[] = []
  const pbf = new PbfReader(bytes)
  for (let field = pbf.nextField(); field !== 0; field = pbf.nextField()) {
    if (field === 1) name = pbf.readString()
    else if (field === 2) raw.push(pbf.readBytes())
    else if (field === 3) keys.push(pbf.readString())
    else if (field === 4) values.push(readValue(pbf.readBytes()))
  }
  return { name, features: raw.map((each) => readFeature(each, keys, values)) }
}

function readValue(bytes: Uint8Array): unknown {
  const pbf = new PbfReader(bytes)
  let value: unknown
  for (let field = pbf.nextField(); field !== 0; field = pbf.nextField()) {
    if (field === 1) value = pbf.readString()
    else if (field === 3) value = pbf.readDouble()
    else if (field === 5) value = pbf.readVarint()
    else if (field === 7) value = pbf.readBoolean()
  }
  return value
}

function readFeature(bytes: Uint8Array, keys: string[], values: unknown[]): ReadFeature {
  const tags: number[] = []
  const commands: number[] = []
  let type = 0
  const pbf = new PbfReader(bytes)
  for (let field = pbf.nextField(); field !== 0; field = pbf.nextField()) {
    if (field === 2) pbf.readPackedVarint(tags)
    else if (field === 3) type = pbf.readVarint()
    else if (field === 4) pbf.readPackedVarint(commands)
  }
  const properties: Record<string, unknown> = {}
  for (let i = 0; i < tags.length; i += 2) properties[keys[tags[i]!]!] = values[tags[i + 1]!]
  return { type, properties, parts: readGeometry(commands) }
}

function readGeometry(commands: readonly number[]): number[][] {
  const parts: number[][] = []
  let x = 0
  let y = 0
  for (let at = 0; at < commands.length; ) {
    const id = commands[at]! & 7
    const count = commands[at++]! >> 3
    if (id === 7) continue
    for (let i = 0; i < count; i++) {
      x += (commands[at]! >> 1) ^ -(commands[at]! & 1)
      y += (commands[at + 1]! >> 1) ^ -(commands[at + 1]! & 1)
      at += 2
      if (id === 1) parts.push([x, y])
      else parts.at(-1)!.push(x, y)
    }
  }
  return parts
}

/** Tiles of an MBTiles file at a zoom: `x/y` from the north → layers. */
export function tilesOf(file: string, zoom: number): Record<string, Record<string, ReadFeature[]>> {
  const db = new Database(file, { readonly: true })
  try {
    const rows = db
      .prepare('SELECT tile_column AS x, tile_row AS y, tile_data AS data FROM tiles WHERE zoom_level = ?')
      .all(zoom) as { x: number; y: number; data: Uint8Array }[]
    return Object.fromEntries(
      rows.map(({ x, y, data }) => [`${x}/${2 ** zoom - 1 - y}`, readVectorTile(gunzipSync(data))]),
    )
  } finally {
    db.close()
  }
}
