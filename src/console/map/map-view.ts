import type { LiveRoute } from './live-strokes.js'
import type { Overlay } from './overlays.js'
import type { ServedMap } from './state.js'

/** The map of the page. */
export interface MapView {
  /** uses another map as the base */
  setMap(map: ServedMap | undefined): void
  setData(overlay: Overlay, features: readonly object[]): void
  /**
   * draws routes over the map instead of those of its data, up to the last ones: the data of `route` and `others`
   * are set before that
   */
  drawLive(routes: readonly LiveRoute[], isLast: boolean): void
  /** shows the markers of the points: those that were there move */
  showPoints(points: readonly [number, number][]): void
  /** marks a place of the route; undefined removes the mark */
  setMark(point: [number, number] | undefined): void
  /** moves the map so that all of a box lies in the part that no legend and no button covers */
  fit(bbox: readonly [number, number, number, number]): void
  /** true when all of a box lies in that part now */
  shows(bbox: readonly [number, number, number, number]): boolean
  /** west, south, east, north of the visible area, degrees */
  bounds(): [number, number, number, number]
  close(): void
}

export interface MapEvents extends PinEvents {
  onClick(point: [number, number]): void
  /** takes a click, or Enter on the map, before anything else. @returns whether it did */
  takes(point: [number, number]): boolean
  /** another key was pressed on the map */
  onKey(key: string): void
  /** a route that is not the chosen one was clicked */
  onChoose(key: string): void
  readonly line: LineDrag
  /** records of the tables that are shown, by the index that their features have */
  recordAt(index: number): RecordOfMap | undefined
  /** the map has stopped moving */
  onMoved(): void
  onFault(message: string): void
}

/** A record as it came, which the map's features only refer to. */
export interface RecordOfMap {
  readonly table: string
  readonly properties: Readonly<Record<string, unknown>>
}

/** Takes what happens to the pins of the route. */
export interface PinEvents {
  /** a pin is being dragged */
  onDragging(index: number, point: [number, number]): void
  /** a pin was dragged, or moved by a key */
  onDragged(index: number, point: [number, number]): void
  onRemove(index: number): void
}

/** Takes the drag of the line of the route. */
export interface LineDrag {
  /** @param leg leg that was seized, counted from 0 */
  onStart(leg: number, point: [number, number]): void
  onMove(point: [number, number]): void
  onEnd(point: [number, number]): void
}
