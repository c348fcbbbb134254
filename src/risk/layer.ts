import type { Graph } from '../routing/graph/graph.js'
import type { Overlay } from '../routing/search/overlay.js'
import { runToEnd, type SlicedTask } from '../routing/search/sliced-task.js'
import { overlayBytes, rebuildOverlaySliced } from './build-overlay.js'
import type { CellSet } from './cell-set.js'
import { diffCells } from './diff-cells.js'
import { type LayHelpers, layTogether } from './shared-lay.js'

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

/** Cache of the last overlay of each key. */
interface LaidCache {
  get(key: string): Laid | undefined
  set(key: string, value: Laid, bytes: number): void
}

/**
 * Creates a layer.
 *
 * @param last holds the overlay that was built last for each key
 * @param helpers other threads, for overlays that are built in slices
 */
export function createLayer(last: LaidCache, helpers?: LayHelpers): Layer {
  function* make(
    key: string,
    graph: Graph,
    cells: CellSet,
    options: { throwIfEnded?: (() => void) | undefined; helpers?: LayHelpers | undefined },
  ): SlicedTask<Overlay> {
    const { throwIfEnded } = options
    const former = last.get(key)
    const changed = former?.graph.deref() === graph ? changedSince(former, cells) : undefined
    const overlay =
      former === undefined || changed === undefined
        ? yield* layTogether(graph, cells, throwIfEnded, options.helpers)
        : yield* rebuildOverlaySliced(graph, former.overlay, cells, changed, throwIfEnded)
    const laid = { graph: new WeakRef(graph), cells, overlay }
    last.set(key, laid, overlayBytes(overlay) + cellBytes(cells))
    return overlay
  }
  return {
    laySliced: (key, graph, cells, throwIfEnded) => make(key, graph, cells, { throwIfEnded, helpers }),
    lay: (key, graph, cells) => runToEnd(make(key, graph, cells, {})),
  }
}

/** Returns the cells that changed; undefined when they are too many for an update to be faster. */
function changedSince({ cells: before }: Laid, cells: CellSet): CellSet | undefined {
  const most = Math.floor(Math.max(before.count, cells.count) * MOST_CHANGED)
  return diffCells(before, cells, most)
}

function cellBytes({ box, level, form, firstPosition, xy, shapes }: CellSet): number {
  let bytes = box.byteLength + level.byteLength + form.byteLength + firstPosition.byteLength + xy.byteLength
  for (const shape of shapes.values()) bytes += shape.xy.byteLength * 2 // its tree takes as much as its positions
  return bytes
}
