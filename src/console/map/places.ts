import {
  type GeoJSONSource,
  Map as MapLibreMap,
  type MapMouseEvent,
  NavigationControl,
  Popup,
  ScaleControl,
} from 'maplibre-gl'
import { h } from '../core/dom.js'
import { faultText } from '../core/fault-text.js'
import { t } from '../core/i18n.js'
import { mapLocale } from '../core/map-locale.js'

import { isDark } from '../core/settings.js'
import { setUpLibrary } from './set-up.js'
import type { ServedMap } from './state.js'
import { mapStyle } from './style.js'

/** A place on a map. */
export interface Place {
  readonly name: string
  readonly note: string
  readonly colour: string
  /** 1 for an ordinary one */
  readonly size: number
  /** page of it, and the text of the link to that */
  readonly link: readonly [href: string, text: string]
  /** degrees */
  readonly position: readonly [lng: number, lat: number]
}

/** Map of places, each with a popup. */
export interface PlacesMap {
  /** Shows places; later ones lie above earlier ones. */
  show(places: readonly Place[]): void
  fit(places: readonly Place[]): void
  close(): void
}

const LAYER = 'places'

/** Creates a map of places. @param base undefined for no roads */
export function createPlacesMap(
  box: HTMLElement,
  base: ServedMap | undefined,
  onFault: (message: string) => void,
): PlacesMap {
  setUpLibrary()
  let shown: readonly Place[] = []
  const map = new MapLibreMap({
    ...{ container: box, locale: mapLocale(), style: styleOf(base), attributionControl: { compact: false } },
    ...{ fadeDuration: 0, maxPitch: 0, dragRotate: false, center: [139.7, 35.68], zoom: 4 },
  })
  map.getCanvas().setAttribute('aria-label', t('mapCanvas'))
  map.touchZoomRotate.disableRotation()
  map.addControl(new NavigationControl({ showCompass: false }), 'top-right')
  map.addControl(new ScaleControl({}), 'bottom-right')
  const fill = () => map.getSource<GeoJSONSource>(LAYER)?.setData(collectionOf(shown))
  map.on('load', fill)
  map.on('click', (event) => openPopup(map, event, shown))
  map.on('error', ({ error }) => onFault(faultText(error)))
  return {
    show(places) {
      shown = places
      fill()
    },
    fit(places) {
      const edges = (at: 0 | 1) => {
        const values = places.map(({ position }) => position[at])
        return [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))] as const
      }
      const [[west, east], [south, north]] = [edges(0), edges(1)]
      map.fitBounds([west, south, east, north], { padding: 40, maxZoom: 13, animate: false })
    },
    close: () => map.remove(),
  }
}

type Style = ReturnType<typeof mapStyle>

function styleOf(base: ServedMap | undefined): Style {
  const style = mapStyle(base, isDark())
  const circles: Style['layers'][number] = {
    ...{ id: LAYER, type: 'circle', source: LAYER },
    paint: {
      'circle-color': ['get', 'colour'],
      // biome-ignore format: pairs of a zoom and a radius
      'circle-radius': [
        'interpolate', ['linear'], ['zoom'],
        6, ['*', 3, ['get', 'size']],
        12, ['*', 6, ['get', 'size']],
      ],
      'circle-stroke-color': isDark() ? '#10181c' : '#ffffff',
      'circle-stroke-width': 1,
    },
  }
  const places: Style['sources'][string] = { type: 'geojson', data: collectionOf([]) }
  return { ...style, sources: { ...style.sources, [LAYER]: places }, layers: [...style.layers, circles] }
}

function collectionOf(places: readonly Place[]): GeoJSON.FeatureCollection {
  const features = places.map(({ colour, size, position: [lng, lat] }, at) => ({
    type: 'Feature' as const,
    geometry: { type: 'Point' as const, coordinates: [lng, lat] },
    properties: { at, colour, size },
  }))
  return { type: 'FeatureCollection', features }
}

function openPopup(map: MapLibreMap, { point }: MapMouseEvent, places: readonly Place[]): void {
  if (map.getLayer(LAYER) === undefined) return
  const [hit] = map.queryRenderedFeatures(point, { layers: [LAYER] })
  const place = places[Number(hit?.properties.at)]
  if (place === undefined) return
  const { name, note, link, position } = place
  const [href, text] = link
  const content = h('div', { class: 'stack tight' }, h('b', {}, name), note, h('a', { href }, text))
  new Popup({ maxWidth: '260px' })
    .setLngLat([...position])
    .setDOMContent(content)
    .addTo(map)
}
