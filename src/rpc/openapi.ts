import { z } from 'zod'
import { ERRORS, type ErrorName } from '../errors.js'
import type { MethodFacts } from './define-method.js'

/** A path item of OpenAPI 3.1: operations by HTTP method. */
export type PathItem = Record<string, object>

/** A method with the path of its API. */
export type PlacedMethod = MethodFacts & { path: string }

/** Names of the components that these paths refer to. */
const RPC_COMPONENTS = {
  request: '#/components/schemas/JsonRpcRequest',
  response: '#/components/schemas/JsonRpcResponse',
  problem: '#/components/schemas/Problem',
} as const

/**
 * Makes the paths of an API's methods: JSON-RPC at the path of the API, and `call/<method>` for each method,
 * whose body and answer are params and result alone.
 */
export function methodPaths(title: string, methods: readonly PlacedMethod[]): Record<string, PathItem> {
  const [first] = methods
  if (first === undefined) return {}
  const calls = methods.map((method): [string, PathItem] => [
    `${method.path}/call/${method.name}`,
    { post: callOperation(title, method) },
  ])
  return { [first.path]: { post: rpcOperation(title, methods) }, ...Object.fromEntries(calls) }
}

/** Makes the schemas of requests, responses and refusals. */
export function rpcSchemas(): Record<string, object> {
  const id = { type: ['string', 'number', 'null'] }
  return {
    JsonRpcRequest: {
      type: 'object',
      required: ['jsonrpc', 'method'],
      properties: {
        jsonrpc: { const: '2.0' },
        id,
        method: { type: 'string' },
        params: { type: ['object', 'array'] },
      },
    },
    JsonRpcResponse: {
      type: 'object',
      required: ['jsonrpc', 'id'],
      properties: {
        jsonrpc: { const: '2.0' },
        id,
        result: true,
        error: { $ref: '#/components/schemas/JsonRpcError' },
      },
    },
    JsonRpcError: {
      type: 'object',
      required: ['code', 'message', 'data'],
      properties: {
        code: { type: 'integer' },
        message: { type: 'string' },
        data: {
          type: 'object',
          required: ['name', 'requestId'],
          properties: { name: errorNames(), requestId: { type: 'string' } },
        },
      },
    },
    Problem: {
      description: 'RFC 9457 problem details',
      type: 'object',
      required: ['type', 'title', 'status', 'detail', 'name', 'code', 'requestId'],
      properties: {
        type: { type: 'string' },
        title: { type: 'string' },
        status: { type: 'integer' },
        detail: { type: 'string' },
        name: errorNames(),
        code: { type: 'integer' },
        requestId: { type: 'string' },
      },
    },
  }
}

/** Makes the JSON Schema of input or output, in draft 2020-12, which OpenAPI 3.1 uses. */
export function schemaOf(schema: z.ZodType, io: 'input' | 'output'): object {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io,
    target: 'draft-2020-12',
    unrepresentable: 'any',
  })
  return rest
}

function errorNames(): object {
  return { type: 'string', enum: Object.keys(ERRORS) }
}

function rpcOperation(title: string, methods: readonly PlacedMethod[]): object {
  const either = (ref: string) => ({
    oneOf: [{ $ref: ref }, { type: 'array', items: { $ref: ref } }],
  })
  return {
    tags: [title],
    summary: `${title}: JSON-RPC 2.0, one request or a batch`,
    operationId: `rpc.${methods[0]?.path.split('/').slice(2, -1).join('.')}`,
    description: `Methods: ${methods.map(({ name }) => name).join(', ')}. Described in /openrpc.json.`,
    requestBody: jsonBody(either(RPC_COMPONENTS.request)),
    responses: {
      200: {
        description: 'Result or error of each request',
        ...jsonContent(either(RPC_COMPONENTS.response)),
      },
      204: { description: 'Notifications only, which have no response' },
      default: {
        description: 'The transport refused the call',
        ...jsonContent({ $ref: RPC_COMPONENTS.response }),
      },
    },
  }
}

function callOperation(title: string, method: PlacedMethod): object {
  const names: ErrorName[] = [...method.errors, 'INVALID_PARAMS']
  const statuses = Map.groupBy(names, (name) => ERRORS[name].status)
  const refused = [...statuses].map(([status, ofStatus]): [string, object] => [
    String(status),
    { description: ofStatus.join(', '), ...problemContent() },
  ])
  return {
    tags: [title],
    summary: method.summary,
    operationId: method.name,
    requestBody: jsonBody(schemaOf(method.params, 'input')),
    responses: {
      200: { description: 'The result', ...jsonContent(schemaOf(method.result, 'output')) },
      ...Object.fromEntries(refused),
      default: { description: 'Any other refusal', ...problemContent() },
    },
    'x-scope': method.scope,
  }
}

function jsonBody(schema: object): object {
  return { required: true, ...jsonContent(schema) }
}

function jsonContent(schema: object): object {
  return { content: { 'application/json': { schema } } }
}

function problemContent(): object {
  return { content: { 'application/problem+json': { schema: { $ref: RPC_COMPONENTS.problem } } } }
}
