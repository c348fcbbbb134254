import type { Extract } from '../../extract/blobs.js'
import { findId, NO_INDEX, sortedIds } from '../../roads/node-table.js'
import { worldX, worldY } from '../tiles/world.js'
import { type OnBlob, readBlobs, type Scanned } from './scan.js'

/** Places of nodes. */
export interface NodePlaces {
  /** Returns x and y in units of the world; undefined for a node that the extract does not hold. */
  find(id: number): readonly [x: number, y: number] | undefined
}

const MISSING = -0x80000000

/**
 * Reads the places of nodes. About 40 bytes a node while they are sorted, 16 bytes afterwards.
 *
 * @param refs ids, also several times
 */
export async function readNodePlaces(
  extract: Extract,
  { nodeBlobs }: Scanned,
  refs: Float64Array,
  onBlob: OnBlob,
): Promise<NodePlaces> {
  const ids = sortedIds(refs)
  const lngE7 = new Int32Array(ids.length).fill(MISSING)
  const latE7 = new Int32Array(ids.length)
  let near = 0
  const visitor = {
    nodeKeys: [],
    wayKeys: [],
    node: (id: number, lng: number, lat: number) => {
      const index = findId(ids, id, near)
      if (index === NO_INDEX) return
      near = index
      lngE7[index] = lng
      latE7[index] = lat
    },
  }
  if (ids.length > 0) await readBlobs(extract, nodeBlobs, visitor, onBlob)
  return {
    find(id) {
      const index = findId(ids, id, near)
      if (index === NO_INDEX) return undefined
      near = index
      const lng = lngE7[index]!
      return lng === MISSING ? undefined : [worldX(lng), worldY(latE7[index]!)]
    },
  }
}
