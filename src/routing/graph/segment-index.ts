import Flatbush from 'flatbush'
import type { Graph } from './graph.js'

const indexes = new WeakMap<Uint8Array, Flatbush>()

/** Returns the index over the segments' boxes; it is opened once a map, without a copy. */
export function segmentIndex(graph: Graph): Flatbush {
  let index = indexes.get(graph.segmentIndex)
  if (index === undefined) {
    // a view of the map file: offsets of sections are multiples of 8, as flatbush asks
    const bytes = graph.segmentIndex
    index = Flatbush.from(bytes.buffer, bytes.byteOffset)
    indexes.set(bytes, index)
  }
  return index
}
