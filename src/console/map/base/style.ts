import type {
  DataDrivenPropertyValueSpecification,
  ExpressionSpecification,
  LayerSpecification,
} from 'maplibre-gl'

/** Colours of a base map. */
export interface BaseColours {
  water: string
  shore: string
  forest: string
  green: string
  field: string
  town: string
  works: string
  sand: string
  marsh: string
  ice: string
  hospital: string
  school: string
  parking: string
  building: string
  buildingEdge: string
  square: string
  casing: string
  street: string
  primary: string
  motorway: string
  path: string
  rail: string
  border: string
  text: string
  softText: string
  waterText: string
  halo: string
  shield: string
  shieldEdge: string
  shieldText: string
}

export const BASE_LIGHT: BaseColours = {
  water: '#a9cfe2',
  shore: '#7eb0c9',
  forest: '#c3dbbd',
  green: '#d6e8cd',
  field: '#ecebd9',
  town: '#e7e8e8',
  works: '#e3dfe6',
  sand: '#f0e6c8',
  marsh: '#cfe3dc',
  ice: '#f7fbfd',
  hospital: '#f3dcdc',
  school: '#f1ead2',
  parking: '#e4e7ea',
  building: '#d8d4cf',
  buildingEdge: '#c1bcb5',
  square: '#f4f4f2',
  casing: '#869297',
  street: '#ffffff',
  primary: '#fbe3a6',
  motorway: '#f3b866',
  path: '#b99f7c',
  rail: '#9aa2a8',
  border: '#a58bb0',
  text: '#26343c',
  softText: '#55646c',
  waterText: '#2c6482',
  halo: '#ffffff',
  shield: '#ffffff',
  shieldEdge: '#7c878d',
  shieldText: '#26343c',
}
export const BASE_DARK: BaseColours = {
  water: '#1d4a66',
  shore: '#3d7896',
  forest: '#1a2b22',
  green: '#1c2f25',
  field: '#1d2420',
  town: '#1b252b',
  works: '#211f2a',
  sand: '#2d2a20',
  marsh: '#17302e',
  ice: '#2b3a44',
  hospital: '#33242a',
  school: '#2c2a20',
  parking: '#202a31',
  building: '#27323a',
  buildingEdge: '#35434c',
  square: '#253038',
  casing: '#0c1317',
  street: '#5a6c76',
  primary: '#7d7250',
  motorway: '#a37d40',
  path: '#5c5345',
  rail: '#52606a',
  border: '#6d5a78',
  text: '#dbe5e9',
  softText: '#9fb0b8',
  waterText: '#86b6d0',
  halo: '#10181c',
  shield: '#223038',
  shieldEdge: '#7c8f99',
  shieldText: '#dbe5e9',
}

export const BASE_SOURCE = 'base'
const KIND: ExpressionSpecification = ['get', 'kind']

/** Returns a filter for features of some kinds. */
export function kinds(...names: string[]): ExpressionSpecification {
  return ['in', KIND, ['literal', names]]
}

/** Layers of areas, water and buildings, lowest first. */
export function areaLayers(colours: BaseColours): LayerSpecification[] {
  const fill = (
    id: string,
    layer: string,
    colour: DataDrivenPropertyValueSpecification<string>,
  ): LayerSpecification => ({
    id,
    type: 'fill',
    source: BASE_SOURCE,
    'source-layer': layer,
    paint: { 'fill-color': colour },
  })
  return [
    fill('base-land', 'land', landColour(colours)),
    fill('base-sites', 'sites', siteColour(colours)),
    fill('base-ocean', 'ocean', colours.water),
    fill('base-water', 'water_polygons', ['match', KIND, 'glacier', colours.ice, colours.water]),
    ...waterLines(colours),
    fill('base-piers', 'pier_polygons', colours.square),
    line('base-pier-lines', 'pier_lines', colours.square, widths([13, 1], [18, 8])),
    { ...fill('base-squares', 'street_polygons', colours.square), minzoom: 11 },
    buildings(colours),
  ]
}

