import { gzipSync } from 'node:zlib'
import { at } from '../town.js'
import {
  type Crossing,
  DATASET,
  ensureTable,
  isRefused,
  LOADER,
  MAPS,
  MODELS,
  record,
  SESSION,
  send,
  VERIFY,
} from './crossing.js'

const STREAM = '/api/v1/dataloaderapi/stream'
const NDJSON = { 'Content-Type': 'application/x-ndjson' }
const PUT = `${MODELS}/upload/model_store.model.put`
const AT = '2026-01-01 12:00:00+09'
const ROUTE = { themes: {}, start_lonlat: at(0, 0), goal_lonlat: at(3, 0), start_datetime: AT }
const RING = [at(0, 0), at(0, 1), at(1, 1), at(1, 0), at(0, 0)]
const AREA = { type: 'Polygon', coordinates: [RING] }

/** Limits of tables, uploads, names and the disk. */
export const APIS: Record<string, Crossing> = {
  'limits.pageRows': {
    async cross(t, gateway) {
      await ensureTable(gateway, 'pages')
      const lines = Array.from({ length: 11 }, (_, i) => JSON.stringify(record(i))).join('\n')
      t.equal((await send(gateway, `${STREAM}/pages`, lines, NDJSON)).status, 200)
      const params = { type: 'Feature', geometry: null, properties: { table: 'pages', columns: [] } }
      const { body } = await gateway.call(MAPS, 'mapserv.eventdata', params)
      t.equal(body.result.features.length, 11, 'read in pages of 4, answered whole')
    },
  },
  'limits.valueBytes': {
    settings: { limits: { valueBytes: 65_536 } },
    async cross(t, gateway) {
      await ensureTable(gateway, 'values')
      const add = (id: number, length: number) =>
        gateway.call(LOADER, 'loaderwebapi.add_record', {
          data_name: 'values',
          record_set: [record(id, 'x'.repeat(length))],
        })
      t.equal((await add(1, 60_000)).body.result?.count_insert, 1)
      const message = /found 65537 bytes, expected at most 65536 \(limits\.valueBytes\)/
      isRefused(t, await add(2, 65_537), 200, 'BAD_RECORD', message)
    },
  },
  'reads.maxQueue': {
    settings: { reads: { maxOpen: 1, maxQueue: 1, threads: 1 } },
    async cross(t, gateway) {
      await ensureTable(gateway, 'queued')
      const answers = await Promise.all(Array.from({ length: 12 }, () => likeRead(gateway, 'queued')))
      const busy = answers.filter(({ body }) => body.error?.data.name === 'BUSY')
      t.ok(busy.length > 0 && busy.length < 12, `${busy.length} of 12 are told to come again`)
    },
  },
  'reads.timeLimitMs': {
    settings: { reads: { timeLimitMs: 1 } }, // less than a thread takes to start
    async cross(t, gateway) {
      await ensureTable(gateway, 'slow')
      isRefused(t, await likeRead(gateway, 'slow'), 200, 'TIME_LIMIT', /longer than its limit/)
    },
  },
  'limits.ogcFeatures': {
    async cross(t, gateway) {
      await ensureTable(gateway, 'items')
      const lines = Array.from({ length: 6 }, (_, i) => JSON.stringify(record(i))).join('\n')
      t.equal((await send(gateway, `${STREAM}/items`, lines, NDJSON)).status, 200)
      const headers = { APIKey: gateway.admin.apiKey, Secret: gateway.admin.secret }
      const read = async (path: string) => {
        const response = await fetch(`${gateway.url}/ogc/collections${path}`, { headers })
        return JSON.parse(await response.text())
      }
      const { collections } = await read('?f=json')
      const id = collections
        .map((one: { id: string }) => one.id)
        .find((name: string) => name.includes('items'))
      const page = await read(`/${encodeURIComponent(id)}/items?f=json&limit=50`)
      t.equal(page.features.length, 3, 'no fault, by the standard: a shorter page')
      t.ok(page.links.some(({ rel }: { rel: string }) => rel === 'next'))
    },
  },
  'limits.exportRows': {
    async cross(t, gateway) {
      await ensureTable(gateway, 'exported')
      const lines = Array.from({ length: 6 }, (_, i) => JSON.stringify(record(i))).join('\n')
      t.equal((await send(gateway, `${STREAM}/exported`, lines, NDJSON)).status, 200)
      const headers = { APIKey: gateway.admin.apiKey, Secret: gateway.admin.secret }
      const get = (query: string) =>
        fetch(`${gateway.url}/api/v1/dataloaderapi/export/exported?${query}`, { headers })
      const refused = await get('format=gpkg')
      const { error } = (await refused.json()) as { error: { message: string; data: { name: string } } }
      t.equal(error.data.name, 'TOO_EXPENSIVE')
      t.match(error.message, /more than 5 rows \(limits\.exportRows\)/)
      const csv = await (await get('format=csv')).text()
      t.equal(csv.trim().split('\r\n').length, 7, 'text has no limit')
    },
  },
  'limits.streamBatch': {
    async cross(t, gateway) {
      await ensureTable(gateway, 'batches')
      const lines = [0, 1, 2, 3, 4].map((i) => JSON.stringify(record(i)))
      const answer = await send(gateway, `${STREAM}/batches`, [...lines, 'no JSON'].join('\n'), NDJSON)
      isRefused(t, answer, 400, 'BAD_RECORD', /line 6.*lines up to 4 are stored/)
    },
  },
  'limits.streamLineBytes': {
    async cross(t, gateway) {
      await ensureTable(gateway, 'lines')
      const answer = await send(
        gateway,
        `${STREAM}/lines`,
        JSON.stringify(record(1, 'y'.repeat(200_000))),
        NDJSON,
      )
      isRefused(t, answer, 400, 'BAD_RECORD', /more than 150000 bytes/)
    },
  },
  'limits.gzipRatio': {
    settings: { limits: { gzipRatio: 200 } }, // with batches of a usual size
    async cross(t, gateway) {
      await ensureTable(gateway, 'bombs')
      const bomb = gzipSync(Buffer.alloc(20 * 1024 * 1024, `${' '.repeat(99)}\n`))
      const answer = await send(gateway, `${STREAM}/bombs`, bomb, { ...NDJSON, 'Content-Encoding': 'gzip' })
      isRefused(t, answer, 413, 'BODY_TOO_LARGE', /limits\.gzipRatio/)
    },
  },
  'limits.initRecords': {
    async cross(t, gateway) {
      await ensureTable(gateway, 'empty')
      const params = { data_name: 'empty', record_set_size: 8 }
      const answer = await gateway.call(LOADER, 'loaderwebapi.init_record', params)
      isRefused(t, answer, 200, 'INVALID_PARAMS', /expected 0 to 5 \(limits\.initRecords\)/)
    },
  },
  'limits.meshCells': {
    async cross(t, gateway) {
      const properties = { start_datetime: AT, themes: ['levels'], target_theme_mesh_degree: 5 }
      const record_def = { risk: { udt_name: 'int2' } }
      const table = { data_name: 'levels', record_def, unique_columns: ['risk'] }
      await gateway.call(LOADER, 'loaderwebapi.register_loader', table)
      const ring = [
        [139, 35],
        [140, 35],
        [140, 36],
        [139, 36],
        [139, 35],
      ]
      const geometry = { type: 'Polygon', coordinates: [ring] }
      const ask = { type: 'Feature', geometry, properties }
      const empty = await gateway.call(MAPS, 'mapserv.riskmap', ask)
      t.same(empty.body.result.features, [], 'an area is not too large for what is not in it')
      await gateway.call(LOADER, 'loaderwebapi.add_record', {
        data_name: 'levels',
        record_set: [{ type: 'Feature', geometry, properties: { risk: 5 } }],
      })
      const answer = await gateway.call(MAPS, 'mapserv.riskmap', ask)
      isRefused(t, answer, 200, 'TOO_MANY_CELLS', /limits\.meshCells/)
    },
  },
  'limits.modelBytes': {
    async cross(t, gateway) {
      isRefused(
        t,
        await upload(gateway, form({}, 5000)),
        413,
        'BODY_TOO_LARGE',
        /part file has more than 4096/,
      )
    },
  },
  'limits.modelDataBytes': {
    async cross(t, gateway) {
      const answer = await upload(gateway, form({ model_description: 'x'.repeat(2000) }, 10))
      isRefused(t, answer, 413, 'BODY_TOO_LARGE', /part data has more than 1024/)
    },
  },
  'limits.modelParts': {
    async cross(t, gateway) {
      const parts = form({}, 10)
      parts.append('data', '{}')
      parts.append('data', '{}')
      isRefused(t, await upload(gateway, parts), 400, 'BAD_UPLOAD', /parts/)
    },
  },
  'limits.nameChars': {
    async cross(t, gateway) {
      const name = 'n'.repeat(40)
      const columns = [{ column_name: 'id', data_type: 'bigint' }]
      await gateway.call(DATASET, 'dataset.create', { dataset_name: 'short', columns })
      const calls: [string, string, object][] = [
        [
          LOADER,
          'loaderwebapi.register_loader',
          { data_name: name, record_def: { id: { udt_name: 'int4' } }, unique_columns: ['id'] },
        ],
        [DATASET, 'dataset.create', { dataset_name: name, columns }],
        [DATASET, 'dataset.citation.create', { citation_label: name, source: 'short' }],
        [MODELS, 'model_store.create', { model_store_ddc: name }],
      ]
      for (const [path, method, params] of calls) {
        const answer = await gateway.call(path, method, params)
        isRefused(
          t,
          answer,
          200,
          'INVALID_PARAMS',
          /40 characters, expected at most 24 \(limits\.nameChars\)/,
        )
      }
      const put = await upload(gateway, form({ model_store_ddc: name }, 10))
      isRefused(t, put, 400, 'INVALID_PARAMS', /limits\.nameChars/)
    },
  },
  'limits.diskReserveBytes': {
    settings: { limits: { diskReserveBytes: 2 ** 52 } },
    async cross(t, gateway) {
      const table = { data_name: 'full', record_def: { id: { udt_name: 'int4' } }, unique_columns: ['id'] }
      const answer = await gateway.call(LOADER, 'loaderwebapi.register_loader', table)
      isRefused(t, answer, 507, 'DISK_FULL', /the reserve of/)
      t.equal((await upload(gateway, form({}, 10))).status, 507)
      t.equal((await send(gateway, SESSION, VERIFY)).status, 200, 'reads go on')
    },
  },
}

