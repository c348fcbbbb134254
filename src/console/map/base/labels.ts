import type { ExpressionSpecification, LayerSpecification } from 'maplibre-gl'
import { shieldId } from './shields.js'
import { BASE_SOURCE, type BaseColours, kinds } from './style.js'

/**
 * Fonts of labels. The library draws glyphs with the fonts of the device, as no style names a source of glyphs;
 * it reads weight and slant from these names, which no device has.
 */
const REGULAR = ['sans-serif']
const BOLD = ['Label Bold']
const ITALIC = ['Label Italic']

/** The local name, and below it the one in Latin script where the local one has none. */
const TWO_LINES: ExpressionSpecification = [
  'case',
  ['has', 'name_latin'],
  ['format', ['get', 'name'], {}, '\n', {}, ['get', 'name_latin'], { 'font-scale': 0.8 }],
  ['get', 'name'],
]
/** Both names in one line, for labels along lines. */
const ONE_LINE: ExpressionSpecification = [
  'case',
  ['has', 'name_latin'],
  ['concat', ['get', 'name'], '  ', ['get', 'name_latin']],
  ['get', 'name'],
]

/** Labels of a base map, the least important first: later ones take their room first. */
export function labelLayers(colours: BaseColours): LayerSpecification[] {
  return [...waterLabels(colours), ...streetLabels(colours), shields(colours), ...placeLabels(colours)]
}

function waterLabels({ waterText, halo }: BaseColours): LayerSpecification[] {
  const paint = { 'text-color': waterText, 'text-halo-color': halo, 'text-halo-width': 1.2 }
  return [
    {
      id: 'base-water-line-names',
      type: 'symbol',
      source: BASE_SOURCE,
      'source-layer': 'water_lines_labels',
      layout: {
        'text-field': ONE_LINE,
        'text-font': ITALIC,
        'text-size': ['interpolate', ['linear'], ['zoom'], 12, 10, 17, 13],
        'symbol-placement': 'line',
        'symbol-spacing': 400,
      },
      paint,
    },
    {
      id: 'base-water-names',
      type: 'symbol',
      source: BASE_SOURCE,
      'source-layer': 'water_polygons_labels',
      layout: {
        ...{ 'text-field': TWO_LINES, 'text-font': ITALIC, 'text-size': 12, 'text-max-width': 7 },
        'text-padding': 20, // a river of many areas has its name at each of them
      },
      paint,
    },
  ]
}

function streetLabels({ softText, text, halo }: BaseColours): LayerSpecification[] {
  const layer = (id: string, names: string[], minzoom: number, colour: string): LayerSpecification => ({
    id,
    type: 'symbol',
    source: BASE_SOURCE,
    'source-layer': 'street_labels',
    minzoom,
    filter: ['all', ['has', 'name'], kinds(...names)],
    layout: {
      'text-field': ONE_LINE,
      'text-font': REGULAR,
      'text-size': ['interpolate', ['linear'], ['zoom'], 13, 10, 18, 14],
      'symbol-placement': 'line',
      'symbol-spacing': 320,
    },
    paint: { 'text-color': colour, 'text-halo-color': halo, 'text-halo-width': 1.4 },
  })
  const paths = ['footway', 'path', 'cycleway', 'bridleway', 'steps', 'track', 'service']
  const streets = ['residential', 'unclassified', 'living_street', 'pedestrian', 'busway']
  const main = ['motorway', 'trunk', 'primary', 'secondary', 'tertiary']
  return [
    layer('base-path-names', paths, 16, softText),
    layer('base-street-names', streets, 14.5, text),
    layer('base-main-names', main, 12.5, text),
  ]
}

/** Numbers of roads on a shield. */
function shields({ shield, shieldEdge, shieldText }: BaseColours): LayerSpecification {
  return {
    id: 'base-shields',
    type: 'symbol',
    source: BASE_SOURCE,
    'source-layer': 'street_labels',
    minzoom: 9,
    filter: ['all', ['has', 'ref'], ['<=', ['get', 'ref_cols'], 9], ['<=', ['get', 'ref_rows'], 2]],
    layout: {
      'text-field': ['get', 'ref'],
      'text-font': BOLD,
      'text-size': 10,
      'text-line-height': 1.1,
      'text-rotation-alignment': 'viewport',
      'icon-image': shieldId(shield, shieldEdge),
      'icon-text-fit': 'both',
      'icon-text-fit-padding': [2, 3, 1, 3],
      'icon-rotation-alignment': 'viewport',
      'symbol-placement': 'line',
      'symbol-spacing': 500,
      'text-padding': 12,
      'symbol-sort-key': ['match', ['get', 'kind'], 'motorway', 0, 'trunk', 1, 'primary', 2, 3],
    },
    paint: { 'text-color': shieldText },
  }
}

/** Names of places by rank: sizes at the zooms 5 and 14. */
const RANKS: readonly (readonly [
  id: string,
  names: string[],
  minzoom: number,
  maxzoom: number,
  sizes: readonly [number, number],
  isBold: boolean,
])[] = [
  ['small', ['hamlet', 'locality', 'neighbourhood', 'quarter', 'island'], 12, 24, [9, 12], false],
  ['villages', ['village', 'suburb'], 10, 24, [9, 14], false],
  ['towns', ['town'], 7, 24, [10, 17], true],
  ['cities', ['city', 'capital', 'state_capital'], 4, 17, [12, 22], true],
]

function placeLabels({ text, softText, halo }: BaseColours): LayerSpecification[] {
  return RANKS.map(([id, names, minzoom, maxzoom, [small, large], isBold]) => ({
    id: `base-places-${id}`,
    type: 'symbol',
    source: BASE_SOURCE,
    'source-layer': 'place_labels',
    minzoom,
    maxzoom,
    filter: kinds(...names),
    layout: {
      'text-field': TWO_LINES,
      'text-font': isBold ? BOLD : REGULAR,
      'text-size': ['interpolate', ['linear'], ['zoom'], 5, small, 14, large],
      'text-max-width': 8,
      'text-padding': 4,
      'symbol-sort-key': ['-', 0, ['coalesce', ['get', 'population'], 0]],
    },
    paint: {
      'text-color': id === 'small' ? softText : text,
      'text-halo-color': halo,
      'text-halo-width': 1.6,
    },
  }))
}