function landColour(c: BaseColours): ExpressionSpecification {
  const green =
    'grass meadow park village_green recreation_ground golf_course garden grassland allotments cemetery'
  const more = 'playground miniature_golf heath scrub orchard vineyard plant_nursery'
  const works = 'industrial commercial retail railway landfill brownfield greenfield quarry garages farmyard'
  return [
    'match',
    KIND,
    'forest',
    c.forest,
    `${green} ${more}`.split(' '),
    c.green,
    'farmland',
    c.field,
    `${works} greenhouse_horticulture`.split(' '),
    c.works,
    ['sand', 'beach', 'shingle', 'scree', 'bare_rock'],
    c.sand,
    'marsh',
    c.marsh,
    c.town,
  ]
}

function siteColour(c: BaseColours): ExpressionSpecification {
  return [
    'match',
    KIND,
    'hospital',
    c.hospital,
    ['school', 'university', 'college'],
    c.school,
    'sports_centre',
    c.green,
    c.parking,
  ]
}

function buildings(colours: BaseColours): LayerSpecification {
  return {
    id: 'base-buildings',
    type: 'fill',
    source: BASE_SOURCE,
    'source-layer': 'buildings',
    minzoom: 14,
    paint: {
      'fill-color': colours.building,
      'fill-outline-color': colours.buildingEdge,
      'fill-opacity': ['interpolate', ['linear'], ['zoom'], 14, 0.4, 15, 1],
    },
  }
}

function waterLines(colours: BaseColours): LayerSpecification[] {
  return [
    {
      ...line('base-rivers', 'water_lines', colours.water, widths([9, 0.8], [14, 2.5], [18, 9])),
      filter: ['all', kinds('river', 'canal'), ['!', ['has', 'tunnel']]],
    },
    {
      ...line('base-streams', 'water_lines', colours.water, widths([13, 0.8], [18, 5])),
      filter: ['all', kinds('stream', 'ditch', 'drain'), ['!', ['has', 'tunnel']]],
    },
    {
      ...line('base-coast', 'water_lines', colours.shore, widths([6, 1], [14, 2], [18, 3])),
      filter: kinds('coastline'),
    },
  ]
}

/** Widths of streets at the zooms 6, 10, 14, 17 and 20. */
const STREETS: readonly (readonly [kinds: string[], widths: readonly number[]])[] = [
  [['motorway'], [0.9, 2.4, 6, 15, 44]],
  [['trunk'], [0.7, 2.1, 5.5, 14, 42]],
  [['primary'], [0, 1.7, 5, 13, 40]],
  [['secondary'], [0, 1.2, 4.4, 12, 38]],
  [['tertiary'], [0, 0.8, 3.6, 11, 36]],
  [
    ['residential', 'unclassified', 'living_street', 'busway', 'pedestrian', 'taxiway'],
    [0, 0, 2, 9, 30],
  ],
  [['runway'], [0, 1, 8, 40, 120]],
]
const ZOOMS = [6, 10, 14, 17, 20]
const PATHS = ['footway', 'path', 'cycleway', 'bridleway', 'steps', 'track']
const RAILS = ['rail', 'narrow_gauge', 'light_rail', 'funicular', 'subway', 'tram', 'monorail']

