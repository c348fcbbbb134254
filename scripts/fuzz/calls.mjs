// The part of the fuzz that talks to a running gateway over HTTP.
import {
  anyValue,
  bySchema,
  condition,
  createChoices,
  datetime,
  geometry,
  jsonText,
  mutateBytes,
  mutateText,
} from './grammar.mjs'

/** no input of these costs a second; a minute is a hang on any machine */
const HANG_MS = 60_000
/** Texts that no response may contain. */
const LEAKS =
  /\bat [\w.<>]+ \(|node_modules|SQLITE_|\bSELECT \b|\bFROM sqlite|prov_[0-9a-f]{32}_|\.db\b|fgs_[A-Za-z0-9]/

/**
 * @param gateway { url, headers, dataDir } of a gateway with the tables of `prepare`
 * @returns target → (ownSeed) → what is wrong, or undefined
 */
export async function createCalls(gateway) {
  const { methods } = await (await fetch(`${gateway.url}/openrpc.json`)).json()
  const paths = [...new Set(methods.map((method) => method['x-path']))]
  const targets = {
    envelope(c) {
      const method = c.chance(0.7)
        ? c.pick(methods).name
        : c.pick(['rpc.discover', '', 'x', '__proto__', 'constructor'])
      const one = () => {
        const request = {
          jsonrpc: c.chance(0.9) ? '2.0' : anyValue(c, 3),
          id: c.chance(0.8) ? c.int(9) : anyValue(c, 2),
          method: c.chance(0.9) ? method : anyValue(c, 3),
          params: anyValue(c, 1),
        }
        for (const key of Object.keys(request)) if (c.chance(0.05)) delete request[key]
        return request
      }
      const value = c.chance(0.2) ? c.list(5, () => (c.chance(0.9) ? one() : anyValue(c))) : one()
      return { path: c.pick(paths), body: jsonText(c, value) }
    },
    params(c) {
      const method = c.pick(methods)
      const params = paramsOf(c, method)
      if (c.chance(0.2)) return { path: `${method['x-path']}/call/${method.name}`, body: jsonText(c, params) }
      return { path: method['x-path'], body: call(method.name, params) }
    },
    condition(c) {
      const conds = condition(c)
      const order = c.chance(0.3)
        ? c.pick(['id', '-mm', ['at', '-id'], 'location', 'nothing', '', [], ['-']])
        : undefined
      const area = c.chance(0.5) ? null : geometry(c)
      const properties = {
        table: 'fuzz',
        columns: c.chance(0.5) ? [] : ['id', 'note'],
        conds,
        order,
        limit: c.int(5),
        offset: c.int(5),
      }
      const ofMap = call('mapserv.eventdata', { type: 'Feature', geometry: area, properties })
      const ofData = call('dataset.record.get', {
        citation_label: 'fuzz-cited',
        condition: conds,
        order,
        limit: 3,
      })
      const ofModels = call('model_store.model.get_info', { model_store_ddc: 'demo', conds, order })
      return c.pick([
        { path: pathOf('mapserv.eventdata'), body: ofMap },
        { path: pathOf('dataset.record.get'), body: ofData },
        { path: pathOf('model_store.model.get_info'), body: ofModels },
      ])
    },
    record(c) {
      const feature = () => ({
        type: c.chance(0.98) ? 'Feature' : anyValue(c, 3),
        geometry: c.chance(0.2) ? null : geometry(c),
        properties: {
          start_datetime: datetime(c),
          end_datetime: datetime(c),
          id: c.chance(0.8) ? c.int(1000) : anyValue(c, 3),
          note: anyValue(c, 3),
          mm: anyValue(c, 4),
          at: anyValue(c, 3),
        },
      })
      if (c.chance(0.5))
        return {
          path: pathOf('loaderwebapi.add_record'),
          body: call('loaderwebapi.add_record', {
            data_name: 'fuzz',
            options: { if_exists: c.pick(['override', 'skip', 'error', 'x']) },
            record_set: c.list(4, feature),
          }),
        }
      const lines = c.list(5, () => jsonText(c, feature())).join(c.pick(['\n', '\n', '\r\n', '\n\n']))
      const body = c.chance(0.1) ? `\x1e${lines}` : lines
      return {
        path: '/api/v1/dataloaderapi/stream/fuzz',
        body,
        headers: {
          'Content-Type': c.pick(['application/x-ndjson', 'application/geo+json-seq', 'application/gzip']),
          'Content-Encoding': c.pick(['identity', 'identity', 'gzip', 'br']),
        },
      }
    },
    upload(c) {
      const data = {
        model_store_ddc: 'demo',
        model_kind: anyValue(c, 4),
        model_description: 'x',
        model_meta: anyValue(c, 2),
      }
      const text = `--b\r\nContent-Disposition: form-data; name="data"\r\n\r\n${jsonText(c, data)}\r\n--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n${'y'.repeat(c.int(50))}\r\n--b--\r\n`
      const body = c.chance(0.5) ? mutateBytes(c, Buffer.from(text)) : Buffer.from(text)
      const method = c.pick(['put', 'put', 'put_aggregated', 'put_feedback', 'nothing'])
      return {
        path: `${pathOf('model_store.create')}/upload/model_store.model.${method}`,
        body,
        headers: {
          'Content-Type': c.pick(['multipart/form-data; boundary=b', 'multipart/form-data', 'text/plain']),
        },
      }
    },
    path(c) {
      const known = [
        '/healthz',
        '/readyz',
        '/metrics',
        '/openrpc.json',
        '/api/v2/model_store/models/x/file',
        '/api/v2/model_store/uploads',
        '/api/v1/alertapi/x',
        ...paths,
      ]
      const path = c.chance(0.5)
        ? c.pick(known)
        : `/${encodeURI(mutateText(c, c.pick(known).slice(1)).replace(/[^\x21-\x7e]/g, '?'))}`.replaceAll(
            '\\',
            '/',
          )
      const headers = {
        Range: c.pick(['bytes=0-', 'bytes=-', 'bytes=9-1', 'x']),
        'Upload-Length': c.pick(['5', '-1', 'x', '1e9']),
        'Tus-Resumable': '1.0.0',
        'Upload-Metadata': c.pick(['data e30=,sha256 eA==', 'x', ',', 'data']),
        'Upload-Offset': c.pick(['0', '7', 'x']),
      }
      return {
        path: path.replace(/^\/+/, '/'),
        method: c.pick(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']),
        headers,
        body: undefined,
      }
    },
  }
  const pathOf = (name) => methods.find((method) => method.name === name)['x-path']
  return Object.fromEntries(
    Object.entries(targets).map(([name, make]) => [name, (seed) => send(gateway, make(createChoices(seed)))]),
  )
}

/** Creates the table, the dataset and the citation that the calls use; existing ones stay. */
export async function prepare(gateway) {
  const record_def = {
    id: { udt_name: 'int4' },
    note: { udt_name: 'text', is_nullable: true },
    mm: { udt_name: 'float8', is_nullable: true },
    at: { udt_name: 'timestamptz', is_nullable: true },
  }
  const columns = [
    { column_name: 'id', data_type: 'bigint' },
    { column_name: 'note', data_type: 'text', nullable: true },
    { column_name: 'mm', data_type: 'double precision', nullable: true },
    { column_name: 'location', data_type: 'geometry', nullable: true },
  ]
  const calls = [
    [
      '/api/v1/dataloaderapi/jsonrpc',
      'loaderwebapi.register_loader',
      { data_name: 'fuzz', record_def, unique_columns: ['id'] },
    ],
    ['/api/v2/dataset/jsonrpc', 'dataset.create', { dataset_name: 'fuzz', columns, key_columns: ['id'] }],
    [
      '/api/v2/dataset/jsonrpc',
      'dataset.record.put',
      {
        dataset_name: 'fuzz',
        records: [
          [1, 'x', 1.5, 'POINT(139.7 35.6)'],
          [2, null, null, null],
        ],
        on_conflict: 'nothing',
      },
    ],
    ['/api/v2/dataset/jsonrpc', 'dataset.citation.create', { citation_label: 'fuzz-cited', source: 'fuzz' }],
    ['/api/v2/model_store/jsonrpc', 'model_store.create', { model_store_ddc: 'demo' }],
  ]
  for (const [path, method, params] of calls)
    await fetch(gateway.url + path, { method: 'POST', headers: gateway.headers, body: call(method, params) })
}

async function send(gateway, { path, method = 'POST', headers = {}, body }) {
  const input = `${method} ${path} ${JSON.stringify(headers)}\n${body ?? ''}`
  const told = (problem) => ({ problem, input })
  let response
  let text
  try {
    const all = { ...gateway.headers, ...headers }
    response = await fetch(new URL(path, gateway.url), {
      method,
      headers: all,
      ...(body === undefined ? {} : { body }),
      signal: AbortSignal.timeout(HANG_MS),
    })
    text = await response.text()
  } catch (error) {
    return told(`no answer: ${error.name} ${error.cause?.message ?? error.message}`)
  }
  if (response.status >= 500 && response.status !== 501 && response.status !== 503)
    return told(`HTTP ${response.status} ${text.slice(0, 500)}`)
  const isJson = /json/.test(response.headers.get('content-type') ?? '')
  if (!isJson) return undefined
  try {
    const parsed = text === '' ? null : JSON.parse(text)
    const answers = Array.isArray(parsed) ? parsed : [parsed]
    const names = answers.map((answer) => answer?.error?.data?.name ?? answer?.name)
    if (names.includes('INTERNAL')) return told(`INTERNAL: ${text.slice(0, 500)}`)
    const errors = JSON.stringify(answers.map((answer) => answer?.error ?? (response.ok ? null : answer)))
    // what the caller sent may come back in a message
    const leak = LEAKS.exec(errors)
    if (leak !== null && !input.includes(leak[0])) return told(`it tells ${leak[0]}: ${errors.slice(0, 500)}`)
    if (errors.includes(gateway.dataDir)) return told(`it tells the data directory: ${errors.slice(0, 500)}`)
  } catch {
    return told(`no JSON: ${text.slice(0, 300)}`)
  }
  return undefined
}

function paramsOf(c, { params, paramStructure }) {
  if (paramStructure === 'by-position') return [bySchema(c, params[0].schema)]
  const isWhole = params.length === 1 && params[0].name === 'params'
  if (isWhole) return bySchema(c, params[0].schema)
  const properties = Object.fromEntries(params.map(({ name, schema }) => [name, schema]))
  const required = params.filter((param) => param.required).map(({ name }) => name)
  return bySchema(c, { type: 'object', properties, required })
}

function call(method, params) {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
}
