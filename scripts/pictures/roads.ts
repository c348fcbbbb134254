import { DEMO } from '../../src/demo/town.js'
import { loadGraphFile } from '../../src/files/graph-file-loader.js'
import { readLine } from '../../src/routing/graph/geometry.js'

/** Lines of every road of a map file, degrees; main roads are those that may be driven faster than 50 km/h. */
export function roadsOf(file: string): { isMain: boolean; line: [number, number][] }[] {
  const graph = loadGraphFile(file)
  return Array.from({ length: graph.segmentCount }, (_, segment) => {
    const flat: number[] = []
    const corners = readLine(graph, segment, flat)
    const line = Array.from({ length: corners }, (_, at): [number, number] => [
      (flat[at * 2] ?? 0) / 1e7,
      (flat[at * 2 + 1] ?? 0) / 1e7,
    ])
    const speed = Math.max(graph.linkSpeed[segment * 2] ?? 0, graph.linkSpeed[segment * 2 + 1] ?? 0)
    return { isMain: speed > 500, line }
  })
}

export const demo = DEMO
