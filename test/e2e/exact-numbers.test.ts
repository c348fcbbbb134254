import t from 'tap'
import { pairHeaders, startGateway, type TestGateway } from '../support/start-gateway.js'

/** Numbers that a double would change, and a name that plain assignment would lose. */
const JSON_TEXT =
  '{"big":1234567890123456789,"huge":1e400,"one":1.0,"minus":-0,"__proto__":{"a":1.50},"list":[9007199254740993]}'
const DATASET = '/api/v2/dataset/jsonrpc'
const LOADER = '/api/v1/dataloaderapi/jsonrpc'
const MODELS = '/api/v2/model_store/jsonrpc'

/** Sends a text, which no JSON library has read before. @returns the text of the answer */
async function send(gateway: TestGateway, path: string, method: string, params: string): Promise<string> {
  const response = await fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...pairHeaders(gateway.admin) },
    body: `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`,
  })
  return await response.text()
}

t.test('model_meta: kept as supplied, text for text, by both ways of upload', async (t) => {
  const gateway = await startGateway(t)
  const data = `{"model_store_ddc":"rain","model_kind":"k","model_description":"","model_meta":${JSON_TEXT}}`
  const form = new FormData()
  form.set('data', data)
  form.set('file', new Blob(['bytes']), 'm.dat')
  const headers = pairHeaders(gateway.admin)
  const url = `${gateway.url}${MODELS}/upload/model_store.model.put`
  const put = await (await fetch(url, { method: 'POST', headers, body: form })).text()
  t.ok(put.includes(`"model_meta":${JSON_TEXT}`), put)
  const listed = await send(gateway, MODELS, 'model_store.model.get_info', '{"model_store_ddc":"rain"}')
  t.ok(listed.includes(`"model_meta":${JSON_TEXT}`), listed)
})

t.test('columns of type json and numeric: kept as supplied, for few records and for many', async (t) => {
  const gateway = await startGateway(t)
  const columns =
    '[{"column_name":"k","data_type":"bigint"},{"column_name":"j","data_type":"json"},{"column_name":"n","data_type":"numeric"}]'
  const made = await send(
    gateway,
    DATASET,
    'dataset.create',
    `{"dataset_name":"d","columns":${columns},"key_columns":["k"]}`,
  )
  t.match(made, /"short_form":"d"/)
  const put = (records: string[]) =>
    send(gateway, DATASET, 'dataset.record.put', `{"dataset_name":"d","records":[${records.join(',')}]}`)
  t.match(
    await put([`[9007199254740993,${JSON_TEXT},1.50]`, '[1.0,1.0,12345678901234567890.25]']),
    /"result":2/,
  )
  const many = Array.from({ length: 600 }, (_, k) => `[${k + 10},[${k}.0],${k}.00]`)
  t.match(await put(many), /"result":600/)
  t.match(
    await send(gateway, DATASET, 'dataset.citation.create', '{"citation_label":"c","source":"d"}'),
    /"short_form":"c"/,
  )
  const read = await send(gateway, DATASET, 'dataset.record.get', '{"citation_label":"c","order":"k"}')
  t.ok(read.includes(`"k":"9007199254740993","j":${JSON_TEXT},"n":"1.50"`), read.slice(-300))
  t.ok(read.includes('"k":1,"j":1.0,"n":"12345678901234567890.25"'), read.slice(0, 300))
  t.ok(read.includes('"k":17,"j":[7.0],"n":"7.00"'))
  const found = await send(
    gateway,
    DATASET,
    'dataset.record.get',
    '{"citation_label":"c","condition":{"=":["k",9007199254740993]},"columns":["k"]}',
  )
  t.match(found, /"result":\[\{"k":"9007199254740993"\}\]/, 'a condition crosses threads')
  const gone = '{"dataset_name":"d","condition":{"=":["k",9007199254740993]}}'
  t.match(await send(gateway, DATASET, 'dataset.record.delete', gone), /"result":1/)
})

t.test('faults quote a large number as it was sent', async (t) => {
  const gateway = await startGateway(t)
  const limit = await send(gateway, DATASET, 'dataset.list', '{"limit":9007199254740993}')
  t.match(limit, /\$\.limit: found 9007199254740993, expected a whole number/)
  await send(
    gateway,
    LOADER,
    'loaderwebapi.register_loader',
    '{"data_name":"x","record_def":{"k":{"udt_name":"int4"}},"unique_columns":["k"]}',
  )
  const record = '{"type":"Feature","geometry":null,"properties":{"k":9007199254740993}}'
  t.match(
    await send(gateway, LOADER, 'loaderwebapi.add_record', `{"data_name":"x","record_set":[${record}]}`),
    /record_set\[0\]: k: found 9007199254740993, expected a whole number from -2147483648/,
  )
})
