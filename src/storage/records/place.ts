import { bboxOf } from '../../geo/bbox.js'
import type { Bbox } from '../../geo/types.js'
import { decodeStored } from '../columns/byte-types.js'

/** Columns of a row that its entry in the spatial index depends on. */
export interface PlaceRow {
  location: Uint8Array | null
  start_datetime: bigint | null
  end_datetime: bigint | null
}

/** Returns the box (undefined without a location, or for an empty one), start and end of a row. */
export function placeOf(row: PlaceRow): [Bbox | undefined, bigint | null, bigint | null] {
  const box = row.location === null ? undefined : bboxOf(decodeStored(row.location))
  return [box, row.start_datetime, row.end_datetime]
}
