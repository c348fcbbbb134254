import { at } from '../town.js'
import type { BadCalls } from './types.js'

const ask = (properties: object, geometry: unknown = null) => ({ type: 'Feature', geometry, properties })
const events = (more: object) => ask({ table: 'x', ...more })
const risks = (more: object, geometry?: unknown) =>
  ask({ themes: ['flood'], start_datetime: '2026-01-01 00:00:00+09', ...more }, geometry)
const deep = (levels: number): unknown => (levels === 0 ? { '=': ['k', 1] } : { not: deep(levels - 1) })
const ALL = new Array(11).fill(1)
const route = (more: object) => [
  {
    themes: {},
    start_lonlat: at(0, 0),
    goal_lonlat: at(3, 0),
    start_datetime: '2026-01-01 12:00:00+09',
    ...more,
  },
]
const walk = (more: object, segment: object = {}) => [
  {
    themes: ['flood'],
    route: [{ start_lonlat: at(0, 0), end_lonlat: at(1, 0), ...segment }],
    start_datetime: '2026-01-01 12:00:00+09',
    speed: 30,
    ...more,
  },
]
const reach = (more: object) => [{ lonlat: at(0, 0), costs: [0.1], ...more }]
const matrix = (more: object) => [{ sources: [at(0, 0), at(1, 0)], ...more }]
const WHOLE_EARTH = {
  type: 'Polygon',
  coordinates: [
    [
      [-170, -80],
      [170, -80],
      [170, 80],
      [-170, 80],
      [-170, -80],
    ],
  ],
}

