import {
  addProtocol,
  type GeoJSONSource,
  Map as MapLibreMap,
  NavigationControl,
  setWorkerUrl,
} from 'maplibre-gl'
import { t } from '../core/i18n.js'
import { mapLocale } from '../core/map-locale.js'
import { call, request } from '../core/rpc.js'
import { isDark } from '../core/settings.js'
import { whenIdle } from '../core/when-idle.js'
import { followSize } from '../map/follow-size.js'
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
    ...{ container: box, locale: mapLocale(), style: { version: 8, sources: {}, layers: [] } },
    ...{ fadeDuration: 0, maxPitch: 0, dragRotate: false },
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
  const layers = layersInPieces(map, box)
  let fit: () => void = () => undefined
  map.on('movestart', ({ originalEvent }) => {
    if (originalEvent !== undefined) fit = () => undefined // the user has chosen another part
  })
  map.on('resize', () => fit())
  const endSize = followSize(map, box)
  const useBase = (near: ServedMap | undefined) => {
    const style = mapStyle(near, isDark())
    const ground = style.layers.filter(({ type }) => type === 'background')
    map.setStyle({ ...style, layers: ground }, { diff: false })
    map.once('style.load', () => {
      map.addSource(SOURCE, { type: 'geojson', data: { type: 'FeatureCollection', features: [] } })
      draw()
      layers.add(style.layers)
    })
  }
  map.on('click', (event) => {
    const hits = map.queryRenderedFeatures(event.point)
    const hit = hits.find(({ source }) => source === SOURCE)
    if (typeof hit?.properties.position === 'number') onChosen?.(hit.properties.position)
  })
  return {
    show(features, [west, south, east, north]) {
      shown = features
      chosen = new Set()
      const near = maps.find(
        ({ bbox }) => bbox[0] <= east && bbox[2] >= west && bbox[1] <= north && bbox[3] >= south,
      )
      if (near?.name !== base || map.getSource(SOURCE) === undefined) useBase(near)
      else draw()
      base = near?.name
      // the buttons lie at the right, the attribution at the bottom
      const padding = { top: 24, right: 56, bottom: 40, left: 24 }
      fit = () => void map.fitBounds([west, south, east, north], { padding, maxZoom: 15, animate: false })
      fit()
    },
    select(positions) {
      chosen = positions
      draw()
    },
    close() {
      layers.end()
      endSize()
      map.remove()
    },
  }
}

type Layers = ReturnType<typeof mapStyle>['layers']

/**
 * Adds layers kind by kind, each when the page is idle: each kind has programs that take long to make without a
 * graphics card. Names, whose letters take longest, come when the map is pointed at or focused.
 */
function layersInPieces(map: MapLibreMap, box: HTMLElement) {
  let run = 0
  let names: Layers = []
  const addNames = () => {
    for (const layer of names) map.addLayer(layer, FIRST_SHOWN)
    names = []
  }
  for (const event of ['pointerenter', 'focusin'] as const) box.addEventListener(event, addNames)
  return {
    add(layers: Layers) {
      run++
      names = []
      const mine = run
      const add = (pieces: readonly (() => void)[]) => {
        const [piece, ...rest] = pieces
        if (piece === undefined || mine !== run) return
        piece()
        void map.once('idle', () => whenIdle(() => add(rest)))
      }
      const ofKind = (kind: Layers[number]['type']) => () => {
        for (const layer of layers) if (layer.type === kind) map.addLayer(layer, FIRST_SHOWN)
      }
      add([
        ...shownLayers().map((kind) => () => {
          for (const layer of kind) map.addLayer(layer)
        }),
        ofKind('fill'),
        ofKind('line'),
        () => {
          names = layers.filter(({ type }) => type === 'symbol')
          if (box.matches(':hover, :focus-within')) addNames()
        },
      ])
    },
    end() {
      run++
    },
  }
}

/** Lowest layer of what is shown. */
const FIRST_SHOWN = 'shown-fill-0'

/** Layers of what is shown, by kind. Those of chosen features are their own: a colour of each would be a program more. */
function shownLayers(): Layers[] {
  const both = (
    filter: [string, unknown, string],
    layerOf: (colour: string, same: { id: string; source: string; filter: boolean }) => Layers[number],
  ): Layers =>
    [false, true].map((isChosen) =>
      layerOf(isChosen ? '#d9463c' : isDark() ? '#5cc6dc' : '#0b6a80', {
        id: '',
        source: SOURCE,
        filter: ['all', filter, ['==', ['get', 'isChosen'], isChosen]] as unknown as boolean,
      }),
    )
  const type = ['geometry-type']
  const kinds = [
    both(['==', type, 'Polygon'], (colour, same) => ({
      ...{ ...same, type: 'fill' },
      paint: { 'fill-color': colour, 'fill-opacity': 0.3, 'fill-antialias': false },
    })),
    both(['!=', type, 'Point'], (colour, same) => ({
      ...{ ...same, type: 'line' },
      paint: { 'line-color': colour, 'line-width': 2 },
    })),
    both(['==', type, 'Point'], (colour, same) => ({
      ...{ ...same, type: 'circle' },
      paint: {
        'circle-color': colour,
        'circle-radius': 4,
        'circle-stroke-width': 1,
        'circle-stroke-color': '#ffffff',
      },
    })),
  ]
  return kinds.map((kind) => kind.map((layer, at) => ({ ...layer, id: `shown-${layer.type}-${at}` })))
}
