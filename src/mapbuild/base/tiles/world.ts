import { BASE_MAX_ZOOM } from '../../../basemap/format.js'
import { EXTENT, unitX, unitY } from '../../../tiles/mercator.js'

/** Units across the world: those of a tile at the last zoom. */
export const WORLD = 2 ** BASE_MAX_ZOOM * EXTENT
const ORIGIN = { z: BASE_MAX_ZOOM, x: 0, y: 0 }

/** Converts a longitude to units of the world. */
export function worldX(lngE7: number): number {
  return unitX(lngE7, ORIGIN)
}

/** Converts a latitude to units of the world, growing to the south. */
export function worldY(latE7: number): number {
  return unitY(latE7, ORIGIN)
}

/** Converts a place in units of the world to 1e-7 degree. */
export function toLngLatE7(x: number, y: number): [lngE7: number, latE7: number] {
  const lng = (x / WORLD) * 360 - 180
  const lat = (Math.atan(Math.sinh(Math.PI * (1 - (2 * y) / WORLD))) * 180) / Math.PI
  return [Math.round(lng * 1e7), Math.round(lat * 1e7)]
}

/** Units of the world in one unit of a tile. */
export function unitsPerTileUnit(zoom: number): number {
  return 2 ** (BASE_MAX_ZOOM - zoom)
}
