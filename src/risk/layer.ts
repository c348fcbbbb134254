import { isRing } from '../geo/ring.js'
import type { Graph } from '../routing/graph/graph.js'
import type { Overlay } from '../routing/search/overlay.js'
import { buildOverlay, overlayBytes, rebuildOverlay } from './build-overlay.js'
import type { CellSet } from './cell-set.js'
import { diffCells } from './diff-cells.js'

/** Builder of overlays that keeps the last overlay of each theme, so that a few changed cells cost little. */
export interface Layer {
  /**
   * Returns the same as `buildOverlay`, faster when few cells changed since the last call with the key.
   *
   * @param key identifies a theme on a map
   */
  lay(key: string, graph: Graph, cells: CellSet): Overlay
}

/** Overlay of one key, and what it was built from. */
export interface Laid {
  /** weak, so that a map that was replaced can be collected */
  readonly graph: WeakRef<Graph>
  readonly cells: CellSet
  readonly overlay: Overlay
}

/** Share of changed cells above which the overlay is built from scratch. */
const MOST_CHANGED = 1 / 8
/** Box, level and shape reference of a cell: six numbers of 8 bytes. */
const CELL_BYTES = 48

/** Cache of the last overlay of each key. */
interface LaidCache {
  get(key: string): Laid | undefined
  set(key: string, value: Laid, bytes: number): void
}

/** Creates a layer. @param last holds the overlay that was built last for each key */
export function createLayer(last: LaidCache): Layer {
  return {
    lay(key, graph, cells) {
      const former = last.get(key)
      const isOfGraph = former?.graph.deref() === graph
      const overlay = (isOfGraph ? update(graph, former, cells) : undefined) ?? buildOverlay(graph, cells)
      const laid = { graph: new WeakRef(graph), cells, overlay }
      last.set(key, laid, overlayBytes(overlay) + cellBytes(cells))
      return overlay
    },
  }
}

/** Updates the former overlay; undefined when too many cells changed for that to be faster. */
function update(graph: Graph, { cells: before, overlay }: Laid, cells: CellSet): Overlay | undefined {
  const most = Math.floor(Math.max(before.level.length, cells.level.length) * MOST_CHANGED)
  const changed = diffCells(before, cells, most)
  return changed && rebuildOverlay(graph, overlay, cells, changed)
}

function cellBytes({ level, shape }: CellSet): number {
  let bytes = level.length * CELL_BYTES
  for (const one of shape) {
    if (one === null) continue
    bytes += isRing(one) ? one.length * 8 : one.xy.byteLength * 2 // the tree of a shape takes as much as its positions
  }
  return bytes
}
