import Flatbush from 'flatbush'
import type { Graph } from './graph.js'

const indexes = new WeakMap<Graph, Flatbush>()

/** Returns the index over the segments' boxes; it is opened once a graph, without a copy. */
export function segmentIndex(graph: Graph): Flatbush {
  let index = indexes.get(graph)
  if (index === undefined) {
    // a view of the map file: offsets of sections are multiples of 8, as flatbush asks
    const bytes = graph.segmentIndex
    index = Flatbush.from(bytes.buffer, bytes.byteOffset)
    indexes.set(graph, index)
  }
  return index
}
