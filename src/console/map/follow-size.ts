import type { Map as MapLibreMap } from 'maplibre-gl'

/**
 * Keeps a map as large as its box at every report of a new size, also while the map is being made, when the library may
 * take the first report for the size that it began with.
 *
 * @returns function that ends it
 */
export function followSize(map: MapLibreMap, box: HTMLElement): () => void {
  const observer = new ResizeObserver(() => {
    const { clientWidth, clientHeight } = map.getCanvas()
    if (clientWidth !== box.clientWidth || clientHeight !== box.clientHeight) map.resize()
  })
  observer.observe(box)
  return () => observer.disconnect()
}
