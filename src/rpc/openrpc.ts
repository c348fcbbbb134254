import { z } from 'zod'
import { ERRORS, type ErrorName } from '../errors.js'
import type { MethodFacts } from './define-method.js'

interface OpenRpcFacts {
  title: string
  version: string
  /** path of the API, for `servers`; undefined for the document of all APIs */
  path?: string
}

/** Errors of any call, besides those of its method. */
const COMMON: readonly ErrorName[] = ['INVALID_PARAMS', 'INTERNAL', 'FORBIDDEN']

/**
 * Makes the OpenRPC 1.4 document of some methods.
 *
 * @param methods each with the path that it is served at, which becomes `x-path`
 * @see https://spec.open-rpc.org
 */
export function openRpcDocument(
  facts: OpenRpcFacts,
  methods: readonly (MethodFacts & { path: string })[],
): object {
  return {
    openrpc: '1.4.0',
    info: { title: facts.title, version: facts.version, license: { name: 'Apache-2.0' } },
    ...(facts.path === undefined ? {} : { servers: [{ name: facts.title, url: facts.path }] }),
    methods: methods.map(methodObject),
  }
}

function methodObject(method: MethodFacts & { path: string }): object {
  return {
    name: method.name,
    summary: method.summary,
    paramStructure: method.paramsIn === 'array' ? 'by-position' : 'by-name',
    params: paramObjects(method),
    result: { name: 'result', schema: schemaOf(method.result, 'output') },
    errors: [...method.errors, ...COMMON].map((name) => ({
      code: ERRORS[name].code,
      message: ERRORS[name].message,
      data: { name },
    })),
    'x-path': method.path,
    'x-scope': method.scope,
  }
}

/** Makes one param for each property, or a single one for params by position or of no plain object. */
function paramObjects(method: MethodFacts): object[] {
  const schema = schemaOf(method.params, 'input') as {
    properties?: Record<string, { description?: string }>
    required?: string[]
  }
  if (method.paramsIn === 'array' || schema.properties === undefined) {
    return [{ name: 'params', required: true, schema }]
  }
  const required = new Set(schema.required ?? [])
  return Object.entries(schema.properties).map(([name, property]) => ({
    name,
    required: required.has(name),
    ...(property.description === undefined ? {} : { description: property.description }),
    schema: property,
  }))
}

function schemaOf(schema: z.ZodType, io: 'input' | 'output'): object {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, target: 'draft-7', unrepresentable: 'any' })
  return rest
}
