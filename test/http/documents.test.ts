import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import openRpcMeta from '@open-rpc/meta-schema'
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv } from 'ajv'
import t from 'tap'
import { pairHeaders, startGateway } from '../support/start-gateway.js'

// biome-ignore lint/suspicious/noExplicitAny: documents are looked into freely
const readDocument = async (url: string): Promise<any> => (await fetch(url)).json()

t.test('openapi.json: valid OpenAPI 3.1 by its published schema, and open to everybody', async (t) => {
  const gateway = await startGateway(t)
  const document = await readDocument(`${gateway.url}/openapi.json`)
  t.match(document, { openapi: /^3\.1/, info: { version: '1.2.3' } })
  const { valid, errors } = await new Validator().validate(document)
  t.equal(valid, true, JSON.stringify(errors)?.slice(0, 2000))
  const foreign = JSON.stringify(document).match(/"\$ref":"(?!#\/components\/)[^"]*/g)
  t.equal(foreign, null, 'every reference stays within the document')
  const ids = operationsOf(document).map(({ operation }) => operation.operationId)
  t.equal(new Set(ids).size, ids.length, 'operation ids are unique')
})

t.test('openapi.json: every path that it names is served, and every method has one', async (t) => {
  const gateway = await startGateway(t)
  await gateway.call('/api/v1/dataloaderapi/jsonrpc', 'loaderwebapi.register_loader', {
    data_name: 'rain',
    record_def: { mm: { udt_name: 'float8' } },
    unique_columns: ['mm'],
  })
  const document = await readDocument(`${gateway.url}/openapi.json`)
  const openRpc = await readDocument(`${gateway.url}/openrpc.json`)
  for (const method of openRpc.methods)
    t.ok(document.paths[`${method['x-path']}/call/${method.name}`]?.post, method.name)
  const filled: Record<string, string> = { collection_id: 'table.rain', method: 'model_store.model.put' }
  for (const { path, verb } of operationsOf(document)) {
    const url = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => filled[name] ?? '1')
    const response = await fetch(`${gateway.url}${url}`, {
      method: verb.toUpperCase(),
      headers: pairHeaders(gateway.admin),
    })
    const text = await response.text()
    t.notMatch(text, /Nothing is served at/, `${verb} ${url}`)
    t.not(response.status, 405, `${verb} ${url}`)
  }
})

t.test('openrpc.json: valid by the published meta-schema', async (t) => {
  const gateway = await startGateway(t)
  const document = await readDocument(`${gateway.url}/openrpc.json`)
  t.equal(document.openrpc, '1.4.0')
  const validate = compileMeta()
  // the published meta-schema knows versions up to 1.3.2, which has the same members
  const isValid = validate({ ...document, openrpc: '1.3.2' })
  t.equal(isValid, true, JSON.stringify(validate.errors)?.slice(0, 2000))
})

/** The meta-schema, with the JSON Schema that it refers to by address. */
function compileMeta() {
  const file = createRequire(import.meta.url).resolve('ajv/dist/refs/json-schema-draft-07.json')
  const draft7 = JSON.parse(readFileSync(file, 'utf8'))
  const ajv = new Ajv({ strict: false, validateFormats: false })
  ajv.addSchema({
    ...draft7,
    $id: 'https://meta.json-schema.tools/',
    definitions: { ...draft7.definitions, JSONSchemaObject: { properties: { $ref: { type: 'string' } } } },
  })
  const given = openRpcMeta as unknown as { default?: object }
  const text = JSON.stringify(given.default ?? given)
  const { $schema: _, ...schema } = JSON.parse(
    text.replaceAll('"https://meta.json-schema.tools"', '"https://meta.json-schema.tools/"'),
  )
  return ajv.compile(schema)
}

interface Operation {
  path: string
  verb: string
  operation: { operationId: string }
}

function operationsOf(document: {
  paths: Record<string, Record<string, { operationId: string }>>
}): Operation[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([verb, operation]) => ({ path, verb, operation })),
  )
}
