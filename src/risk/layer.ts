import { isRing } from '../geo/ring.js'
import type { Graph } from '../routing/graph/graph.js'
import type { Overlay } from '../routing/search/overlay.js'
import { runToEnd, type SlicedTask } from '../routing/search/sliced-task.js'
import { buildOverlaySliced, overlayBytes, rebuildOverlaySliced } from './build-overlay.js'
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
  /**
   * Returns the same, made in slices of a few segments.
   *
   * @param throwIfEnded called before each step that may take long; what it throws ends the work
   */
  laySliced(key: string, graph: Graph, cells: CellSet, throwIfEnded?: () => void): SlicedTask<Overlay>
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
  function* laySliced(
    key: string,
    graph: Graph,
    cells: CellSet,
    throwIfEnded?: () => void,
  ): SlicedTask<Overlay> {
    const former = last.get(key)
    const changed = former?.graph.deref() === graph ? changedSince(former, cells) : undefined
    const overlay =
      former === undefined || changed === undefined
        ? yield* buildOverlaySliced(graph, cells, throwIfEnded)
        : yield* rebuildOverlaySliced(graph, former.overlay, cells, changed, throwIfEnded)
    const laid = { graph: new WeakRef(graph), cells, overlay }
    last.set(key, laid, overlayBytes(overlay) + cellBytes(cells))
    return overlay
  }
  return { laySliced, lay: (key, graph, cells) => runToEnd(laySliced(key, graph, cells)) }
}

/** Returns the cells that changed; undefined when they are too many for an update to be faster. */
function changedSince({ cells: before }: Laid, cells: CellSet): CellSet | undefined {
  const most = Math.floor(Math.max(before.level.length, cells.level.length) * MOST_CHANGED)
  return diffCells(before, cells, most)
}

function cellBytes({ level, shape }: CellSet): number {
  let bytes = level.length * CELL_BYTES
  for (const one of shape) {
    if (one === null) continue
    bytes += isRing(one) ? one.length * 8 : one.xy.byteLength * 2 // the tree of a shape takes as much as its positions
  }
  return bytes
}
