/** Kind of an OSM object. */
export type ObjectType = 'way' | 'node' | 'relation'

/** Cause → kind of the objects that it leaves out of a map, and words for a report. */
export const CAUSES = {
  waysClosedByClass: ['way', 'ways of a class that this traveller does not use'],
  waysClosedByAccess: ['way', 'ways closed to this traveller by access tags'],
  waysUnderConstruction: ['way', 'ways closed for works'],
  waysUnusable: ['way', 'squares, impassable ways and emergency accesses'],
  waysReversible: ['way', 'ways whose direction changes by a timetable'],
  waysTooShort: ['way', 'ways of fewer than two nodes'],
  waysOutside: ['way', 'ways outside the area'],
  waysCut: ['way', 'places where a way is cut, because the extract lacks a node'],
  nodesMissing: ['node', 'nodes of ways that the extract lacks'],
  barriersClosed: ['node', 'barriers that this traveller cannot pass'],
  segmentsCutOff: ['way', 'roads without a connection to the main network (in the map, but second choice)'],
  restrictionsUnreadable: ['relation', 'turn restrictions of unknown kinds, or without from, via or to'],
  restrictionsOnRed: ['relation', 'bans of turns at a red light'],
  restrictionsWithoutWay: ['relation', 'turn restrictions on ways that the map lacks'],
  restrictionsWithoutNode: ['relation', 'turn restrictions at nodes that the map lacks'],
  restrictionsAmbiguous: ['relation', 'turn restrictions on a way that runs through their node'],
  restrictionsNotConnected: ['relation', 'turn restrictions on turns that no road allows'],
  conditionsNoted: ['way', 'conditions of roads, which are notes only'],
  restrictionsNoted: ['relation', 'conditions of turn restrictions, which are notes only'],
  areasIncomplete: ['way', 'areas of which the extract lacks a node'],
  relationsIncomplete: ['relation', 'areas of which the extract lacks a way or a node'],
  relationsUnclosed: ['relation', 'areas whose ways do not close'],
} as const satisfies Record<string, readonly [type: ObjectType, words: string]>

/** Name of a cause, as in the counts of a map. */
export type Cause = keyof typeof CAUSES

/** Receiver of each object that is left out. An object may be left out for several causes. */
export type OnLeftOut = (type: ObjectType, id: number, cause: Cause) => void

/** Counts of a build, by name. */
export interface Tally {
  readonly counts: Record<string, number>
  /** Adds one to a count. */
  count(name: string): void
  /** Counts an object that is left out, and lists it. */
  leaveOut(cause: Cause, id: number): void
  /** Lists an object that is left out, without counting it. */
  list(cause: Cause, id: number): void
  /** true when objects are listed, not only counted */
  readonly isListing: boolean
}

/** Creates the counts of a build. */
export function createTally(onLeftOut?: OnLeftOut): Tally {
  const counts: Record<string, number> = {}
  const count = (name: string) => {
    counts[name] = (counts[name] ?? 0) + 1
  }
  const list = (cause: Cause, id: number) => onLeftOut?.(CAUSES[cause][0], id, cause)
  return {
    counts,
    count,
    leaveOut(cause, id) {
      count(cause)
      list(cause, id)
    },
    list,
    isListing: onLeftOut !== undefined,
  }
}
