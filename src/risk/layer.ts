import type { Graph } from '../routing/graph/graph.js'
import type { Overlay } from '../routing/search/overlay.js'
import { buildOverlay, overlayBytes, rebuildOverlay } from './build-overlay.js'
import type { CellSet } from './cell-set.js'
import { diffCells } from './diff-cells.js'

/** Lays cells on roads again and again, as they change. */
export interface Layer {
  /**
   * The same as `buildOverlay`; sooner when few cells changed since the last time.
   *
   * @param key of one theme on one map
   */
  lay(key: string, graph: Graph, cells: CellSet): Overlay
}

/** An overlay with the cells that it was built from. */
export interface Laid {
  /** a map that was replaced must go */
  readonly graph: WeakRef<Graph>
  readonly cells: CellSet
  readonly overlay: Overlay
}

/** When more than this part of the cells changed, all is laid out anew. */
const MOST_CHANGED = 1 / 8
/** A cell with its box and level in plain arrays. */
const CELL_BYTES = 48

/** Cache of the last overlay of each key. */
export interface LaidCache {
  get(key: string): Laid | undefined
  set(key: string, value: Laid, bytes: number): void
}

/** @param last holds the overlay that was built last for each key */
export function createLayer(last: LaidCache): Layer {
  return {
    lay(key, graph, cells) {
      const former = last.get(key)
      const isOfGraph = former?.graph.deref() === graph
      const overlay = (isOfGraph ? mend(graph, former, cells) : undefined) ?? buildOverlay(graph, cells)
      const laid = { graph: new WeakRef(graph), cells, overlay }
      last.set(key, laid, overlayBytes(overlay) + cellBytes(cells))
      return overlay
    },
  }
}

/** @returns undefined when that would not be sooner */
function mend(graph: Graph, { cells: before, overlay }: Laid, cells: CellSet): Overlay | undefined {
  const most = Math.floor(Math.max(before.level.length, cells.level.length) * MOST_CHANGED)
  const changed = diffCells(before, cells, most)
  return changed && rebuildOverlay(graph, overlay, cells, changed)
}

function cellBytes({ level, shape }: CellSet): number {
  let bytes = level.length * CELL_BYTES
  for (const one of shape) {
    if (one === null) continue
    bytes += 'xy' in one ? one.xy.byteLength * 2 : one.length * 8 // a shape's tree takes as much again
  }
  return bytes
}
