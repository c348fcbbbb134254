/** Kinds of geometry, by their numbers in vector tiles. */
export const POINT = 1
export const LINE = 2
export const AREA = 3

/** Part of an object in one tile. */
export interface Piece {
  /** number of the tile, see `tileNumber` */
  readonly tile: number
  /** index in `LAYERS` */
  readonly layer: number
  readonly type: number
  /** properties as JSON */
  readonly props: string
  /** points, lines or rings in units of the tile: x, y … An outer ring comes before its holes */
  readonly parts: readonly (readonly number[])[]
}

/** Returns the number of a tile: ascending by zoom, then row, then column. */
export function tileNumber(z: number, x: number, y: number): number {
  return (4 ** z - 1) / 3 + y * 2 ** z + x
}

export function tileOf(number: number): { z: number; x: number; y: number } {
  let z = 0
  while ((4 ** (z + 1) - 1) / 3 <= number) z++
  const rest = number - (4 ** z - 1) / 3
  return { z, x: rest % 2 ** z, y: Math.floor(rest / 2 ** z) }
}

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** Packs a piece, without its tile: layer, type, properties, count of parts, then each part. */
export function packPiece({ layer, type, props, parts }: Piece): Uint8Array {
  const text = encoder.encode(props)
  const size = 8 + text.length + parts.reduce((sum, part) => sum + 4 + part.length * 2, 0)
  const bytes = new Uint8Array(size)
  const view = new DataView(bytes.buffer)
  view.setUint8(0, layer)
  view.setUint8(1, type)
  view.setUint16(2, text.length)
  view.setUint32(4, parts.length)
  bytes.set(text, 8)
  let at = 8 + text.length
  for (const part of parts) {
    view.setUint32(at, part.length)
    at += 4
    for (const value of part) {
      view.setInt16(at, value)
      at += 2
    }
  }
  return bytes
}

/** Reads a piece that `packPiece` wrote. */
export function readPiece(tile: number, bytes: Uint8Array): Piece {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const textEnd = 8 + view.getUint16(2)
  const parts: number[][] = []
  let at = textEnd
  for (let i = view.getUint32(4); i > 0; i--) {
    const part = new Array<number>(view.getUint32(at))
    at += 4
    for (let value = 0; value < part.length; value++) {
      part[value] = view.getInt16(at)
      at += 2
    }
    parts.push(part)
  }
  const props = decoder.decode(bytes.subarray(8, textEnd))
  return { tile, layer: view.getUint8(0), type: view.getUint8(1), props, parts }
}
