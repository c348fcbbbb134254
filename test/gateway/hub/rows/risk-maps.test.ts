import t, { type Test } from 'tap'
import { LOADER_PATH } from '../../../../src/gateway/apis.js'
import { boxPolygon } from '../../../support/boxes.js'
import { MAP } from '../../../support/feeds.js'
import { noHub } from '../../../support/hub.js'
import { type Pair, startPair } from '../../../support/hub-beside-gateway.js'

const skip = noHub()
const RISKMAP = 'mapserv.riskmap'
const EVENTDATA = 'mapserv.eventdata'
const HOURS = ['2026-01-01 00:00:00+09', '2026-01-01 01:00:00+09', '2026-01-01 02:00:00+09'] as const
const FAR = boxPolygon(-179.9, -35.1, -179.7, -35)
const TOWN = boxPolygon(139.7, 35.6, 139.72, 35.62)
const LINE = {
  type: 'LineString',
  coordinates: [
    [139.69, 35.6],
    [139.73, 35.63],
  ],
}

/** Table of a theme. `riskmap_snow` is the table of the theme `snow`. */
const themeTable = (data_name: string) => ({
  ...{ data_name, unique_columns: ['n'] },
  record_def: {
    n: { udt_name: 'int4' },
    risk: { udt_name: 'int4', is_nullable: true },
    note: { udt_name: 'text', is_nullable: true },
  },
})
const cell = (n: number, geometry: object | null, risk: number | null, start = 0, end = 1) => ({
  ...{ type: 'Feature', geometry },
  properties: {
    ...{ n, risk, note: `cell ${n}` },
    ...{ start_datetime: HOURS[start] ?? null, end_datetime: HOURS[end] ?? null },
  },
})
const FLOOD = [
  cell(1, boxPolygon(139.7, 35.6, 139.707, 35.604), 3),
  cell(2, boxPolygon(139.705, 35.602, 139.7151, 35.6113), 12),
  cell(3, boxPolygon(139.71, 35.6, 139.72, 35.61), -1, 0, 2),
  cell(4, null, 5),
  cell(5, boxPolygon(139.71, 35.61, 139.72, 35.62), null),
  cell(6, boxPolygon(139.6999999, 35.615, 139.71, 35.62), 7, 1, 2),
  cell(7, { type: 'Point', coordinates: [139.7033, 35.6177] }, 4),
  cell(
    8,
    { type: 'MultiPolygon', coordinates: [boxPolygon(139.7, 35.6, 139.701, 35.62).coordinates] },
    9,
    9,
    9,
  ),
  cell(9, LINE, 2, 9, 1),
  cell(10, FAR, 6),
]
const SNOW = [
  cell(1, boxPolygon(139.69, 35.59, 139.705, 35.605), 8),
  cell(2, boxPolygon(139.7, 35.6, 139.73, 35.63), 1),
]

/** Query of a risk map. */
const query = (properties: object, geometry: unknown = TOWN) => ({
  ...{ type: 'Feature', geometry },
  properties: { start_datetime: HOURS[0], themes: ['flood'], ...properties },
})
const ofEvents = (properties: object, geometry: unknown = TOWN) => ({
  ...{ type: 'Feature', geometry },
  properties: { table: 'flood', ...properties },
})

const RISK_MAPS: readonly (readonly [name: string, params: object])[] = [
  ['stored cells of an area', query({})],
  ['stored cells of everywhere', query({}, null)],
  ['cells that a line touches', query({}, LINE)],
  ['two areas', query({}, { type: 'MultiPolygon', coordinates: [TOWN.coordinates, FAR.coordinates] })],
  ['a later hour', query({ start_datetime: HOURS[1] })],
  ['a period that ends as others begin', query({ end_datetime: HOURS[1] })],
  ['a period of both hours', query({ end_datetime: HOURS[2] })],
  ['a time without an offset', query({ start_datetime: '2026-01-01T00:59:59.5' })],
  ['a period without ends', query({ start_datetime: '-infinity', end_datetime: 'infinity' })],
  ['a time without cells', query({ start_datetime: '2020-01-01 00:00:00' }, boxPolygon(0, 0, 1, 1))],
  ['two themes', query({ themes: ['snow', 'flood'] })],
  ['an unknown theme beside a known one', query({ themes: ['hail', 'flood'] })],
  ['no theme', query({ themes: [] })],
  ...[1, 2, 3, 4, 5].flatMap((target_theme_mesh_degree) => [
    [`grid of degree ${target_theme_mesh_degree}`, query({ target_theme_mesh_degree })] as const,
    [
      `grid of degree ${target_theme_mesh_degree}, two themes, both hours, along a line`,
      query({ target_theme_mesh_degree, themes: ['flood', 'snow'], end_datetime: HOURS[2] }, LINE),
    ] as const,
  ]),
]

