import { type Graph, LINK_FLAG } from '../routing/graph/graph.js'

/**
 * Classes of roads, the most important first. A graph keeps speeds and no tags, so a class is a range of
 * speeds: the regulated speed of the faster direction, whose defaults follow the kind of road
 * (`mapbuild/profile/car.ts`).
 */
export const ROAD_CLASSES = ['fast', 'main', 'through', 'street', 'lane', 'ferry'] as const

/** Class → lowest speed, 1/10 km/h. */
const LEAST_SPEED = [850, 600, 400, 150, 1]
const FERRY = ROAD_CLASSES.indexOf('ferry')
/** Class of a segment that is closed in both directions: not drawn. */
const NO_CLASS = 255

/** Zoom → last class that is drawn, as index of `ROAD_CLASSES`; ferries are drawn from `main` on. */
const LAST_CLASS_AT = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 3]

/** Classes of one graph. */
interface Classes {
  /** segment → index of its class, or `NO_CLASS` */
  readonly bySegment: Uint8Array
  /** the most important class in the graph */
  readonly first: number
}

/** Classes of each graph, kept as long as the graph. */
const classesOf = new WeakMap<Graph, Classes>()

/**
 * Returns segment → index of its class in `ROAD_CLASSES`, or 255. Linear in the segments for the first call.
 */
export function segmentClasses(graph: Graph): Uint8Array {
  return classes(graph).bySegment
}

/**
 * Returns the last class that is drawn at a zoom. In a map without the faster classes (for people on foot),
 * its fastest class counts as the first, so that no map is empty at low zooms.
 */
export function lastClassAt(graph: Graph, zoom: number): number {
  const wanted = LAST_CLASS_AT[zoom] ?? FERRY
  const { first } = classes(graph)
  return Math.min(FERRY, wanted + (first === NO_CLASS ? 0 : first))
}

/** Returns true when a class is drawn at a zoom whose last class is `last`. */
export function isDrawn(roadClass: number, last: number): boolean {
  return roadClass === FERRY ? last >= 1 : roadClass <= last
}

function classes(graph: Graph): Classes {
  let known = classesOf.get(graph)
  if (known === undefined) {
    const bySegment = classify(graph)
    const first = bySegment.reduce((least, each) => Math.min(least, each), NO_CLASS)
    known = { bySegment, first }
    classesOf.set(graph, known)
  }
  return known
}

function classify({ linkSpeed, linkFlags, segmentCount }: Graph): Uint8Array {
  const found = new Uint8Array(segmentCount)
  for (let segment = 0; segment < segmentCount; segment++) {
    const link = segment * 2
    const speed = Math.max(linkSpeed[link]!, linkSpeed[link + 1]!)
    const isFerry = ((linkFlags[link]! | linkFlags[link + 1]!) & LINK_FLAG.FERRY) !== 0
    found[segment] =
      speed === 0 ? NO_CLASS : isFerry ? FERRY : LEAST_SPEED.findIndex((least) => speed >= least)
  }
  return found
}
