import {
  type GeoJSONSource,
  Map as MapLibreMap,
  type MapMouseEvent,
  NavigationControl,
  ScaleControl,
} from 'maplibre-gl'
import { faultText } from '../core/fault-text.js'
import { t } from '../core/i18n.js'
import { mapLocale } from '../core/map-locale.js'

import { isDark } from '../core/settings.js'
import { drawShields } from './base/shields.js'
import { clickEvents } from './events/click.js'
import { followSize } from './follow-size.js'
import { coveredEdges } from './free-part.js'
import { dragLine } from './line-drag.js'
import { liveLines } from './live-lines.js'
import type { MapEvents, MapView } from './map-view.js'
import type { Overlay } from './overlays.js'
import { createPins } from './pins.js'
import { roundPlace } from './round.js'
import { setUpLibrary } from './set-up.js'
import { mapState } from './state.js'
import { mapStyle } from './style.js'

/** Creates the map in an element of the page. */
export function createMapView(box: HTMLElement, events: MapEvents): MapView {
  setUpLibrary()
  const data = new Map<Overlay, readonly object[]>()
  const map = createMap(box)
  const endSize = followSize(map, box)
  const pins = createPins(map, events)
  const live = liveLines(map, isDark)
  listen(map, events)
  dragLine(map, events.line)
  map.on('styledata', () => fillAll(map, data))
  const setData: MapView['setData'] = (overlay, features) => {
    data.set(overlay, features)
    fillOne(map, overlay, features)
  }
  return {
    setMap: (next) => map.setStyle(mapStyle(next, isDark()), { diff: false }),
    setData,
    showPoints: pins.show,
    setMark: (point) =>
      setData(
        'mark',
        point === undefined
          ? NOTHING
          : [{ type: 'Feature', geometry: { type: 'Point', coordinates: point }, properties: {} }],
      ),
    drawLive(routes, isLast) {
      if (isLast) return live.end(routes)
      live.show(routes)
      for (const overlay of ['others', 'route', 'mark'] as const) setData(overlay, NOTHING)
    },
    fit: ([west, south, east, north]) =>
      void map.fitBounds(
        [
          [west, south],
          [east, north],
        ],
        { padding: coveredEdges(box), maxZoom: 15, animate: false },
      ),
    shows: ([west, south, east, north]) => {
      const { top, right, bottom, left } = coveredEdges(box)
      const [min, max] = [map.project([west, north]), map.project([east, south])]
      const isInWidth = min.x >= left - SLACK && max.x <= box.clientWidth - right + SLACK
      return isInWidth && min.y >= top - SLACK && max.y <= box.clientHeight - bottom + SLACK
    },
    bounds() {
      const bounds = map.getBounds()
      return [bounds.getWest(), bounds.getSouth(), bounds.getEast(), bounds.getNorth()]
    },
    close() {
      endSize()
      map.remove()
    },
  }
}

/** What reaches so far over the free part of the map is shown well enough, px. */
const SLACK = 8

/** The same each time: data that are the same are not drawn again. */
const NOTHING: readonly object[] = []

function createMap(box: HTMLElement): MapLibreMap {
  const map = new MapLibreMap({
    container: box,
    locale: mapLocale(),
    style: mapStyle(undefined, isDark()),
    attributionControl: { compact: false },
    fadeDuration: 0,
    maxPitch: 0,
    dragRotate: false,
    ...(mapState.camera ?? { center: [139.7, 35.68], zoom: 8 }),
  })
  map.getCanvas().setAttribute('aria-label', t('mapCanvas'))
  drawShields(map)
  map.touchZoomRotate.disableRotation()
  map.keyboard.disableRotation()
  map.addControl(new NavigationControl({ showCompass: false }), 'top-right')
  map.addControl(new ScaleControl({}), 'bottom-right')
  return map
}

/** Reports clicks, moves and faults of the map. */
function listen(map: MapLibreMap, events: MapEvents): void {
  map.on('click', (event) => {
    if (events.takes(roundPlace(event.lngLat))) return
    if (clickEvents(map, event, events.recordAt)) return
    // a click on a pin is none on the map below it
    if ((event.originalEvent.target as Element).closest('.pin-box') !== null) return
    const point = roundPlace(event.lngLat)
    const hit = routeAt(map, event)
    if (hit === undefined) events.onClick(point)
    else if ('key' in hit) events.onChoose(hit.key)
    else {
      events.line.onStart(hit.leg, point)
      events.line.onEnd(point)
    }
  })
  // areas can cover the whole view: a left click on one adds a point to the route, a right click opens its
  // popup
  map.on('contextmenu', (event) => void clickEvents(map, event, events.recordAt, true))
  map.on('moveend', () => {
    const { lng, lat } = map.getCenter()
    mapState.camera = { center: [lng, lat], zoom: map.getZoom() }
    events.onMoved()
  })
  map.getCanvas().addEventListener('keydown', ({ key }) => {
    const middle = roundPlace(map.getCenter())
    if (key !== 'Enter') events.onKey(key)
    else if (!events.takes(middle)) events.onClick(middle)
  })
  map.on('error', ({ error }) => events.onFault(faultText(error)))
}

/** Leg of the chosen route under the pointer, else the key of another one. */
function routeAt(map: MapLibreMap, { point }: MapMouseEvent): { leg: number } | { key: string } | undefined {
  const [line] = hitsOf(map, point, 'route-hit')
  if (line !== undefined) return { leg: Number(line.properties.leg) }
  const [other] = hitsOf(map, point, 'others-hit')
  return other === undefined ? undefined : { key: String(other.properties.key) }
}

function hitsOf(map: MapLibreMap, point: MapMouseEvent['point'], layer: string) {
  return map.getLayer(layer) === undefined ? [] : map.queryRenderedFeatures(point, { layers: [layer] })
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
