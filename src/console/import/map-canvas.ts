import {
  addProtocol,
  type GeoJSONSource,
  Map as MapLibreMap,
  NavigationControl,
  setWorkerUrl,
} from 'maplibre-gl'
import { t } from '../core/i18n.js'
import { call, request } from '../core/rpc.js'
import { isDark } from '../core/settings.js'
import type { ServedMap } from '../map/state.js'
import { mapStyle, PROTOCOL } from '../map/style.js'

declare const __MAP_WORKER__: string

/** A map of features over the roads of the gateway. */
export interface MapCanvas {
  /** @param bbox west, south, east, north in degrees */
  show(features: readonly object[], bbox: readonly [number, number, number, number]): void
  /** marks features by their positions among those that are shown */
  select(positions: ReadonlySet<number>): void
  close(): void
}

const SOURCE = 'shown'

/**
 * Creates a map in an element.
 *
 * @param onChosen called with the position of the feature that was clicked, among those that are shown
 */
export async function createMapCanvas(
  box: HTMLElement,
  onChosen?: (position: number) => void,
): Promise<MapCanvas> {
  setWorkerUrl(new URL(`/console/${__MAP_WORKER__}`, location.origin).href)
  addProtocol(PROTOCOL, async ({ url }, { signal }) => {
    const response = await request(url.slice(`${PROTOCOL}://`.length), { signal })
    return { data: response.ok ? await response.arrayBuffer() : new ArrayBuffer(0) }
  })
  // without the right to read maps the features lie on an empty ground
  const { maps } = await call<{ maps: ServedMap[] }>('routing.list_maps', {}).catch(() => ({ maps: [] }))
  const map = new MapLibreMap({
    ...{
      container: box,
      style: mapStyle(undefined, isDark()),
      fadeDuration: 0,
      maxPitch: 0,
      dragRotate: false,
    },
    attributionControl: { compact: true },
  })
  map.getCanvas().setAttribute('aria-label', t('smallMap'))
  map.addControl(new NavigationControl({ showCompass: false }), 'top-right')
  let [shown, chosen]: [readonly object[], ReadonlySet<number>] = [[], new Set()]
  let base: string | undefined
  const draw = () => {
    const features = shown.map((feature, position) => ({
      ...feature,
      properties: { position, isChosen: chosen.has(position) },
    }))
    const data = { type: 'FeatureCollection', features } as unknown as GeoJSON.FeatureCollection
    map.getSource<GeoJSONSource>(SOURCE)?.setData(data)
  }
  map.on('style.load', () => {
    addLayers(map)
    draw()
  })
  map.on('click', (event) => {
    const layers = ['shown-point', 'shown-line', 'shown-area'].filter((id) => map.getLayer(id) !== undefined)
    const [hit] = map.queryRenderedFeatures(event.point, { layers })
    if (typeof hit?.properties.position === 'number') onChosen?.(hit.properties.position)
  })
  return {
    show(features, [west, south, east, north]) {
      shown = features
      chosen = new Set()
      const near = maps.find(
        ({ bbox }) => bbox[0] <= east && bbox[2] >= west && bbox[1] <= north && bbox[3] >= south,
      )
      if (near?.name !== base) map.setStyle(mapStyle(near, isDark()), { diff: false })
      else draw()
      base = near?.name
      map.fitBounds([west, south, east, north], { padding: 24, maxZoom: 15, animate: false })
    },
    select(positions) {
      chosen = positions
      draw()
    },
    close: () => map.remove(),
  }
}

function addLayers(map: MapLibreMap): void {
  const colour = isDark() ? '#5cc6dc' : '#0b6a80'
  const paint = ['case', ['get', 'isChosen'], '#d9463c', colour] as unknown as string
  if (map.getSource(SOURCE) === undefined)
    map.addSource(SOURCE, { type: 'geojson', data: { type: 'FeatureCollection', features: [] } })
  const is = (type: string) => ['==', ['geometry-type'], type] as unknown as boolean
  map.addLayer({
    ...{ id: 'shown-area', type: 'fill', source: SOURCE, filter: is('Polygon') },
    paint: { 'fill-color': paint, 'fill-opacity': 0.3 },
  })
  map.addLayer({
    ...{ id: 'shown-line', type: 'line', source: SOURCE },
    filter: ['!=', ['geometry-type'], 'Point'],
    paint: { 'line-color': paint, 'line-width': 2 },
  })
  map.addLayer({
    ...{ id: 'shown-point', type: 'circle', source: SOURCE, filter: is('Point') },
    paint: {
      'circle-color': paint,
      'circle-radius': 4,
      'circle-stroke-width': 1,
      'circle-stroke-color': '#ffffff',
    },
  })
}
