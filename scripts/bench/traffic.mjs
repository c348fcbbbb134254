// Mixed calls of many kinds against a gateway with the demo town, for the bench `mixed` and for the soak.
// Keys of what is written come from a bounded set, so that a gateway that keeps nothing too long stays as
// large as it is.
import { randomUUID } from 'node:crypto'
import { DATASET, LOADER, MAPS, MODELS, SESSION } from '../api-paths.mjs'
import { createRandom } from '../random.mjs'

const GAUGES = 5000
const ROWS = 2000
const RECORDS = 20
const AT = '2026-01-01 00:00:00Z'
const AVOID_FLOOD = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9999]

/** Makes the tables that the traffic uses. @returns next() → { name, path, headers, body } */
export async function createTraffic(gateway, seed) {
  const random = createRandom(seed)
  const area = await townOf(gateway)
  await prepare(gateway, random, area)
  const kinds = kindsOf(gateway, random, area)
  const total = kinds.reduce((sum, [weight]) => sum + weight, 0)
  return () => {
    let at = random() * total
    for (const [weight, make] of kinds) {
      at -= weight
      if (at < 0) return make()
    }
    return kinds[0][1]()
  }
}

function kindsOf(gateway, random, area) {
  const call = (path, method, params) => ({
    name: method,
    path,
    headers: gateway.headers,
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const near = () => [area.west + random() * area.width, area.south + random() * area.height]
  const square = (sizeDeg) => {
    const [x, y] = near()
    return {
      type: 'Polygon',
      coordinates: [
        [
          [x, y],
          [x + sizeDeg, y],
          [x + sizeDeg, y + sizeDeg],
          [x, y + sizeDeg],
          [x, y],
        ],
      ],
    }
  }
  const route = (themes) => {
    const [start_lonlat, goal_lonlat] = [pick(random, area.places), pick(random, area.places)]
    const params = { themes, start_lonlat, goal_lonlat, start_datetime: AT, map: area.map }
    return call(MAPS, 'routing.dijkstra', [params])
  }
  return [
    [20, () => call(SESSION, 'session.verify_session_token', { token: randomUUID() })],
    [3, () => call(SESSION, 'session.open_session', { expires_in: 60 })],
    [15, () => call(LOADER, 'loaderwebapi.add_record', addRecord(random, near, RECORDS))],
    [15, () => call(MAPS, 'mapserv.eventdata', feature(square(0.005), { table: 'soak', columns: [] }))],
    [
      6,
      () => call(MAPS, 'mapserv.riskmap', feature(square(0.02), { start_datetime: AT, themes: ['flood'] })),
    ],
    [8, () => route({})],
    [8, () => route({ flood: AVOID_FLOOD })],
    [5, () => call(MAPS, 'routing.nearest', { lonlat: pick(random, area.places), map: area.map })],
    [6, () => call(DATASET, 'dataset.record.put', putRows(random, RECORDS))],
    [
      4,
      () =>
        call(DATASET, 'dataset.record.get', {
          citation_label: 'soak-cited',
          limit: 50,
          offset: Math.floor(random() * ROWS),
        }),
    ],
    [3, () => call(MODELS, 'model_store.model.get_info', { model_store_ddc: 'demo', limit: 10 })],
    [3, () => putModel(gateway, random)],
    [2, () => ({ name: 'readyz', path: '/readyz', method: 'GET', headers: {}, body: undefined })],
    [
      1,
      () => ({ name: 'metrics', path: '/metrics', method: 'GET', headers: gateway.headers, body: undefined }),
    ],
  ]
}

/** Where the demo's roads lie, from the gateway itself. */
export async function townOf(gateway) {
  const { maps } = await rpc(gateway, MAPS, 'routing.list_maps', {})
  const [map] = maps
  if (map === undefined) throw new Error('the gateway serves no map: start it with --demo')
  const points = flatPoints(map.area)
  const [xs, ys] = [points.map(([x]) => x), points.map(([, y]) => y)]
  const [west, south] = [Math.min(...xs), Math.min(...ys)]
  const area = { map: map.name, west, south, width: Math.max(...xs) - west, height: Math.max(...ys) - south }
  const places = []
  // spots that have a road within reach
  for (let i = 0; places.length < 40 && i < 400; i++) {
    const lonlat = [west + area.width * ((i * 0.618034) % 1), south + area.height * ((i * 0.7548776) % 1)]
    const found = await rpc(gateway, MAPS, 'routing.nearest', { lonlat, map: map.name }).catch(
      () => undefined,
    )
    if (found !== undefined) places.push(lonlat)
  }
  return { ...area, places }
}

async function prepare(gateway, random, area) {
  const record_def = { gauge: { udt_name: 'int4' }, mm: { udt_name: 'float8' }, note: { udt_name: 'text' } }
  await rpc(gateway, LOADER, 'loaderwebapi.register_loader', {
    data_name: 'soak',
    record_def,
    unique_columns: ['gauge'],
  })
  const near = () => [area.west + random() * area.width, area.south + random() * area.height]
  for (let gauge = 0; gauge < GAUGES; gauge += 500) {
    const record_set = Array.from({ length: 500 }, (_, i) => record(gauge + i, near(), random()))
    await rpc(gateway, LOADER, 'loaderwebapi.add_record', { data_name: 'soak', record_set })
  }
  const columns = [
    { column_name: 'id', data_type: 'bigint' },
    { column_name: 'level_m', data_type: 'double precision', nullable: true },
    { column_name: 'note', data_type: 'text', nullable: true },
  ]
  await rpc(gateway, DATASET, 'dataset.create', { dataset_name: 'soak', columns, key_columns: ['id'] })
  const records = Array.from({ length: ROWS }, (_, i) => [i, random(), 'first'])
  await rpc(gateway, DATASET, 'dataset.record.put', { dataset_name: 'soak', records })
  await rpc(gateway, DATASET, 'dataset.citation.create', { citation_label: 'soak-cited', source: 'soak' })
}

function addRecord(random, near, count) {
  const record_set = Array.from({ length: count }, () =>
    record(Math.floor(random() * GAUGES), near(), random()),
  )
  return { data_name: 'soak', options: { if_exists: 'override' }, record_set }
}

function record(gauge, coordinates, mm) {
  const properties = {
    start_datetime: '2026-01-01 00:00:00Z',
    end_datetime: '2026-01-01 01:00:00Z',
    gauge,
    mm,
    note: 'a gauge by the road',
  }
  return { type: 'Feature', geometry: { type: 'Point', coordinates }, properties }
}

function putRows(random, count) {
  const records = Array.from({ length: count }, () => [Math.floor(random() * ROWS), random(), 'again'])
  return { dataset_name: 'soak', records, on_conflict: 'update' }
}

/** One of a hundred files, so that the bytes are kept once; the rows stay, as they would in the field. */
function putModel(gateway, random) {
  const boundary = '----soak'
  const data = { model_store_ddc: 'demo', model_kind: 'soak', model_description: '', model_meta: {} }
  const file = Buffer.alloc(8192, Math.floor(random() * 100))
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="data"\r\n\r\n${JSON.stringify(data)}\r\n--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="m"\r\n\r\n`
  return {
    name: 'model_store.model.put',
    path: `${MODELS}/upload/model_store.model.put`,
    headers: { ...gateway.headers, 'Content-Type': `multipart/form-data; boundary=${boundary}` },
    body: Buffer.concat([Buffer.from(head), file, Buffer.from(`\r\n--${boundary}--\r\n`)]),
  }
}

/** One call; throws what it answers instead of a result. */
export async function rpc(gateway, path, method, params) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const response = await fetch(gateway.url + path, { method: 'POST', headers: gateway.headers, body })
  const answer = await response.json()
  if (answer.error !== undefined) throw new Error(`${method}: ${JSON.stringify(answer.error).slice(0, 500)}`)
  return answer.result
}

function feature(geometry, properties) {
  return { type: 'Feature', geometry, properties }
}

function pick(random, list) {
  return list[Math.floor(random() * list.length)]
}

function flatPoints(geometry) {
  const walk = (value) => (typeof value[0] === 'number' ? [value] : value.flatMap(walk))
  return walk(geometry.coordinates)
}