/** The map `town`, on an island of which the crossing (9, 0) stands, and the theme `flood`. */
export const MAP_BAD_CALLS: BadCalls = {
  'mapserv.eventdata': [
    [ask({}), 'INVALID_PARAMS', /\$\.properties\.table/],
    [{ type: 'Point', geometry: null, properties: { table: 'x' } }, 'INVALID_PARAMS', /\$\.type/],
    [ask({ table: 'x' }, { type: 'Point', coordinates: ['a', 1] }), 'INVALID_PARAMS', /coordinates\[0\]/],
    [
      ask(
        { table: 'x' },
        {
          type: 'Polygon',
          coordinates: [
            [
              [0, 0],
              [1, 1],
            ],
          ],
        },
      ),
      'INVALID_PARAMS',
      /coordinates/,
    ],
    [events({ table: 'nobody' }), 'UNKNOWN_TABLE', /nobody/],
    [events({ columns: ['nobody'] }), 'INVALID_PARAMS', /nobody/],
    [events({ limit: -1 }), 'INVALID_PARAMS', /limit/],
    [events({ start_datetime: '2025-02-30 00:00:00' }), 'INVALID_PARAMS', /start_datetime/],
    [events({ start_datetime: '2025-12-31 23:59:60' }), 'INVALID_PARAMS', /start_datetime/],
    [events({ conds: [1] }), 'BAD_CONDITION', /conds/],
    [events({ conds: { '~': ['k', 1] } }), 'BAD_CONDITION', /~/],
    [events({ conds: { '=': ['nobody', 1] } }), 'BAD_CONDITION', /nobody/],
    [events({ conds: { '=': ['k', 'x'] } }), 'BAD_CONDITION', /conds/],
    [events({ conds: { '=': ['k); DROP TABLE x_tbl_0 --', 1] } }), 'BAD_CONDITION', /DROP/],
    [events({ conds: deep(40) }), 'BAD_CONDITION', /32/],
    [events({ order: 'nobody' }), 'BAD_CONDITION', /nobody/],
  ],
  'mapserv.riskmap': [
    [ask({ themes: ['flood'] }), 'INVALID_PARAMS', /start_datetime/],
    [risks({ themes: 'flood' }), 'INVALID_PARAMS', /themes/],
    [risks({ target_theme_mesh_degree: 0 }), 'INVALID_PARAMS', /mesh_degree/],
    [risks({ target_theme_mesh_degree: 6 }), 'INVALID_PARAMS', /mesh_degree/],
    [risks({ start_datetime: 'soon' }), 'INVALID_PARAMS', /start_datetime/],
    [risks({ end_datetime: '2025-01-01 00:00:00+09' }), 'INVALID_PARAMS', /end_datetime/],
    [risks({ themes: ['wide'], target_theme_mesh_degree: 5 }, WHOLE_EARTH), 'TOO_MANY_CELLS', /cells/],
  ],
  'routing.dijkstra': [
    [[{}], 'INVALID_PARAMS', /start_lonlat|themes/],
    [
      [route({})[0], route({})[0]],
      'INVALID_PARAMS',
      /found an array of 2, expected an object, or an array that holds one/,
    ],
    [route({ start_lonlat: [200, 0] }), 'INVALID_PARAMS', /start_lonlat/],
    [route({ start_lonlat: [10] }), 'INVALID_PARAMS', /start_lonlat/],
    [route({ start_datetime: '2026-13-01 00:00:00' }), 'INVALID_PARAMS', /start_datetime/],
    [route({ alternatives: 0 }), 'INVALID_PARAMS', /alternatives/],
    [route({ depart: 'time_dependent', alternatives: 2 }), 'INVALID_PARAMS', /alternatives/],
    [route({ avoid_polygons: [{ type: 'Point', coordinates: [1, 1] }] }), 'INVALID_PARAMS', /avoid_polygons/],
    [route({ goal_lonlat: [0, 0] }), 'OUTSIDE_MAP', /goal_lonlat/],
    [route({ via: [[0, 0]] }), 'OUTSIDE_MAP', /via\[0\]/],
    [route({ goal_lonlat: at(9, 0) }), 'NO_ROUTE', /./],
    [route({ map: 'nobody' }), 'UNKNOWN_MAP', /nobody/],
    [route({ themes: { snow: ALL } }), 'UNKNOWN_THEME', /snow/],
    [route({ themes: { flood: [1, 2, 3] } }), 'BAD_SENSITIVITY', /11/],
    [route({ themes: { flood: [...ALL.slice(1), -1] } }), 'BAD_SENSITIVITY', /flood/],
    [route({ themes: { flood: [...ALL.slice(1), '1'] } }), 'BAD_SENSITIVITY', /flood/],
    [route({ via: new Array(1000).fill(at(1, 1)) }), 'TOO_MANY_VIA', /1000/],
    [
      route({ themes: Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`t${n}`, ALL])) }),
      'TOO_MANY_ITEMS',
      /100/,
    ],
  ],
  'routing.calc_risk': [
    [walk({ themes: 'flood' }), 'INVALID_PARAMS', /themes/],
    [walk({ route: [] }), 'INVALID_PARAMS', /route/],
    [walk({}, { start_lonlat: undefined }), 'INVALID_PARAMS', /start_lonlat/],
    [walk({ speed: undefined }), 'INVALID_PARAMS', /speed/],
    [walk({ speed: 0 }), 'INVALID_PARAMS', /speed/],
    [walk({ start_datetime: 'now' }), 'INVALID_PARAMS', /start_datetime/],
    [walk({ themes: ['snow'] }), 'UNKNOWN_THEME', /snow/],
    [walk({ themes: Array.from({ length: 100 }, (_, n) => `t${n}`) }), 'TOO_MANY_ITEMS', /100/],
  ],
  'routing.list_maps': [[[{ map: 'town' }], 'INVALID_PARAMS', /map/]],
  'routing.nearest': [
    [[{}], 'INVALID_PARAMS', /lonlat/],
    [[{ lonlat: [10, 95] }], 'INVALID_PARAMS', /lonlat/],
    [[{ lonlat: [0, 0] }], 'OUTSIDE_MAP', /./],
    [[{ lonlat: at(0, 0), map: 'nobody' }], 'UNKNOWN_MAP', /nobody/],
  ],
  'routing.find_places': [
    [[{}], 'INVALID_PARAMS', /text/],
    [[{ text: 'x', limit: 0 }], 'INVALID_PARAMS', /limit/],
    [[{ text: 'x', map: 'nobody' }], 'UNKNOWN_MAP', /nobody/],
    [[{ text: 'x' }], 'NO_BASE_MAP', /map build --base/],
  ],
  'routing.matrix': [
    [matrix({ sources: [] }), 'INVALID_PARAMS', /sources/],
    [matrix({ themes: { flood: ALL } }), 'INVALID_PARAMS', /start_datetime/],
    [matrix({ targets: [[0, 0]] }), 'OUTSIDE_MAP', /targets\[0\]/],
    [matrix({ map: 'nobody' }), 'UNKNOWN_MAP', /nobody/],
    [matrix({ themes: { snow: ALL }, start_datetime: '2026-01-01' }), 'UNKNOWN_THEME', /snow/],
    [matrix({ themes: { flood: [1] }, start_datetime: '2026-01-01' }), 'BAD_SENSITIVITY', /11/],
    [matrix({ sources: new Array(5000).fill(at(0, 0)) }), 'TOO_MANY_ITEMS', /5000/],
  ],
  'routing.isochrone': [
    [reach({ costs: [] }), 'INVALID_PARAMS', /costs/],
    [reach({ costs: [0] }), 'INVALID_PARAMS', /costs\[0\]/],
    [reach({ themes: { flood: ALL } }), 'INVALID_PARAMS', /start_datetime/],
    [reach({ lonlat: [0, 0] }), 'OUTSIDE_MAP', /./],
    [reach({ map: 'nobody' }), 'UNKNOWN_MAP', /nobody/],
    [reach({ themes: { snow: ALL }, start_datetime: '2026-01-01' }), 'UNKNOWN_THEME', /snow/],
    [reach({ themes: { flood: [1] }, start_datetime: '2026-01-01' }), 'BAD_SENSITIVITY', /11/],
    [reach({ avoid_polygons: new Array(2000).fill(WHOLE_EARTH) }), 'TOO_MANY_ITEMS', /2000/],
  ],
}
