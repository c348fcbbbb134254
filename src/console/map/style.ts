import type { LayerSpecification, StyleSpecification } from 'maplibre-gl'
import { labelLayers } from './base/labels.js'
import {
  areaLayers,
  BASE_DARK,
  BASE_LIGHT,
  BASE_SOURCE,
  type BaseColours,
  streetLayers,
} from './base/style.js'
import { overlayLayers, overlaySources, routeLayers } from './overlays.js'
import type { ServedMap } from './state.js'

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
  ground: '#e9edec',
  casing: '#869297',
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
  road: '#5a6c76',
  main: '#7d7250',
  fast: '#a37d40',
  ferry: '#37597a',
  text: '#c9d6db',
  halo: '#10181c',
  route: '#f2f7f9',
  riskOpacity: 0.65,
}

/** Colours of the lines of routes. */
export function routeColours(isDark: boolean): { readonly route: string; readonly halo: string } {
  return isDark ? DARK : LIGHT
}

/** Style of the map: roads of a served map, and the overlays. Without a map only the overlays are drawn. */
export function mapStyle(map: ServedMap | undefined, isDark: boolean): StyleSpecification {
  const colours = isDark ? DARK : LIGHT
  const sources = overlaySources()
  if (map?.base) {
    const { minzoom, maxzoom, bbox, attribution } = map.base
    sources[BASE_SOURCE] = {
      type: 'vector',
      tiles: [`${PROTOCOL}:///tiles/${encodeURIComponent(map.name)}/base/{z}/{x}/{y}.mvt`],
      minzoom,
      maxzoom,
      bounds: bbox,
      attribution: escapeHtml(attribution),
    }
    return { version: 8, sources, layers: baseLayers(colours, isDark ? BASE_DARK : BASE_LIGHT) }
  }
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

/** Layers of a map with a base map, whose streets have more kinds than the roads of the graph. */
function baseLayers(colours: Colours, base: BaseColours): LayerSpecification[] {
  return [
    { id: 'ground', type: 'background', paint: { 'background-color': colours.ground } },
    ...areaLayers(base),
    ...streetLayers(base),
    ...overlayLayers(colours),
    ...labelLayers(base),
    ...routeLayers(colours),
  ]
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

/** Escapes text for HTML: the library inserts attributions as HTML. */
function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)
}
