import { bboxOf } from '../../../geo/bbox.js'
import type { Bbox } from '../../../geo/types.js'
import { decodeStored } from '../../columns/byte-types.js'

/** What of a row decides where it stands in the spatial index. */
export interface PlaceRow {
  location: Uint8Array | null
  start_datetime: bigint | null
  end_datetime: bigint | null
}

/** Box (undefined for no geometry or an empty one), start and end. */
export function placeOf(row: PlaceRow): [Bbox | undefined, bigint | null, bigint | null] {
  const box = row.location === null ? undefined : bboxOf(decodeStored(row.location))
  return [box, row.start_datetime, row.end_datetime]
}
