import type {
  DataDrivenPropertyValueSpecification,
  LayerSpecification,
  StyleSpecification,
} from 'maplibre-gl'
import { RISK_COLOURS, type ServedMap } from './state.js'

/** Protocol of tile URLs, `fieldgate:///tiles/…`: the page requests them, and adds the session header. */
export const PROTOCOL = 'fieldgate'
const DETAIL_ZOOM = 14

interface Colours {
  ground: string
  casing: string
  road: string
  main: string
  fast: string
  ferry: string
  text: string
  halo: string
  route: string
  riskOpacity: number
}

const LIGHT: Colours = {
  ground: '#eef1f0',
  casing: '#c9d1d2',
  road: '#ffffff',
  main: '#fbe3a6',
  fast: '#f5c26b',
  ferry: '#7fa6c9',
  text: '#33434c',
  halo: '#ffffff',
  route: '#0f2b3a',
  riskOpacity: 0.45,
}
const DARK: Colours = {
  ground: '#141d22',
  casing: '#0d1417',
  road: '#3a4a52',
  main: '#6c6243',
  fast: '#8a6b34',
  ferry: '#37597a',
  text: '#c9d6db',
  halo: '#10181c',
  route: '#f2f7f9',
  riskOpacity: 0.65,
}

/** Expression of the library that maps the `risk` of a feature to a colour. */
const RISK_COLOUR: DataDrivenPropertyValueSpecification<string> = [
  'interpolate',
  ['linear'],
  ['coalesce', ['to-number', ['get', 'risk']], 0],
  ...RISK_COLOURS.flatMap((colour, level) => [level, colour]),
] as unknown as DataDrivenPropertyValueSpecification<string>

/** GeoJSON sources whose data the page sets, lowest layer first. */
const OVERLAYS = ['risk', 'isochrone', 'events', 'others', 'route'] as const
export type Overlay = (typeof OVERLAYS)[number]

/** Style of the map: roads of a served map, and the overlays. Without a map only the overlays are drawn. */
export function mapStyle(map: ServedMap | undefined, isDark: boolean): StyleSpecification {
  const colours = isDark ? DARK : LIGHT
  const sources: StyleSpecification['sources'] = Object.fromEntries(
    OVERLAYS.map((name) => [name, { type: 'geojson', data: { type: 'FeatureCollection', features: [] } }]),
  )
  if (map !== undefined) {
    sources.roads = {
      type: 'vector',
      tiles: [`${PROTOCOL}:///tiles/${encodeURIComponent(map.name)}/{z}/{x}/{y}.mvt`],
      minzoom: 0,
      maxzoom: DETAIL_ZOOM,
      bounds: map.bbox,
      attribution: escapeHtml(map.attribution),
    }
  }
  return {
    version: 8,
    sources,
    layers: [
      { id: 'ground', type: 'background', paint: { 'background-color': colours.ground } },
      ...(map === undefined ? [] : roadLayers(colours)),
      ...overlayLayers(colours),
      ...(map === undefined ? [] : [nameLayer(colours)]),
      ...routeLayers(colours),
    ],
  }
}

/** Road classes with their line widths at the zooms 8, 12, 16 and 20, lowest layer first. */
const CLASSES: [name: string, widths: [number, number, number, number], colour: 'road' | 'main' | 'fast'][] =
  [
    ['lane', [0, 0.3, 2.5, 14], 'road'],
    ['street', [0, 0.6, 5, 24], 'road'],
    ['through', [0.4, 1.4, 7, 30], 'road'],
    ['main', [0.8, 2.2, 9, 34], 'main'],
    ['fast', [1.2, 3, 10, 36], 'fast'],
  ]

