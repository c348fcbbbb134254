import t from 'tap'
import { z } from 'zod'
import { ERRORS } from '../../src/errors.js'
import { defineMethod } from '../../src/rpc/define-method.js'
import { openRpcDocument } from '../../src/rpc/openrpc.js'

const byName = defineMethod({
  name: 'a.by_name',
  summary: 'takes names',
  scope: 'map:read',
  errors: ['NO_ROUTE'],
  params: z.strictObject({ size: z.int().min(1).describe('how many'), colour: z.string().max(5).nullish() }),
  result: z.strictObject({ ok: z.boolean() }),
  handle: () => ({ ok: true }),
})
const inArray = defineMethod({
  name: 'a.in_array',
  summary: 'takes one object in an array',
  scope: 'none',
  paramsIn: 'array',
  params: z.strictObject({ size: z.int() }),
  result: z.null(),
  handle: () => null,
})

// biome-ignore lint/suspicious/noExplicitAny: the document is looked into freely
const documentOf = (path?: string): any =>
  openRpcDocument({ title: 'T', version: '1.2.3', ...(path === undefined ? {} : { path }) }, [
    { ...byName, path: '/p' },
    { ...inArray, path: '/p' },
  ])

t.test('openRpcDocument: what OpenRPC 1.4 requires is there', async (t) => {
  const document = documentOf('/p')
  t.match(document, { openrpc: '1.4.0', info: { title: 'T', version: '1.2.3' }, servers: [{ url: '/p' }] })
  for (const method of document.methods) {
    t.match(method, { name: String, params: Array, result: { name: String, schema: Object } })
    for (const param of method.params) t.match(param, { name: String, schema: Object })
    for (const error of method.errors) t.match(error, { code: Number, message: String })
  }
  t.notOk('servers' in documentOf(), 'the document of all paths names none')
})

t.test('openRpcDocument: params by name are listed one by one, those in an array as one', async (t) => {
  const [first, second] = documentOf('/p').methods
  t.equal(first.paramStructure, 'by-name')
  t.match(first.params, [
    { name: 'size', required: true, description: 'how many', schema: { type: 'integer', minimum: 1 } },
    { name: 'colour', required: false },
  ])
  t.equal(second.paramStructure, 'by-position')
  t.equal(second.params.length, 1)
  t.match(second.params[0].schema, { type: 'object', properties: { size: { type: 'integer' } } })
})

t.test('openRpcDocument: lists the errors of a method first, then those of every call', async (t) => {
  const [first] = documentOf('/p').methods
  t.match(first.errors[0], { code: ERRORS.NO_ROUTE.code, data: { name: 'NO_ROUTE' } })
  t.same(
    first.errors.slice(1).map((error: { data: { name: string } }) => error.data.name),
    ['INVALID_PARAMS', 'INTERNAL', 'FORBIDDEN'],
  )
})

t.test('openRpcDocument: a parameter without a description has none', async (t) => {
  const [first, second] = documentOf('/p').methods
  t.notOk('description' in first.params[1])
  t.equal(second.params[0].required, true)
})

t.test('openRpcDocument: params that are no plain object are one required parameter', async (t) => {
  const choice = defineMethod({
    name: 'a.choice',
    summary: 'takes one of two objects',
    scope: 'none',
    params: z.union([z.strictObject({ a: z.int() }), z.strictObject({ b: z.int() })]),
    result: z.null(),
    handle: () => null,
  })
  // biome-ignore lint/suspicious/noExplicitAny: the document is looked into freely
  const document: any = openRpcDocument({ title: 'T', version: '1' }, [{ ...choice, path: '/p' }])
  const [method] = document.methods
  t.equal(method.paramStructure, 'by-name')
  t.match(method.params, [{ name: 'params', required: true, schema: { anyOf: [{}, {}] } }])
  t.notOk('$schema' in method.params[0].schema)
})