/** Limits of searches; the gateway serves a small town. */
export const ROUTING: Record<string, Crossing> = {
  'routing.maxVia': route({ via: [at(1, 0), at(1, 1), at(2, 2)] }, 'TOO_MANY_VIA', /routing\.maxVia/),
  'routing.maxThemes': route({ themes: { a: zeros(), b: zeros(), c: zeros() } }, 'TOO_MANY_ITEMS', /themes/),
  'routing.maxAvoidPositions': route(
    { avoid_polygons: [{ type: 'Polygon', coordinates: [Array.from({ length: 31 }, () => at(0, 0))] }] },
    'TOO_MANY_ITEMS',
    /Found 31 positions of avoid_polygons, expected at most 30/,
  ),
  'routing.maxAvoidPolygons': route(
    { avoid_polygons: [AREA, AREA, AREA] },
    'TOO_MANY_ITEMS',
    /avoid_polygons/,
  ),
  'routing.maxAlternatives': route({ alternatives: 3 }, 'TOO_MANY_ITEMS', /alternatives/),
  'routing.maxSnapM': route({ goal_lonlat: [10.001, 50.001] }, 'OUTSIDE_MAP', /goal_lonlat/),
  'routing.maxMatrixPoints': {
    async cross(t, gateway) {
      const params = { sources: [at(0, 0), at(1, 1), at(2, 2)], themes: {}, start_datetime: AT }
      isRefused(t, await gateway.call(MAPS, 'routing.matrix', [params]), 200, 'TOO_MANY_ITEMS', /sources/)
    },
  },
  'routing.maxSettledNodes': {
    settings: { routing: { maxSettledNodes: 1 } },
    ...route({ avoid_polygons: [AREA] }, 'SEARCH_TOO_LARGE', /./),
  },
  'routing.maxQueue': {
    settings: { routing: { maxQueue: 1 } },
    async cross(t, gateway) {
      const answers = await Promise.all(Array.from({ length: 12 }, () => matrix(gateway)))
      const busy = answers.filter(({ body }) => body.error?.data.name === 'BUSY')
      t.ok(busy.length > 0 && busy.length < 12, `${busy.length} of 12 are told to come again`)
    },
  },
  'routing.timeLimitMs': {
    settings: { routing: { timeLimitMs: 1 } },
    async cross(t, gateway) {
      isRefused(t, await matrix(gateway), 200, 'TIME_LIMIT', /./)
    },
  },
  'routing.maxMapBytes': {
    settings: { routing: { maxMapBytes: 1024 } },
    async cross(t, gateway) {
      const { status, body } = await gateway.call(MAPS, 'routing.list_maps', [{}])
      t.match([status, body.result.maps], [200, []])
      t.match(await (await fetch(`${gateway.url}/readyz`)).text(), /routing\.maxMapBytes|1024/)
    },
  },
}