/** Layers of streets and railways: tunnels, then what lies on the ground, then bridges. */
export function streetLayers(colours: BaseColours): LayerSpecification[] {
  const isTunnel: ExpressionSpecification = ['has', 'tunnel']
  const isBridge: ExpressionSpecification = ['has', 'bridge']
  const isGround: ExpressionSpecification = ['all', ['!', isTunnel], ['!', isBridge]]
  return [
    ...streets(colours, 'tunnel', isTunnel),
    {
      ...line('base-ferries', 'ferries', colours.shore, 1.3),
      paint: { 'line-color': colours.shore, 'line-width': 1.3, 'line-dasharray': [4, 3] },
    },
    {
      ...line('base-paths', 'streets', colours.path, widths([13, 0.6], [17, 2], [20, 5])),
      minzoom: 13,
      filter: ['all', kinds(...PATHS), ['!', isTunnel]],
      paint: {
        'line-color': colours.path,
        'line-width': widths([13, 0.6], [17, 2], [20, 5]),
        'line-dasharray': [3, 1.5],
      },
    },
    ...streets(colours, 'ground', isGround),
    {
      ...line('base-rails', 'streets', colours.rail, widths([8, 0.6], [14, 1.6], [18, 4])),
      filter: ['all', kinds(...RAILS), ['!', isTunnel]],
    },
    ...streets(colours, 'bridge', isBridge),
    {
      id: 'base-boundaries',
      type: 'line',
      source: BASE_SOURCE,
      'source-layer': 'boundaries',
      paint: {
        'line-color': colours.border,
        'line-width': ['match', ['get', 'admin_level'], 2, 1.6, 1],
        'line-dasharray': [4, 2],
      },
    },
  ]
}

/** Casing below filling, so that junctions look connected. */
function streets(colours: BaseColours, part: string, filter: ExpressionSpecification): LayerSpecification[] {
  const drawn: ExpressionSpecification = [
    'all',
    kinds('service', ...STREETS.flatMap(([names]) => names)),
    filter,
  ]
  const layer = (
    id: string,
    colour: DataDrivenPropertyValueSpecification<string>,
    over: number,
  ): LayerSpecification => ({
    id: `base-${part}-${id}`,
    type: 'line',
    source: BASE_SOURCE,
    'source-layer': 'streets',
    filter: drawn,
    layout: {
      'line-cap': part === 'ground' ? 'round' : 'butt',
      'line-join': 'round',
      'line-sort-key': rankOf(),
    },
    paint: {
      'line-color': colour,
      'line-width': streetWidth(over),
      ...(part === 'tunnel' ? { 'line-opacity': 0.5 } : {}),
    },
  })
  return [
    { ...layer('casing', colours.casing, part === 'bridge' ? 2.4 : 1.6), minzoom: 9 } as LayerSpecification,
    layer('fill', streetColour(colours), 0),
  ]
}

function streetColour(c: BaseColours): ExpressionSpecification {
  return ['match', KIND, 'motorway', c.motorway, ['trunk', 'primary'], c.primary, c.street]
}

/** Larger streets are drawn over smaller ones. */
function rankOf(): ExpressionSpecification {
  return [
    'match',
    KIND,
    'motorway',
    6,
    'trunk',
    5,
    'primary',
    4,
    'secondary',
    3,
    'tertiary',
    2,
    'service',
    0,
    1,
  ]
}

/** Width by zoom and kind; slip roads and service ways are narrower. */
function streetWidth(over: number): ExpressionSpecification {
  const stops = ZOOMS.flatMap((zoom, i): unknown[] => {
    const service = [0, 0, 0.9, 5, 18][i] ?? 0
    const width = ['match', KIND, ...STREETS.flatMap(([names, list]) => [names, list[i] ?? 0]), service]
    const shown = ['case', ['has', 'link'], ['*', width, 0.7], width]
    // a street without a width has no casing either
    return [zoom, over === 0 ? shown : ['case', ['>', shown, 0], ['+', shown, over], 0]]
  })
  return ['interpolate', ['exponential', 1.5], ['zoom'], ...stops] as unknown as ExpressionSpecification
}

function line(
  id: string,
  layer: string,
  colour: string,
  width: DataDrivenPropertyValueSpecification<number>,
): Extract<LayerSpecification, { type: 'line' }> {
  return {
    id,
    type: 'line',
    source: BASE_SOURCE,
    'source-layer': layer,
    layout: { 'line-cap': 'round', 'line-join': 'round' },
    paint: { 'line-color': colour, 'line-width': width },
  }
}

/** Width that grows with the zoom. @param stops zoom, pixels */
function widths(...stops: (readonly [zoom: number, width: number])[]): ExpressionSpecification {
  return [
    'interpolate',
    ['exponential', 1.5],
    ['zoom'],
    ...stops.flat(),
  ] as unknown as ExpressionSpecification
}
