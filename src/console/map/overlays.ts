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
const OVERLAYS = ['risk', 'isochrone', 'shapes', 'points', 'others', 'route', 'mark', 'draft'] as const
export type Overlay = (typeof OVERLAYS)[number]

/** Zoom from which on points are drawn one by one. */
export const CLUSTER_ZOOM = 15
const CLUSTER_PIXELS = 36

/** Sources of the overlays, empty. Points of records are clustered by the map's library. */
export function overlaySources(): StyleSpecification['sources'] {
  const clustering = { cluster: true, clusterRadius: CLUSTER_PIXELS, clusterMaxZoom: CLUSTER_ZOOM - 1 }
  return Object.fromEntries(
    OVERLAYS.map((name) => [
      name,
      {
        type: 'geojson',
        data: { type: 'FeatureCollection', features: [] },
        ...(name === 'points' ? clustering : {}),
      },
    ]),
  )
}

/** Layers below the names of roads: also the routes, on which streets keep their names. */
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
      paint: { 'fill-color': ['get', 'colour'], 'fill-opacity': 0.34 },
    },
    {
      id: 'isochrone-line',
      type: 'line',
      source: 'isochrone',
      paint: { 'line-color': ['get', 'colour'], 'line-width': 1.8 },
    },
    ...shapeLayers(),
    ...lineLayers(colours),
  ]
}

/** Records of tables that are areas, with their outlines, or lines. */
function shapeLayers(): LayerSpecification[] {
  return [
    {
      id: 'shapes-fill',
      type: 'fill',
      source: 'shapes',
      filter: ['==', ['geometry-type'], 'Polygon'],
      paint: { 'fill-color': ['get', 'colour'], 'fill-opacity': 0.25 },
    },
    {
      id: 'shapes-outline',
      type: 'line',
      source: 'shapes',
      filter: ['==', ['geometry-type'], 'Polygon'],
      paint: { 'line-color': ['get', 'colour'], 'line-width': 1 },
    },
    {
      id: 'shapes-line',
      type: 'line',
      source: 'shapes',
      filter: ['==', ['geometry-type'], 'LineString'],
      paint: { 'line-color': ['get', 'colour'], 'line-width': 3 },
    },
  ]
}

/** Layers above everything else: the drawn area, points of records, and the mark on the route. */
export function routeLayers({ route, halo }: OverlayColours): LayerSpecification[] {
  return [...draftLayers(halo), ...pointLayers(route, halo), markLayer(route, halo)]
}

function lineLayers({ route, halo }: OverlayColours): LayerSpecification[] {
  const line = (
    id: string,
    source: Overlay,
    paint: NonNullable<Extract<LayerSpecification, { type: 'line' }>['paint']>,
  ): LayerSpecification => ({
    id,
    type: 'line',
    source,
    layout: { 'line-cap': 'round', 'line-join': 'round' },
    paint,
  })
  // a line that cannot be seen is easier to hit, and to seize
  const unseen = { 'line-color': '#000000', 'line-opacity': 0 }
  return [
    line('others-hit', 'others', { ...unseen, 'line-width': 14 }),
    line('others-halo', 'others', { 'line-color': halo, 'line-width': 8, 'line-opacity': 0.9 }),
    line('others-line', 'others', {
      'line-color': ['coalesce', ['get', 'colour'], route],
      'line-width': 5,
    }),
    line('route-halo', 'route', { 'line-color': halo, 'line-width': 12 }),
    line('route-casing', 'route', {
      'line-color': ['coalesce', ['get', 'colour'], route],
      'line-width': 9,
    }),
    line('route-line', 'route', { 'line-color': RISK_COLOUR, 'line-width': 5 }),
    line('route-hit', 'route', { ...unseen, 'line-width': 22 }),
  ]
}

/** Points of records: clusters with their number of records, and single ones. */
function pointLayers(route: string, halo: string): LayerSpecification[] {
  return [
    {
      id: 'points-cluster',
      type: 'circle',
      source: 'points',
      filter: ['has', 'point_count'],
      paint: {
        'circle-color': route,
        'circle-opacity': 0.85,
        'circle-radius': [
          'interpolate',
          ['linear'],
          ['log10', ['get', 'point_count']],
          0.3,
          11,
          2,
          17,
          4,
          26,
        ],
        'circle-stroke-color': halo,
        'circle-stroke-width': 2,
      },
    },
    {
      id: 'points-count',
      type: 'symbol',
      source: 'points',
      filter: ['has', 'point_count'],
      layout: {
        'text-field': ['get', 'point_count_abbreviated'],
        'text-font': ['sans-serif'],
        'text-size': 12,
        'text-allow-overlap': true,
        'text-ignore-placement': true,
      },
      paint: { 'text-color': halo },
    },
    {
      id: 'points-single',
      type: 'circle',
      source: 'points',
      filter: ['!', ['has', 'point_count']],
      paint: {
        'circle-color': ['get', 'colour'],
        'circle-radius': ['interpolate', ['linear'], ['zoom'], 8, 5, 16, 8],
        'circle-stroke-color': '#ffffff', // also in the dark: some colours nearly are that of its ground
        'circle-stroke-width': 1.5,
      },
    },
  ]
}

/** Place of the route under the pointer of the profile. */
function markLayer(route: string, halo: string): LayerSpecification {
  return {
    id: 'mark',
    type: 'circle',
    source: 'mark',
    paint: {
      'circle-color': halo,
      'circle-radius': 7,
      'circle-stroke-color': route,
      'circle-stroke-width': 4,
    },
  }
}

/** Area of risk that is being drawn. */
function draftLayers(halo: string): LayerSpecification[] {
  const colour = RISK_COLOURS[8]
  return [
    {
      id: 'draft-fill',
      type: 'fill',
      source: 'draft',
      filter: ['==', ['geometry-type'], 'Polygon'],
      paint: { 'fill-color': colour, 'fill-opacity': 0.3 },
    },
    {
      id: 'draft-line',
      type: 'line',
      source: 'draft',
      filter: ['!=', ['geometry-type'], 'Point'],
      paint: { 'line-color': colour, 'line-width': 2, 'line-dasharray': [2, 1] },
    },
    {
      id: 'draft-corner',
      type: 'circle',
      source: 'draft',
      filter: ['==', ['geometry-type'], 'Point'],
      paint: {
        'circle-color': colour,
        'circle-radius': 5,
        'circle-stroke-color': halo,
        'circle-stroke-width': 2,
      },
    },
  ]
}
