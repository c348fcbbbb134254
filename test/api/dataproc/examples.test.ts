import { readFileSync } from 'node:fs'
import t from 'tap'
import { DATASET, installExample, LOADER, makeModule, startModules } from '../../support/dataproc.js'
import { MODELS, putModel } from '../../support/models.js'
import { pairHeaders, type TestGateway } from '../../support/start-gateway.js'

const MAPS = '/api/v1/svcapi/jsonrpc'

// biome-ignore lint/suspicious/noExplicitAny: results of every shape
async function result(gateway: TestGateway, path: string, method: string, params: object): Promise<any> {
  const { body } = await gateway.call(path, method, params)
  if (body.error !== undefined) throw new Error(`${method}: ${JSON.stringify(body.error)}`)
  return body.result
}

const hour = (h: number) => `2026-01-01T0${h}:00:00+09:00`
const gauge = (name: string, lngLat: number[], mm: number, h = 0) => ({
  type: 'Feature',
  geometry: { type: 'Point', coordinates: lngLat },
  properties: { start_datetime: hour(h), end_datetime: hour(h + 1), gauge: name, mm },
})

t.test('dataproc: rain-risk makes a risk map of rain points, end to end', async (t) => {
  const gateway = await startModules(t)
  installExample(gateway.modulesDir, 'rain-risk')
  const [listed] = await result(gateway, '/api/v1/dataproc/jsonrpc', 'dataproc.list_modules', {})
  t.match(listed, { name: 'rain-risk', scripts: { make: { type: 'data_transformation' } } })
  t.notOk('faults' in listed)
  await result(gateway, LOADER, 'loaderwebapi.register_loader', {
    data_name: 'rain',
    record_def: { gauge: { udt_name: 'varchar' }, mm: { udt_name: 'float8' } },
    unique_columns: ['gauge', 'start_datetime'],
  })
  await result(gateway, LOADER, 'loaderwebapi.add_record', {
    data_name: 'rain',
    record_set: [
      gauge('A', [139.701, 35.681], 12),
      gauge('B, "upper"', [139.708, 35.688], 55),
      gauge('C', [139.721, 35.681], 3),
      gauge('A', [139.701, 35.681], 90, 1),
      gauge('far', [140.9, 36.9], 99, 1),
    ],
  })
  await result(gateway, LOADER, 'loaderwebapi.register_loader', {
    data_name: 'flood',
    record_def: {
      cell: { udt_name: 'varchar' },
      mm: { udt_name: 'float8' },
      risk: { udt_name: 'int4' },
    },
    unique_columns: ['cell', 'start_datetime'],
  })
  const call = {
    input: { rain: { data_ddc: 'ddc:rain', query: { '<>': ['gauge', 'far'] } } },
    output: { risk: { data_ddc: 'ddc:flood' } },
    params: { step: 0.01 },
  }
  for (const round of [1, 2])
    t.match(await gateway.exec('rain-risk', 'make', call), { body: { result: true } }, `${round}`)
  const map = await result(gateway, MAPS, 'mapserv.riskmap', {
    type: 'Feature',
    geometry: null,
    properties: { start_datetime: hour(0), end_datetime: hour(2), themes: ['flood'] },
  })
  const cells = map.features.map(
    ({ geometry, properties }: { geometry: { coordinates: number[][][] }; properties: object }) => [
      geometry.coordinates[0]?.[0],
      properties,
    ],
  )
  t.same(
    cells.sort((a: unknown[], b: unknown[]) => JSON.stringify(a).localeCompare(JSON.stringify(b))),
    [
      [[139.7, 35.68], { theme: 'flood', datetime: hour(0), risk: 8 }],
      [[139.7, 35.68], { theme: 'flood', datetime: hour(1), risk: 10 }],
      [[139.72, 35.68], { theme: 'flood', datetime: hour(0), risk: 0 }],
    ],
  )
  const bad = await gateway.exec('rain-risk', 'make', { ...call, params: { step: 'wide' } })
  t.match(bad.body.error, { data: { name: 'MODULE_FAILED', exit_code: 1, stderr: /step: found wide/ } })
  const missing = await gateway.exec('rain-risk', 'make', { output: call.output })
  t.match(missing.body.error, {
    code: -32602,
    data: { faults: [{ path: '$.input.rain', message: 'found nothing, expected data_ddc' }] },
  })
})

