import { readdirSync } from 'node:fs'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { pairHeaders, post, startGateway } from '../support/start-gateway.js'
import { feature } from '../support/tables.js'

const LOADER = '/api/v1/dataloaderapi/jsonrpc'
const STREAM = '/api/v1/dataloaderapi/stream'
const MAPS = '/api/v1/svcapi/jsonrpc'
const SMALL_BODY = 100_000
const RECORD_DEF = { k: { udt_name: 'int4' }, name: { udt_name: 'varchar', is_nullable: true } }

t.test(
  'data loader over HTTP: register, fill in, add, large call, stream, event data, files, drop',
  async (t) => {
    const gateway = await startGateway(t, {
      settings: {
        limits: {
          bodyBytes: SMALL_BODY,
          inlineBodyBytes: 20_000,
          loaderBodyBytes: 2_000_000,
          streamLineBytes: 5000,
        },
      },
    })
    const call = async (path: string, method: string, params: unknown) => {
      const { status, body } = await gateway.call(path, method, params)
      return { status, ...body }
    }
    t.match(
      await call(LOADER, 'loaderwebapi.register_loader', {
        data_name: 'x',
        record_def: RECORD_DEF,
        unique_columns: ['k'],
      }),
      {
        status: 200,
        result: { schema: 'event', table_name: 'x_tbl_0' },
      },
    )
    const template = await call(LOADER, 'loaderwebapi.init_record', { data_name: 'x', record_set_size: 3 })
    const filled = template.result.features.map((record: { properties: object }, k: number) => ({
      ...record,
      properties: { ...record.properties, k },
    }))
    t.match(await call(LOADER, 'loaderwebapi.add_record', { data_name: 'x', record_set: filled }), {
      result: { count: 3 },
    })

    await t.test('a body above the inline size goes through a file and the job worker', async (t) => {
      const record_set = Array.from({ length: 3000 }, (_, n) =>
        feature([139 + n / 1e4, 35], { k: 100 + n, name: `row ${n}` }),
      )
      t.match(await call(LOADER, 'loaderwebapi.add_record', { data_name: 'x', record_set }), {
        status: 200,
        result: { count_insert: 3000 },
      })
      t.match(
        await call(LOADER, 'loaderwebapi.add_record', { data_name: 'x', record_set: [...record_set, 5] }),
        { error: { code: 4003, data: { name: 'BAD_RECORD', index: 3000 } } },
      )
      const cut = JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'loaderwebapi.add_record',
        params: { data_name: 'x', record_set },
      }).slice(0, -10)
      t.match(await post(`${gateway.url}${LOADER}`, cut, pairHeaders(gateway.admin)), {
        status: 400,
        body: { error: { code: -32700 }, id: null },
      })
    })

    await t.test('the REST form takes bodies as large, and refuses larger ones', async (t) => {
      const url = `${gateway.url}${LOADER}/call/loaderwebapi.add_record`
      const admin = pairHeaders(gateway.admin)
      const record_set = Array.from({ length: 3000 }, (_, n) =>
        feature([139 + n / 1e4, 35], { k: 100 + n, name: `${n} ${'x'.repeat(200)}` }),
      )
      const params = { record_set, options: { if_exists: 'override' }, data_name: 'x' }
      const text = JSON.stringify(params)
      t.ok(text.length > SMALL_BODY, 'more than other methods may send')
      t.match(await post(url, text, admin), { status: 200, body: { count_update: 3000, count: 3000 } })
      t.match(await post(url, JSON.stringify({ ...params, record_set: [...record_set, 5] }), admin), {
        status: 400,
        body: { name: 'BAD_RECORD', code: 4003, index: 3000 },
      })
      t.match(await post(url, text.slice(0, -3), admin), { status: 400, body: { name: 'PARSE_ERROR' } })
      t.match(await post(url, text + ' '.repeat(2_000_000), admin), {
        status: 413,
        body: { name: 'BODY_TOO_LARGE', maxBytes: 2_000_000 },
      })
      t.same(readdirSync(path.join(gateway.dataDir, 'tmp')), [], 'no file is left')
    })

    await t.test('a body above limits.loaderBodyBytes is refused, and leaves no file', async (t) => {
      const body = JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'loaderwebapi.add_record',
        params: 'x'.repeat(2_000_000),
      })
      t.match(await post(`${gateway.url}${LOADER}`, body, pairHeaders(gateway.admin)), {
        status: 413,
        body: { error: { code: 1006, data: { name: 'BODY_TOO_LARGE', maxBytes: 2_000_000 } } },
      })
      t.same(readdirSync(path.join(gateway.dataDir, 'tmp')), [])
    })

    await t.test('the stream endpoint takes lines, gzip, and answers faults with their line', async (t) => {
      const lines = (from: number, count: number) =>
        Array.from({ length: count }, (_, n) =>
          JSON.stringify(feature([140, 35 + n / 1e4], { k: from + n })),
        ).join('\n')
      const send = (path: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string>) =>
        post(`${gateway.url}${STREAM}${path}`, body, { ...pairHeaders(gateway.admin), ...headers })
      const ndjson = { 'Content-Type': 'application/x-ndjson' }
      t.match(await send('/x', lines(10_000, 12_000), ndjson), {
        status: 200,
        body: { count_insert: 12_000, last_line: 12_000 },
      })
      t.match(
        await send('/x?if_exists=override', new Uint8Array(gzipSync(lines(10_000, 10))), {
          ...ndjson,
          'Content-Encoding': 'gzip',
        }),
        { status: 200, body: { count_update: 10 } },
      )
      t.match(await send('/x', `${lines(50_000, 2)}\n{`, ndjson), {
        status: 400,
        body: { error: { code: 4003, data: { line: 3, last_committed_line: 0 } } },
      })
      t.match(await send('/y', lines(0, 1), ndjson), { status: 404, body: { error: { code: 4002 } } })
      t.match(await send('/x?if_exists=no', lines(0, 1), ndjson), {
        status: 400,
        body: { error: { code: -32602 } },
      })
      const unknownKey = await send('/x?if_exist=override&skip', lines(0, 1), ndjson)
      t.match(unknownKey, {
        status: 400,
        body: {
          error: {
            code: -32602,
            message:
              'Invalid params: $.if_exist: unknown query key "if_exist", expected if_exists (and 1 more)',
            data: {
              name: 'INVALID_PARAMS',
              faults: [
                { path: '$.if_exist' },
                { path: '$.skip', message: 'unknown query key "skip", expected if_exists' },
              ],
            },
          },
        },
      })
      t.match(await send('/x?if_exists=skip&if_exists=override', lines(0, 1), ndjson), {
        status: 400,
        body: { error: { code: -32602, message: /found if_exists 2 times, expected it once/ } },
      })
      t.match(await send('/x', JSON.stringify(feature(null, { k: 1, name: 'x'.repeat(5000) })), ndjson), {
        status: 400,
        body: { error: { code: 4003, message: /more than 5000 bytes/ } },
      })
      const reader = await gateway.makeKey(['loader:read'])
      t.match(await post(`${gateway.url}${STREAM}/x`, lines(0, 1), { ...pairHeaders(reader), ...ndjson }), {
        status: 403,
      })
      t.match(await post(`${gateway.url}${STREAM}/x`, lines(0, 1), ndjson), { status: 401 })
    })

    await t.test('event data sees all of it', async (t) => {
      const params = {
        type: 'Feature',
        geometry: null,
        properties: { table: 'event.x_tbl_0', columns: ['k'] },
      }
      const { result } = await call(MAPS, 'mapserv.eventdata', params)
      t.equal(result.features.length, 3 + 3000 + 12_000)
    })

    await t.test('files are put and got', async (t) => {
      const record_def = {
        k: { udt_name: 'int4' },
        name: { udt_name: 'text' },
        type: { udt_name: 'text', is_nullable: true },
        prefix: { udt_name: 'int4' },
        path: { udt_name: 'text' },
        photo: {
          udt_name: 'file',
          file_name_column: 'name',
          file_type_column: 'type',
          file_prefixid_column: 'prefix',
          file_pathid_column: 'path',
          file_relativepath_property: 'where',
        },
      }
      await call(LOADER, 'loaderwebapi.register_loader', {
        data_name: 'f',
        record_def,
        unique_columns: ['k'],
      })
      const photo = Buffer.alloc(100_000, 'photo').toString('base64')
      t.match(
        await call(LOADER, 'loaderwebapi.add_record', {
          data_name: 'f',
          record_set: [feature(null, { k: 1, photo, where: 'a/b.jpg' })],
        }),
        { result: { count: 1 } },
      )
      t.same(
        (
          await call('/api/v1/getfileapi/jsonrpc', 'getfileapi.get_file', {
            data_name: 'f',
            prefix_id: 1,
            path_id: 'a',
            file_name: 'b.jpg',
          })
        ).result,
        { file_data: photo },
      )
      const rows = await call(MAPS, 'mapserv.eventdata', {
        type: 'Feature',
        geometry: null,
        properties: { table: 'f' },
      })
      t.equal(rows.result.features[0].properties.photo, photo)
    })

    t.match(await call(LOADER, 'loaderwebapi.drop_loader', { data_name: 'x' }), {
      result: { data_name: 'x' },
    })
    t.match(await call(LOADER, 'loaderwebapi.get_loader_list', {}), { result: { data_num: 1 } })
  },
)
