import { invalidParams } from '../../errors.js'
import { type PreparedArea, prepareArea } from '../../geo/prepared-area.js'
import { reproject, SRID_WGS84 } from '../../geo/reproject.js'
import type { Geometry } from '../../geo/types.js'

/** A geometry column that search areas are compared with. */
interface Place {
  readonly name: string
  /** EPSG code */
  readonly srid: number | null
}

/**
 * Returns a search area, which is in WGS 84, in the system of a column.
 *
 * @param path of the area in the caller's params
 * @throws AppError INVALID_PARAMS when it cannot be converted
 */
export function areaFor(area: PreparedArea, { name, srid }: Place, path: string): PreparedArea {
  if (srid === null || srid === SRID_WGS84) return area
  const geometry = reproject(area.geometry, SRID_WGS84, srid)
  if (geometry !== undefined) return prepareArea(geometry)
  const found = `found a search area in EPSG:${SRID_WGS84} for the column ${name} in EPSG:${srid}, which the gateway cannot convert`
  const expected = `no area, or a condition like {"intersects": [${JSON.stringify(name)}, "SRID=${srid};POINT(1 2)"]}`
  throw invalidParams([{ path, message: `${found}, expected ${expected}` }])
}

/** Returns a geometry of a column in WGS 84; of a system that cannot be converted, the geometry as stored. */
export function inWgs84(geometry: Geometry, srid: number | null): Geometry {
  return srid === null ? geometry : (reproject(geometry, srid, SRID_WGS84) ?? geometry)
}
