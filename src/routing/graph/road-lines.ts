import type { Shapes } from './geometry.js'
import type { Graph } from './graph.js'
import { isPaged, type Paged, type Pages } from './paged.js'

/** Arrays of a graph that describe the lines of its roads and where they lie. */
export type RoadLines = Shapes & Pick<Graph, 'segmentCount' | 'segmentIndex'>

/** Names of those that are in the file of a large map, where memory is short. */
type StoredName = 'firstGeometry' | 'geometry' | 'segmentIndex'

/** A stored array as another thread is told of it: in shared memory, or its place in the file. */
type SentArray<A> = Exclude<A, Paged> | Omit<Paged, 'pages'>

/** Lines of the roads of a map as another thread of the process is told of them, without a copy. */
export interface SentLines extends Omit<RoadLines, StoredName> {
  /** of the graph, in this process */
  readonly id: number
  readonly stored: { readonly [Name in StoredName]: SentArray<RoadLines[Name]> }
  /** pages of those that are in the file; undefined = none is */
  readonly file: SentFile | undefined
}

/** An open map file. */
interface SentFile {
  readonly fd: number
  /** page → CRC-32 of its bytes when the map was opened */
  readonly sumOf: Uint32Array
}

const ids = new WeakMap<RoadLines['geometry'], number>()
let lastId = 0

/** Returns what another thread needs to read the lines of a graph. Arrays that are not in shared memory are copied. */
export function sendLines(graph: RoadLines): SentLines {
  const { firstGeometry, geometry, segmentIndex } = graph
  const id = ids.get(geometry) ?? ++lastId
  ids.set(geometry, id)
  return {
    id,
    file: isPaged(geometry) ? { fd: geometry.pages.fd, sumOf: geometry.pages.sumOf } : undefined,
    segmentCount: graph.segmentCount,
    segmentTail: graph.segmentTail,
    segmentHead: graph.segmentHead,
    segmentLengthMm: graph.segmentLengthMm,
    junctionLngE7: graph.junctionLngE7,
    junctionLatE7: graph.junctionLatE7,
    stored: {
      firstGeometry: isPaged(firstGeometry) ? placeOf(firstGeometry) : firstGeometry,
      geometry: isPaged(geometry) ? placeOf(geometry) : geometry,
      segmentIndex: isPaged(segmentIndex) ? placeOf(segmentIndex) : segmentIndex,
    },
  }
}

/**
 * Returns the lines of a graph in another thread.
 *
 * @param createPages creates pages for a file, none of which is read yet
 */
export function receiveLines(
  { stored, file, ...lines }: SentLines,
  createPages: (fd: number) => Pages,
): RoadLines {
  const pages = file && createPages(file.fd)
  if (pages !== undefined) {
    pages.sumOf = file!.sumOf
    pages.pageCount = pages.sumOf.length
    pages.frameOf = new Int32Array(pages.pageCount).fill(-1)
  }
  const received = <A extends object>(array: A | Omit<Paged, 'pages'>): A | Paged =>
    ArrayBuffer.isView(array) ? array : { ...(array as Omit<Paged, 'pages'>), pages: pages! }
  return {
    ...lines,
    firstGeometry: received(stored.firstGeometry),
    geometry: received(stored.geometry),
    segmentIndex: received(stored.segmentIndex),
  }
}

function placeOf({ firstPage, offset, byteLength, length, steps }: Paged): Omit<Paged, 'pages'> {
  return { firstPage, offset, byteLength, length, steps }
}