const BAD: readonly (readonly [error: string, method: string, params: unknown])[] = [
  ['INVALID_PARAMS', RISKMAP, query({ start_datetime: undefined })],
  ['INVALID_PARAMS', RISKMAP, query({ start_datetime: '2026-02-30 00:00:00' })],
  ['INVALID_PARAMS', RISKMAP, query({ end_datetime: '2025-01-01 00:00:00' })],
  ['INVALID_PARAMS', RISKMAP, query({ target_theme_mesh_degree: 6 })],
  ['INVALID_PARAMS', RISKMAP, query({ themes: 'flood' })],
  ['INVALID_PARAMS', RISKMAP, query({ colour: 'red' })],
  [
    'INVALID_PARAMS',
    RISKMAP,
    query(
      {},
      {
        type: 'Polygon',
        coordinates: [
          [
            [0, 0],
            [1, 1],
            [1, 0],
            [0, 1],
          ],
        ],
      },
    ),
  ],
  ['INVALID_PARAMS', RISKMAP, []],
  ['TOO_MANY_CELLS', RISKMAP, query({ target_theme_mesh_degree: 5, themes: ['wide'] }, null)],
  ['UNKNOWN_TABLE', EVENTDATA, ofEvents({ table: 'hail' })],
  ['BAD_CONDITION', EVENTDATA, ofEvents({ conds: { '=': ['colour', 1] } })],
  ['BAD_CONDITION', EVENTDATA, ofEvents({ conds: { '<': ['risk', 'high'] } })],
  ['BAD_CONDITION', EVENTDATA, ofEvents({ order: '-colour' })],
  ['METHOD_NOT_FOUND', 'mapserv.hazard', query({})],
]

async function fill({ write }: Pair): Promise<void> {
  const world = [cell(1, boxPolygon(-170, -80, 170, 80), 1)]
  for (const [name, record_set] of [
    ['flood', FLOOD],
    ['riskmap_snow', SNOW],
    ['wide', world],
  ] as const) {
    const made = await write(LOADER_PATH, 'loaderwebapi.register_loader', themeTable(name))
    t.same(made.hub, made.gateway, name)
    const put = await write(LOADER_PATH, 'loaderwebapi.add_record', { data_name: name, record_set })
    t.same(put.hub, put.gateway, name)
  }
}

t.test('hub: risk maps and event data are those of a gateway, byte for byte', { skip }, async (t) => {
  const pair = await startPair(t)
  await fill(pair)
  /** @returns the features of the answer, which all nodes give */
  const same = async (t: Test, name: string, method: string, params: unknown) => {
    const { gateway, hub } = await pair.call(MAP, method, params)
    t.equal(gateway.status, 200, name)
    for (const answer of hub) t.strictSame(answer, gateway, name)
    return (JSON.parse(gateway.text).result?.features ?? []) as { properties: { risk: number } }[]
  }

  await t.test('risk maps', async (t) => {
    const counts = new Set<number>()
    for (const [name, params] of RISK_MAPS) counts.add((await same(t, name, RISKMAP, params)).length)
    t.ok(counts.size > 5, `the questions select different cells: ${[...counts]}`)
  })

  await t.test('event data', async (t) => {
    const selections = [
      {},
      { columns: ['risk', 'n'], order: ['-risk', 'n'] },
      { conds: { or: [{ '>': ['risk', 4] }, { is_null: ['risk'] }] }, order: '-n' },
      { start_datetime: HOURS[1], end_datetime: HOURS[2] },
      { limit: 3, offset: 2 },
      { conds: { like: ['note', '%1%'] } },
    ]
    for (const properties of selections)
      for (const geometry of [TOWN, LINE, null])
        await same(t, JSON.stringify(properties), EVENTDATA, ofEvents(properties, geometry))
    t.equal((await same(t, 'all', EVENTDATA, ofEvents({}, null))).length, FLOOD.length)
  })

  await t.test('an overridden cell has its new place and risk', async (t) => {
    const ask = () => same(t, 'after an override', RISKMAP, query({ target_theme_mesh_degree: 5 }))
    const before = await ask()
    const record_set = [cell(1, boxPolygon(139.7, 35.611, 139.702, 35.613), 10)]
    const params = { data_name: 'flood', options: { if_exists: 'override' }, record_set }
    const put = await pair.write(LOADER_PATH, 'loaderwebapi.add_record', params)
    t.same(put.hub, put.gateway)
    t.notSame(await ask(), before)
  })

  await t.test('bad requests have the same error', async (t) => {
    for (const [error, method, params] of BAD) {
      const { gateway, hub } = await pair.call(MAP, method, params)
      t.match(JSON.parse(gateway.text), { error: { data: { name: error } } }, `${error}: ${gateway.text}`)
      for (const answer of hub) t.strictSame(answer, gateway, `${method}: ${error}`)
    }
  })
})
