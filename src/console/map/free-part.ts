/** Space around what is shown: pins stand above their place, px. */
const MARGIN = 40
/** Space between what is shown and the legend, px. */
const GAP = 12

/** Widths along the edges of a map, px. */
interface Edges {
  readonly top: number
  readonly right: number
  readonly bottom: number
  readonly left: number
}

/**
 * Edges of a map that stay free when it is moved to what shall be seen: those of its buttons, and that of the legend,
 * which lies over a lower corner.
 *
 * @param map element of the map; the legend lies in the same box
 */
export function coveredEdges(map: HTMLElement): Edges {
  const edges = { top: MARGIN, right: MARGIN, bottom: MARGIN, left: MARGIN }
  const legend = map.parentElement?.querySelector('.map-legend')?.getBoundingClientRect()
  const box = map.getBoundingClientRect()
  if (legend === undefined || legend.height === 0) return edges
  // a pin stands above its place, and so needs no space towards the legend below it
  return { ...edges, bottom: Math.max(MARGIN, box.bottom - legend.top + GAP) }
}