/** A safetensors file of F32 and F64 tensors. */
function safetensors(tensors: Record<string, number[][] | number[]>): Uint8Array<ArrayBuffer> {
  const header: Record<string, unknown> = {}
  const parts: Uint8Array[] = []
  let at = 0
  for (const [name, values] of Object.entries(tensors)) {
    const numbers = name.startsWith('d') ? Float64Array.from(values.flat()) : Float32Array.from(values.flat())
    const bytes = new Uint8Array(numbers.buffer)
    const shape = Array.isArray(values[0]) ? [values.length, values[0].length] : [values.length]
    header[name] = {
      dtype: name.startsWith('d') ? 'F64' : 'F32',
      shape,
      data_offsets: [at, at + bytes.length],
    }
    at += bytes.length
    parts.push(bytes)
  }
  const text = Buffer.from(JSON.stringify(header))
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(text.length))
  return new Uint8Array(Buffer.concat([length, text, ...parts]))
}

function readTensors(bytes: Buffer): Record<string, number[]> {
  const length = Number(bytes.readBigUInt64LE())
  const header = JSON.parse(bytes.subarray(8, 8 + length).toString())
  delete header.__metadata__
  return Object.fromEntries(
    Object.entries(header as Record<string, { dtype: string; data_offsets: [number, number] }>).map(
      ([name, tensor]) => {
        const [start, end] = tensor.data_offsets.map((offset) => 8 + length + offset)
        const part = Uint8Array.from(bytes.subarray(start, end)).buffer
        return [name, [...(tensor.dtype === 'F32' ? new Float32Array(part) : new Float64Array(part))]]
      },
    ),
  )
}

t.test('dataproc: fed-average registers the weighted mean as an aggregated model, end to end', async (t) => {
  const gateway = await startModules(t)
  installExample(gateway.modulesDir, 'fed-average')
  const put = async (samples: number, tensors: Record<string, number[] | number[][]>, kind = 'flood-net') => {
    const data = { model_store_ddc: 'rain', model_kind: kind, model_meta: { samples } }
    const { body } = await putModel(gateway, safetensors(tensors), { data })
    return body.model_id
  }
  const big = Array.from({ length: 300_000 }, (_, n) => n)
  const ids = [
    await put(100, {
      w: [
        [1, 2],
        [3, 4],
      ],
      d: [0.1],
      big,
    }),
    await put(300, {
      w: [
        [5, 6],
        [7, 8],
      ],
      d: [0.5],
      big: big.map((n) => n + 4),
    }),
  ]
  await put(5000, { other: [1] }, 'something else')
  const call = {
    input: { models: { model_store_ddc: 'ddc:rain', query: { '=': ['model_kind', 'flood-net'] } } },
    output: {
      model: {
        model_store_ddc: 'rain',
        model_kind: 'flood-net',
        model_description: 'mean',
        model_meta: { by: 'test' },
      },
    },
  }
  t.match((await gateway.exec('fed-average', 'average', call)).body, { result: true })
  const [model] = await result(gateway, MODELS, 'model_store.model.get_info', {
    model_store_ddc: 'rain',
    conds: { '=': ['model_state', 30] },
  })
  t.match(model, {
    model_kind: 'flood-net',
    model_description: 'mean',
    model_state: 30,
    round: 1,
    model_meta: { by: 'test', samples: 400, members: ids },
  })
  const file = await fetch(`${gateway.url}/api/v2/model_store/models/${model.model_id}/file`, {
    headers: pairHeaders(gateway.admin),
  })
  const tensors = readTensors(Buffer.from(await file.arrayBuffer()))
  t.same(tensors.w, [4, 5, 6, 7])
  t.same(tensors.d, [0.1 * 0.25 + 0.5 * 0.75])
  t.same(
    tensors.big,
    big.map((n) => n + 3),
  )

  const all = { ...call, input: { models: { model_store_ddc: 'rain' } } }
  t.match((await gateway.exec('fed-average', 'average', all)).body.error, {
    data: { name: 'MODULE_FAILED', exit_code: 1, stderr: /has other tensors than model/ },
  })
  const none = {
    ...call,
    input: { models: { model_store_ddc: 'rain', query: { '=': ['model_kind', 'x'] } } },
  }
  t.match((await gateway.exec('fed-average', 'average', none)).body.error, {
    data: { stderr: /found no model/ },
  })
  t.match((await gateway.exec('fed-average', 'average', { ...call, params: { weight: 'age' } })).body.error, {
    data: { stderr: /model_meta\.age: found undefined, expected a number/ },
  })
})