function route(wishes: object, name: string, message: RegExp): Crossing {
  return {
    async cross(t, gateway) {
      const answer = await gateway.call(MAPS, 'routing.dijkstra', [{ ...ROUTE, ...wishes }])
      isRefused(t, answer, 200, name, message)
    },
  }
}

/** A read that a reader thread answers. */
function likeRead(gateway: Parameters<Crossing['cross']>[1], table: string) {
  const properties = { table, columns: [], conds: { like: ['name', '%x%'] } }
  return gateway.call(MAPS, 'mapserv.eventdata', { type: 'Feature', geometry: null, properties })
}

/** Many points, so that it takes a while. */
function matrix(gateway: Parameters<Crossing['cross']>[1]) {
  const sources = Array.from({ length: 200 }, (_, i) => at((i % 40) / 10, (i % 37) / 10))
  return gateway.call(MAPS, 'routing.matrix', [{ sources, themes: {}, start_datetime: AT }])
}

function zeros(): number[] {
  return new Array(11).fill(0)
}

function form(data: object, sizeBytes: number): FormData {
  const parts = new FormData()
  const all = { model_store_ddc: 'store', model_kind: 'k', model_description: '', model_meta: {}, ...data }
  parts.set('data', JSON.stringify(all))
  parts.set('file', new Blob([new Uint8Array(sizeBytes)]), 'm.dat')
  return parts
}

async function upload({ url, admin }: Parameters<Crossing['cross']>[1], body: FormData) {
  const headers = { APIKey: admin.apiKey, Secret: admin.secret }
  const response = await fetch(url + PUT, { method: 'POST', headers, body })
  return { status: response.status, headers: response.headers, body: await response.json() }
}
