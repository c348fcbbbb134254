import Flatbush from 'flatbush'
import type { Graph } from './graph.js'

const indexes = new WeakMap<Graph, Flatbush>()

/** The index over the segments' boxes, opened once a graph. */
export function segmentIndex(graph: Graph): Flatbush {
  let index = indexes.get(graph)
  if (index === undefined) {
    const bytes = graph.segmentIndex
    index = Flatbush.from(bytes.buffer, bytes.byteOffset)
    indexes.set(graph, index)
  }
  return index
}