t.test('dataproc: rows and models of a run are stored together, or not at all', async (t) => {
  const gateway = await startModules(t)
  const columns = [
    { column_name: 'k', data_type: 'int' },
    { column_name: 'name', data_type: 'text', nullable: true },
    { column_name: 'place', data_type: 'geometry', nullable: true },
    { column_name: 'more', data_type: 'json', nullable: true },
  ]
  await result(gateway, DATASET, 'dataset.create', { dataset_name: 'd', columns, key_columns: ['k'] })
  await result(gateway, LOADER, 'loaderwebapi.register_loader', {
    data_name: 'l',
    record_def: { k: { udt_name: 'int4' } },
    unique_columns: ['k'],
  })
  makeModule(gateway.modulesDir, 'both', {
    good: `cp input/d.csv work/; printf 'k,name,place,more\\r\\n7,"a ""b"", c",POINT (1 2),"{""x"":[1]}"\\n1,,,\\n' > output/d.csv
        printf 'k,lng,lat\\n1,139.5,35\\n2,,\\n' > output/l.csv; printf bytes > output/m.model
        printf '{"model_kind":"told","model_meta":{"b":2},"round":4}' > output/m.json`,
    bad_row: `printf 'k,name\\n8,x\\n' > output/d.csv; printf 'k\\n9\\nten\\n' > output/l.csv; printf bytes > output/m.model`,
    bad_info: `printf 'k\\n8\\n' > output/d.csv; printf 'k\\n9\\n' > output/l.csv; printf bytes > output/m.model; echo '{"colour":1}' > output/m.json`,
    bad_column: `printf 'k,colour\\n8,x\\n' > output/d.csv; printf 'k\\n9\\n' > output/l.csv; printf bytes > output/m.model`,
    link: `ln -s /etc/passwd output/d.csv; printf 'k\\n9\\n' > output/l.csv; printf bytes > output/m.model`,
    pipe: `mkfifo output/m.model; printf 'k\\n8\\n' > output/d.csv; printf 'k\\n9\\n' > output/l.csv`,
    quote: `printf 'k,name\\n8,"x\\n' > output/d.csv; printf 'k\\n9\\n' > output/l.csv; printf bytes > output/m.model`,
    empty: `: > output/d.csv; printf 'k\\n9\\n' > output/l.csv; printf bytes > output/m.model`,
    bytes: `printf 'k,name\\n8,\\377\\n' > output/d.csv; printf 'k\\n9\\n' > output/l.csv; printf bytes > output/m.model`,
  })
  await result(gateway, DATASET, 'dataset.record.put', {
    dataset_name: 'd',
    records: [[1, 'old', null, null]],
  })
  const call = {
    input: { d: { data_ddc: 'd' } },
    output: {
      d: { data_ddc: 'd' },
      l: { data_ddc: 'l' },
      m: { model_store_ddc: 'fresh', model_kind: 'k', model_description: 'x', model_meta: { a: 1 } },
    },
  }
  const rows = async () => {
    const { long_form } = await result(gateway, DATASET, 'dataset.citation.create', {
      citation_label: 'c',
      source: 'd',
    })
    const params = { type: 'Feature', geometry: null, properties: { table: 'l', columns: ['k'] } }
    const { features } = await result(gateway, MAPS, 'mapserv.eventdata', params)
    return {
      d: await result(gateway, DATASET, 'dataset.record.get', {
        citation_label: long_form,
        columns: ['k', 'name', 'place', 'more'],
      }),
      l: features.map((feature: { geometry: unknown; properties: { k: number } }) => [
        feature.properties.k,
        feature.geometry,
      ]),
    }
  }
  const bad: [string, RegExp][] = [
    ['bad_row', /Output l, record 2: .*found "ten"/],
    ['bad_info', /Output m: its \.json file.*colour/],
    ['bad_column', /Output d: found the column "colour", expected some of k, name/],
    ['link', /Output d: is not a readable regular file/],
    ['pipe', /Output m: is not a readable regular file/],
    ['quote', /Output d: found .*expected values between commas/],
    ['empty', /Output d: is empty/],
    ['bytes', /Output d: .*encoded data/],
  ]
  for (const [method, message] of bad) {
    const { body } = await gateway.exec('both', method, call)
    t.match(body.error, { code: 3006, data: { name: 'BAD_OUTPUT' } }, method)
    t.match(body.error?.message, message, method)
  }
  t.same(await rows(), { d: [{ k: 1, name: 'old', place: null, more: null }], l: [] })
  t.match((await gateway.call(MODELS, 'model_store.list', {})).body.result, [])

  t.match((await gateway.exec('both', 'good', call)).body, { result: true })
  t.same(await rows(), {
    d: [
      { k: 1, name: null, place: null, more: null },
      { k: 7, name: 'a "b", c', place: { type: 'Point', coordinates: [1, 2] }, more: { x: [1] } },
    ],
    l: [
      [1, { type: 'Point', coordinates: [139.5, 35] }],
      [2, null],
    ],
  })
  t.match(await result(gateway, MODELS, 'model_store.model.get_info', { model_store_ddc: 'fresh' }), [
    {
      model_kind: 'told',
      model_description: 'x',
      model_meta: { a: 1, b: 2 },
      round: 4,
      model_state: 10,
      model_size: 5,
    },
  ])
  const twice = { ...call, output: { ...call.output, d: { data_ddc: 'd', on_conflict: 'error' } } }
  t.match((await gateway.exec('both', 'good', twice)).body.error, {
    message: /Output d, record 1: .*k 7.* already exists/,
  })
  t.equal(
    (await result(gateway, MODELS, 'model_store.model.get_info', { model_store_ddc: 'fresh' })).length,
    1,
  )
})

