/** Units across a tile, the usual number of vector tiles. */
export const EXTENT = 4096
/** Units that roads extend over the border of a tile, so that their strokes do not end at it. */
export const BUFFER = 128
/** Northern edge of the Web Mercator square, degrees: atan(sinh(π)). */
const MAX_LAT = 85.051_128_779_806_6

/** Place of a tile: zoom, column to the east, row to the south, both below `2 ** z`. */
export interface TileId {
  readonly z: number
  readonly x: number
  readonly y: number
}

/** West, south, east, north in 1e-7 degree. */
type BoxE7 = readonly [west: number, south: number, east: number, north: number]

/** Converts a longitude to tile units, unrounded. */
export function unitX(lngE7: number, { z, x }: TileId): number {
  return ((lngE7 / 1e7 + 180) / 360) * 2 ** z * EXTENT - x * EXTENT
}

/**
 * Converts a latitude to tile units, unrounded, growing to the south.
 *
 * @see EPSG:3857, "WGS 84 / Pseudo-Mercator"
 */
export function unitY(latE7: number, { z, y }: TileId): number {
  const lat = Math.max(-MAX_LAT, Math.min(MAX_LAT, latE7 / 1e7))
  const sin = Math.sin((lat * Math.PI) / 180)
  const fromNorth = 0.5 - Math.log((1 + sin) / (1 - sin)) / (4 * Math.PI)
  return fromNorth * 2 ** z * EXTENT - y * EXTENT
}

/** Returns the box of a tile with its buffer, rounded outwards. */
export function tileBox({ z, x, y }: TileId): BoxE7 {
  const over = BUFFER / EXTENT
  const tiles = 2 ** z
  const lng = (column: number) => (column / tiles) * 360 - 180
  const lat = (row: number) => (Math.atan(Math.sinh(Math.PI * (1 - (2 * row) / tiles))) * 180) / Math.PI
  return [
    Math.floor(lng(x - over) * 1e7),
    Math.floor(lat(y + 1 + over) * 1e7),
    Math.ceil(lng(x + 1 + over) * 1e7),
    Math.ceil(lat(y - over) * 1e7),
  ]
}
