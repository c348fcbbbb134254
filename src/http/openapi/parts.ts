// Pieces that the paths of an OpenAPI document are made of.

export function operation(tag: string, operationId: string, summary: string): object {
  return { tags: [tag], operationId, summary }
}

export const REFUSED = {
  description: 'A refusal, as a JSON-RPC error body',
  content: { 'application/json': { schema: { $ref: '#/components/schemas/JsonRpcResponse' } } },
}
export const NOTHING = { 204: { description: 'Done' }, default: REFUSED }

export function answers(description: string, type: string, schema?: object): object {
  return { 200: { description, ...contentOf(type, schema) }, default: REFUSED }
}

export function contentOf(type: string, schema?: object): object {
  return { content: { [type]: schema === undefined ? {} : { schema } } }
}

export function bodyOf(...types: string[]): object {
  return { required: true, content: Object.fromEntries(types.map((type) => [type, {}])) }
}

export function pathParameter(name: string, schema: object = { type: 'string' }): object {
  return { name, in: 'path', required: true, schema }
}

export function queryParameter(name: string, schema: object): object {
  return { name, in: 'query', required: false, schema }
}

export function headerParameter(name: string, required = true): object {
  return { name, in: 'header', required, schema: { type: 'string' } }
}
