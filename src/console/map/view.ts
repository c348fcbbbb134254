import {
  addProtocol,
  type GeoJSONSource,
  Map as MapLibreMap,
  type MapMouseEvent,
  Marker,
  NavigationControl,
  Popup,
  ScaleControl,
  setWorkerUrl,
} from 'maplibre-gl'
import { h } from '../core/dom.js'
import { t } from '../core/i18n.js'
import { readAnswer, request, rpcFault } from '../core/rpc.js'
import { isDark } from '../core/settings.js'
import type { Overlay } from './overlays.js'
import { mapState, pinLabel, type ServedMap } from './state.js'
import { mapStyle, PROTOCOL } from './style.js'

declare const __MAP_WORKER__: string

/** The map of the page. */
export interface MapView {
  /** uses another map as the base */
  setMap(map: ServedMap | undefined): void
  setData(overlay: Overlay, features: readonly object[]): void
  /** replaces the markers of the points */
  showPoints(points: readonly [number, number][]): void
  fit(bbox: readonly [number, number, number, number]): void
  /** west, south, east, north of the visible area, degrees */
  bounds(): [number, number, number, number]
  close(): void
}

interface MapEvents {
  onClick(point: [number, number]): void
  onDragged(index: number, point: [number, number]): void
  /** the map has stopped moving */
  onMoved(): void
  onFault(message: string): void
}

let isSetUp = false

/** Creates the map in an element of the page. */
export function createMapView(box: HTMLElement, events: MapEvents): MapView {
  setUp()
  const data = new Map<Overlay, readonly object[]>()
  let markers: Marker[] = []
  const map = createMap(box)
  listen(map, events)
  map.on('styledata', () => fillAll(map, data))
  return {
    setMap: (next) => map.setStyle(mapStyle(next, isDark()), { diff: false }),
    setData(overlay, features) {
      data.set(overlay, features)
      fillOne(map, overlay, features)
    },
    showPoints(points) {
      for (const marker of markers) marker.remove()
      markers = points.map((point, index) =>
        pin(map, point, pinLabel(index, points.length), (to) => events.onDragged(index, to)),
      )
    },
    fit: ([west, south, east, north]) =>
      void map.fitBounds(
        [
          [west, south],
          [east, north],
        ],
        { padding: 40, maxZoom: 15, animate: false },
      ),
    bounds() {
      const bounds = map.getBounds()
      return [bounds.getWest(), bounds.getSouth(), bounds.getEast(), bounds.getNorth()]
    },
    close: () => map.remove(),
  }
}

function createMap(box: HTMLElement): MapLibreMap {
  const map = new MapLibreMap({
    container: box,
    style: mapStyle(undefined, isDark()),
    attributionControl: { compact: false },
    fadeDuration: 0,
    maxPitch: 0,
    dragRotate: false,
    ...(mapState.camera ?? { center: [139.7, 35.68], zoom: 8 }),
  })
  map.getCanvas().setAttribute('aria-label', t('mapCanvas'))
  map.touchZoomRotate.disableRotation()
  map.addControl(new NavigationControl({ showCompass: false }), 'top-right')
  map.addControl(new ScaleControl({}), 'bottom-right')
  return map
}

/** Reports clicks, moves and faults of the map. */
function listen(map: MapLibreMap, events: MapEvents): void {
  map.on('click', (event) => {
    if (!showPopup(map, event, ['events-point', 'events-line']))
      events.onClick([round(event.lngLat.lng), round(event.lngLat.lat)])
  })
  // areas can cover the whole view: a left click on one adds a point to the route, a right click opens its
  // popup
  map.on('contextmenu', (event) => void showPopup(map, event, ['events-point', 'events-line', 'events-fill']))
  map.on('moveend', () => {
    const { lng, lat } = map.getCenter()
    mapState.camera = { center: [lng, lat], zoom: map.getZoom() }
    events.onMoved()
  })
  map.on('error', ({ error }) => events.onFault(error.message))
}

/**
 * Sets the library up once: its worker file is served by the gateway, and tiles are requested with the
 * session's header.
 */
function setUp(): void {
  if (isSetUp) return
  isSetUp = true
  setWorkerUrl(new URL(`/console/${__MAP_WORKER__}`, location.origin).href)
  addProtocol(PROTOCOL, async ({ url }, { signal }) => {
    const response = await request(url.slice(`${PROTOCOL}://`.length), { signal })
    if (response.ok) return { data: await response.arrayBuffer() }
    const { error } = await readAnswer(response)
    throw rpcFault(response.status, error ?? { code: 0, message: `Found HTTP ${response.status}` })
  })
}

function fillAll(map: MapLibreMap, data: ReadonlyMap<Overlay, readonly object[]>): void {
  for (const [overlay, features] of data) fillOne(map, overlay, features)
}

/**
 * Sets the data of one overlay. While a style is loading there is no source; `styledata` calls this again.
 */
function fillOne(map: MapLibreMap, overlay: Overlay, features: readonly object[]): void {
  const source = map.getSource<GeoJSONSource>(overlay)
  const filled = filledWith.get(source ?? map)
  if (source === undefined || filled === features) return
  filledWith.set(source, features)
  // features come from the gateway as plain JSON; the library checks them itself
  source.setData({ type: 'FeatureCollection', features } as unknown as GeoJSON.FeatureCollection)
}

/**
 * Data that each source was given last: `styledata` fires many times, and setting data again would redraw it.
 */
const filledWith = new WeakMap<object, readonly object[]>()

function pin(
  map: MapLibreMap,
  point: [number, number],
  label: string,
  onDragged: (to: [number, number]) => void,
): Marker {
  const element = h('div', { class: 'pin-box' }, h('div', { class: 'pin' }, h('span', {}, label)))
  const marker = new Marker({ element, draggable: true, anchor: 'bottom' }).setLngLat(point).addTo(map)
  element.setAttribute('role', 'img')
  element.setAttribute('aria-label', label)
  marker.on('dragend', () => {
    const { lng, lat } = marker.getLngLat()
    onDragged([round(lng), round(lat)])
  })
  return marker
}

/** Opens a popup with the properties of the event at a position. @returns whether there was one */
function showPopup(map: MapLibreMap, event: MapMouseEvent, ids: readonly string[]): boolean {
  const layers = ids.filter((id) => map.getLayer(id) !== undefined)
  const [hit] = map.queryRenderedFeatures(event.point, { layers })
  if (hit === undefined) return false
  const rows = Object.entries(hit.properties).filter(([name]) => name !== '_colour')
  const content = h(
    'dl',
    { class: 'facts' },
    rows.flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, String(value))]),
  )
  new Popup({ maxWidth: '300px' }).setLngLat(event.lngLat).setDOMContent(content).addTo(map)
  return true
}

/** Rounds to 1e-7 degree, about a centimetre. */
function round(degrees: number): number {
  return Math.round(degrees * 1e7) / 1e7
}