/** Layers of roads: casings below fills, so that junctions look connected. */
function roadLayers(colours: Colours): LayerSpecification[] {
  const layer = (
    [name, widths]: (typeof CLASSES)[number],
    part: 'casing' | 'fill',
    colour: string,
    over: number,
  ): LayerSpecification => ({
    id: `${name}-${part}`,
    type: 'line',
    source: 'roads',
    'source-layer': 'roads',
    filter: ['==', ['get', 'class'], name],
    layout: { 'line-cap': 'round', 'line-join': 'round' },
    paint: {
      'line-color': colour,
      'line-width': [
        'interpolate',
        ['exponential', 1.6],
        ['zoom'],
        8,
        widths[0] + over,
        12,
        widths[1] + over,
        16,
        widths[2] + over,
        20,
        widths[3] + over,
      ],
    },
  })
  return [
    ...CLASSES.map((each) => layer(each, 'casing', colours.casing, 1.6)),
    {
      id: 'ferry',
      type: 'line',
      source: 'roads',
      'source-layer': 'roads',
      filter: ['==', ['get', 'class'], 'ferry'],
      paint: { 'line-color': colours.ferry, 'line-width': 1.5, 'line-dasharray': [4, 3] },
    },
    ...CLASSES.map((each) => layer(each, 'fill', colours[each[2]], 0)),
  ]
}

/** Layer of road names, drawn with local fonts: the gateway serves none. */
function nameLayer(colours: Colours): LayerSpecification {
  return {
    id: 'names',
    type: 'symbol',
    source: 'roads',
    'source-layer': 'roads',
    minzoom: 13,
    filter: ['has', 'name'],
    layout: {
      'text-field': ['get', 'name'],
      'text-font': ['sans-serif'],
      'text-size': ['interpolate', ['linear'], ['zoom'], 13, 10, 18, 14],
      'symbol-placement': 'line',
      'symbol-spacing': 320,
    },
    paint: { 'text-color': colours.text, 'text-halo-color': colours.halo, 'text-halo-width': 1.4 },
  }
}

function overlayLayers(colours: Colours): LayerSpecification[] {
  return [
    {
      id: 'risk-fill',
      type: 'fill',
      source: 'risk',
      paint: { 'fill-color': RISK_COLOUR, 'fill-opacity': colours.riskOpacity },
    },
    {
      id: 'isochrone-fill',
      type: 'fill',
      source: 'isochrone',
      paint: { 'fill-color': '#2f7fb8', 'fill-opacity': 0.18 },
    },
    {
      id: 'isochrone-line',
      type: 'line',
      source: 'isochrone',
      paint: { 'line-color': '#2f7fb8', 'line-width': 1.5 },
    },
    ...eventLayers(colours),
  ]
}

/** Records of tables: areas with their outlines, lines, points. */
function eventLayers({ route }: Colours): LayerSpecification[] {
  return [
    {
      id: 'events-fill',
      type: 'fill',
      source: 'events',
      filter: ['==', ['geometry-type'], 'Polygon'],
      paint: { 'fill-color': ['get', '_colour'], 'fill-opacity': 0.25 },
    },
    {
      id: 'events-outline',
      type: 'line',
      source: 'events',
      filter: ['==', ['geometry-type'], 'Polygon'],
      paint: { 'line-color': ['get', '_colour'], 'line-width': 1 },
    },
    {
      id: 'events-line',
      type: 'line',
      source: 'events',
      filter: ['==', ['geometry-type'], 'LineString'],
      paint: { 'line-color': ['get', '_colour'], 'line-width': 2 },
    },
    {
      id: 'events-point',
      type: 'circle',
      source: 'events',
      filter: ['==', ['geometry-type'], 'Point'],
      paint: {
        'circle-color': ['get', '_colour'],
        'circle-radius': ['interpolate', ['linear'], ['zoom'], 8, 3, 16, 7],
        'circle-stroke-color': route,
        'circle-stroke-width': 1,
      },
    },
  ]
}

function routeLayers({ route, halo }: Colours): LayerSpecification[] {
  const layout = { 'line-cap': 'round', 'line-join': 'round' } as const
  return [
    {
      id: 'others-line',
      type: 'line',
      source: 'others',
      layout,
      paint: { 'line-color': '#7d8d96', 'line-width': 4, 'line-opacity': 0.8 },
    },
    {
      id: 'route-halo',
      type: 'line',
      source: 'route',
      layout,
      paint: { 'line-color': halo, 'line-width': 11 },
    },
    {
      id: 'route-casing',
      type: 'line',
      source: 'route',
      layout,
      paint: { 'line-color': route, 'line-width': 8 },
    },
    {
      id: 'route-line',
      type: 'line',
      source: 'route',
      layout,
      paint: { 'line-color': RISK_COLOUR, 'line-width': 5 },
    },
  ]
}

/** Escapes text for HTML: the library inserts attributions as HTML. */
function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)
}
