import { type Graph, LINK_FLAG } from '../routing/graph/graph.js'

/**
 * Classes of roads, the most important first. A graph keeps speeds and no tags, so a class is a range of speed: the
 * regulated one of the faster direction, whose defaults follow the kind of road (see `mapbuild/profile/car.ts`).
 */
export const ROAD_CLASSES = ['fast', 'main', 'through', 'street', 'lane', 'ferry'] as const
export type RoadClass = (typeof ROAD_CLASSES)[number]

/** Class → least speed, 1/10 km/h; what is slower belongs to the next one. */
const LEAST_SPEED = [850, 600, 400, 150, 1]
const FERRY = ROAD_CLASSES.indexOf('ferry')
/** A segment that must not be driven in either direction: not on the map. */
export const NO_CLASS = 255

/** Zoom → classes that are drawn: all up to this position of `ROAD_CLASSES`; ferries are drawn with `main` ones. */
const LAST_CLASS_AT = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 3]

/** Worked out once a graph. */
interface Classes {
  /** segment → position of its class, or `NO_CLASS` */
  readonly bySegment: Uint8Array
  /** the most important one that the graph has */
  readonly first: number
}

const classesOf = new WeakMap<Graph, Classes>()

/** Segment → position of its class, or `NO_CLASS`. */
export function segmentClasses(graph: Graph): Uint8Array {
  return classes(graph).bySegment
}

/**
 * The last class that a zoom draws. Where a map has none of the faster ones (ways on foot), what it has counts as if
 * it were fast, so that no map is empty from afar.
 */
export function lastClassAt(graph: Graph, zoom: number): number {
  const wanted = LAST_CLASS_AT[zoom] ?? FERRY
  const { first } = classes(graph)
  return Math.min(FERRY, wanted + (first === NO_CLASS ? 0 : first))
}

/** Whether a class is drawn at a zoom that draws all up to `last`. */
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
