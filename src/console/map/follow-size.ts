import type { Map as MapLibreMap } from 'maplibre-gl'

/**
 * Keeps a map as large as its box. The library ignores the first report of a new size, so a box that grows while the
 * map is being made would stay partly blank.
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
