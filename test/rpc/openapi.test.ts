import t from 'tap'
import { z } from 'zod'
import { ERRORS } from '../../src/errors.js'
import { defineMethod } from '../../src/rpc/define-method.js'
import { methodPaths, type PlacedMethod, rpcSchemas, schemaOf } from '../../src/rpc/openapi.js'

const find = defineMethod({
  name: 'a.find',
  summary: 'Finds one',
  scope: 'map:read',
  errors: ['NO_ROUTE', 'UNKNOWN_MODEL', 'UNKNOWN_DATASET'],
  params: z.strictObject({ size: z.int().default(3) }),
  result: z.strictObject({ size: z.int().default(3) }),
  handle: () => ({}),
})
const list = defineMethod({
  name: 'a.list',
  summary: 'Lists all',
  scope: 'none',
  params: z.strictObject({}),
  result: z.null(),
  handle: () => null,
})
const methods: PlacedMethod[] = [find, list].map((method) => ({ ...method, path: '/api/things/v1/rpc' }))

// biome-ignore lint/suspicious/noExplicitAny: the document is looked into freely
const pathsOf = (): any => methodPaths('Things', methods)

t.test('methodPaths: one path for JSON-RPC and one for each method', async (t) => {
  t.same(Object.keys(pathsOf()), [
    '/api/things/v1/rpc',
    '/api/things/v1/rpc/call/a.find',
    '/api/things/v1/rpc/call/a.list',
  ])
  t.same(methodPaths('Things', []), {})
})

t.test('methodPaths: JSON-RPC takes a request or a batch and answers in kind', async (t) => {
  const { post } = pathsOf()['/api/things/v1/rpc']
  const either = (name: string) => {
    const ref = { $ref: `#/components/schemas/${name}` }
    return { content: { 'application/json': { schema: { oneOf: [ref, { type: 'array', items: ref }] } } } }
  }
  t.equal(post.operationId, 'rpc.things.v1')
  t.match(post.description, /a\.find, a\.list/)
  t.same(post.requestBody, { required: true, ...either('JsonRpcRequest') })
  t.match(post.responses['200'], either('JsonRpcResponse'))
  t.notOk('content' in post.responses['204'], 'notifications have no body')
  t.match(post.responses.default.content['application/json'].schema, {
    $ref: '#/components/schemas/JsonRpcResponse',
  })
})

t.test('methodPaths: a method takes its params and answers its result', async (t) => {
  const { post } = pathsOf()['/api/things/v1/rpc/call/a.find']
  t.match(post, { operationId: 'a.find', summary: 'Finds one', 'x-scope': 'map:read', tags: ['Things'] })
  const params = post.requestBody.content['application/json'].schema
  t.equal(post.requestBody.required, true)
  t.notOk(params.required?.includes('size'), 'a default may be left out of the params')
  const result = post.responses['200'].content['application/json'].schema
  t.same(result.required, ['size'], 'a result has every property')
})

t.test('methodPaths: refusals by their HTTP status, each a problem', async (t) => {
  const { responses } = pathsOf()['/api/things/v1/rpc/call/a.find'].post
  for (const name of ['NO_ROUTE', 'UNKNOWN_MODEL', 'UNKNOWN_DATASET', 'INVALID_PARAMS'] as const) {
    t.match(responses[ERRORS[name].status].description, new RegExp(name))
  }
  t.equal(ERRORS.UNKNOWN_MODEL.status, ERRORS.UNKNOWN_DATASET.status)
  t.match(responses[ERRORS.UNKNOWN_MODEL.status].description, /UNKNOWN_MODEL, UNKNOWN_DATASET/)
  for (const [status, response] of Object.entries<{ content: object }>(responses)) {
    if (status !== '200') t.same(Object.keys(response.content), ['application/problem+json'], status)
  }
  t.match(responses.default.content['application/problem+json'].schema, {
    $ref: '#/components/schemas/Problem',
  })
})

t.test(
  'rpcSchemas: every schema that the paths refer to, with the members that are always present',
  async (t) => {
    const schemas = rpcSchemas()
    const refs = JSON.stringify([pathsOf(), schemas]).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)
    for (const [, name = ''] of refs) t.ok(name in schemas, name)
    t.match(schemas, {
      JsonRpcRequest: { required: ['jsonrpc', 'method'] },
      JsonRpcResponse: { required: ['jsonrpc', 'id'] },
      JsonRpcError: { required: ['code', 'message', 'data'] },
      Problem: { required: ['type', 'title', 'status', 'detail', 'name', 'code', 'requestId'] },
    })
    t.match(schemas.JsonRpcRequest, {
      properties: { id: { type: ['string', 'number', 'null'] }, params: { type: ['object', 'array'] } },
    })
    t.match(schemas.Problem, { properties: { name: { type: 'string', enum: Object.keys(ERRORS) } } })
    t.match(schemas.JsonRpcError, {
      properties: {
        data: { required: ['name', 'requestId'], properties: { name: { enum: Object.keys(ERRORS) } } },
      },
    })
  },
)

t.test('schemaOf: JSON Schema without a dialect; what has no form in it is any value', async (t) => {
  const schema = schemaOf(z.strictObject({ at: z.date(), pair: z.tuple([z.int(), z.string()]) }), 'output')
  t.notOk('$schema' in schema)
  t.match(schema, {
    properties: { at: {}, pair: { prefixItems: [{ type: 'integer' }, { type: 'string' }] } },
  })
})
