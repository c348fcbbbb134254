import type {
  DataDrivenPropertyValueSpecification,
  LayerSpecification,
  StyleSpecification,
} from 'maplibre-gl'
import { RISK_COLOURS } from './state.js'

/** Colours of the base map that overlays use. */
export interface OverlayColours {
  readonly halo: string
  readonly route: string
  readonly riskOpacity: number
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

/** Sources of the overlays, empty. */
export function overlaySources(): StyleSpecification['sources'] {
  return Object.fromEntries(
    OVERLAYS.map((name) => [name, { type: 'geojson', data: { type: 'FeatureCollection', features: [] } }]),
  )
}

/** Layers below the names of roads. */
export function overlayLayers(colours: OverlayColours): LayerSpecification[] {
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
function eventLayers({ route }: OverlayColours): LayerSpecification[] {
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

/** Layers above everything else. */
export function routeLayers({ route, halo }: OverlayColours): LayerSpecification[] {
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
