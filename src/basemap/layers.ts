import type { VectorLayer } from './format.js'

/**
 * Layers of a base map by the names of Shortbread 1.0, in the order in which they are written. The number of a
 * layer is its index.
 *
 * @see https://shortbread-tiles.org/schema/1.0/
 */
export const LAYERS = [
  'ocean',
  'water_polygons',
  'water_lines',
  'land',
  'sites',
  'pier_polygons',
  'pier_lines',
  'buildings',
  'street_polygons',
  'streets',
  'ferries',
  'boundaries',
  'street_labels',
  'water_lines_labels',
  'water_polygons_labels',
  'place_labels',
] as const

export type LayerName = (typeof LAYERS)[number]

const KIND = { kind: 'String' } as const
const NAMES = { name: 'String', name_en: 'String', name_latin: 'String' } as const

/** Fields of each layer. `name_latin` is not Shortbread's: a name in Latin script where `name` has none. */
const FIELDS: Record<LayerName, VectorLayer['fields']> = {
  ocean: {},
  water_polygons: KIND,
  water_lines: { ...KIND, tunnel: 'Boolean' },
  land: KIND,
  sites: KIND,
  pier_polygons: KIND,
  pier_lines: KIND,
  buildings: {},
  street_polygons: KIND,
  streets: {
    ...KIND,
    link: 'Boolean',
    rail: 'Boolean',
    tunnel: 'Boolean',
    bridge: 'Boolean',
    oneway: 'Boolean',
    oneway_reverse: 'Boolean',
    surface: 'String',
  },
  ferries: { ...KIND, ...NAMES },
  boundaries: { admin_level: 'Number' },
  street_labels: { ...KIND, ...NAMES, ref: 'String', ref_rows: 'Number', ref_cols: 'Number' },
  water_lines_labels: { ...KIND, ...NAMES },
  water_polygons_labels: { ...KIND, ...NAMES },
  place_labels: { ...KIND, ...NAMES, population: 'Number' },
}

/** Returns the layers that were used, for TileJSON. */
export function vectorLayers(isUsed: (layer: number) => boolean): VectorLayer[] {
  return LAYERS.filter((_, layer) => isUsed(layer)).map((id) => ({ id, fields: FIELDS[id] }))
}