t.test(
  'dataproc: what a run is handed: configuration, CSV, GeoPackage, models, a clean environment',
  async (t) => {
    const gateway = await startModules(t, { isolation: 'none' })
    makeModule(gateway.modulesDir, 'look', {
      all: `cp configuration.json application/; ls -R input > application/files; env -0 > application/env; pwd > application/cwd
      head -c 15 input/geo.gpkg > application/head; cp input/geo.csv application/; cat input/m.*.model > application/model`,
    })
    await result(gateway, DATASET, 'dataset.create', {
      dataset_name: 'geo',
      columns: [
        { column_name: 'k', data_type: 'int' },
        { column_name: 'g', data_type: 'geometry' },
      ],
    })
    await result(gateway, DATASET, 'dataset.record.put', {
      dataset_name: 'geo',
      records: [
        [1, 'POINT (1 2)'],
        [2, 'POINT (3 4)'],
      ],
    })
    await result(gateway, DATASET, 'dataset.citation.create', { citation_label: 'then', source: 'geo' })
    await result(gateway, DATASET, 'dataset.record.delete', {
      dataset_name: 'geo',
      condition: { '=': ['k', 1] },
    })
    const { body } = await putModel(gateway, new TextEncoder().encode('the model'))
    const call = {
      input: {
        geo: { data_ddc: 'geo' },
        was: { data_ddc: 'then', order: '-k', limit: 1 },
        m: { model_store_ddc: 'rain' },
      },
      params: { step: 5, name: 'a b', list: [1], LD_PRELOAD: '/x.so', 'bad name': 1 },
    }
    t.match((await gateway.exec('look', 'all', call)).body, { result: true })
    const read = (name: string) =>
      readFileSync(`${gateway.dataDir}/dataproc/applications/look/${name}`, 'utf8')
    t.match(JSON.parse(read('configuration.json')), {
      run_id: String,
      module: 'look',
      method: 'all',
      type: 'data_transformation',
      params: { step: 5, list: [1] },
      input: {
        geo: {
          data_ddc: 'geo',
          file: 'input/geo.csv',
          geopackage: 'input/geo.gpkg',
          rows: 1,
          columns: [{ name: 'k' }, { name: 'g' }],
        },
        was: { file: 'input/was.csv', rows: 1 },
        m: {
          models: [
            { file: `input/m.${body.model_id}.model`, info: { model_id: body.model_id, model_kind: 'k' } },
          ],
        },
      },
      output: {},
    })
    t.equal(read('geo.csv'), 'k,g\r\n2,POINT (3 4)\r\n')
    t.equal(read('head'), 'SQLite format 3')
    t.equal(read('model'), 'the model')
    const names = read('env')
      .split('\0')
      .map((line) => line.split('=')[0] ?? '')
      // what the shell adds, and what the test runner and Node's coverage add to every child process
      .filter(
        (name) =>
          !['', '_', 'PWD', 'NODE_OPTIONS', 'NODE_V8_COVERAGE'].includes(name) && !/^_?TAP/.test(name),
      )
    t.same(names.sort(), [
      'DATAPROC_METHOD',
      'DATAPROC_MODULE',
      'DATAPROC_MODULE_DIR',
      'DATAPROC_PARAM_LD_PRELOAD',
      'DATAPROC_PARAM_name',
      'DATAPROC_PARAM_step',
      'DATAPROC_RUN_DIR',
      'DATAPROC_RUN_ID',
      'HOME',
      'LANG',
      'PATH',
      'TMPDIR',
      'TZ',
    ])
    t.match(read('cwd'), /dataproc\/runs\/[0-9a-f-]{36}\n$/)
  },
)
