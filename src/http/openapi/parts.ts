// Builders of the parts of an OpenAPI document.

/** Operation without its parameters, body and responses. */
export function operation(tag: string, operationId: string, summary: string): object {
  return { tags: [tag], operationId, summary }
}

/** Response for every refusal. */
export const REFUSED = {
  description: 'A refusal, as a JSON-RPC error body',
  content: { 'application/json': { schema: { $ref: '#/components/schemas/JsonRpcResponse' } } },
}
/** Responses of an operation that answers without a body. */
export const NOTHING = { 204: { description: 'Done' }, default: REFUSED }

/**
 * Responses of an operation that answers with one media type.
 *
 * @param schema JSON Schema of the body; absent for any
 */
export function answers(description: string, type: string, schema?: object): object {
  return { 200: { description, ...contentOf(type, schema) }, default: REFUSED }
}

/** Content of one media type. @param schema JSON Schema of the body; absent for any */
export function contentOf(type: string, schema?: object): object {
  return { content: { [type]: schema === undefined ? {} : { schema } } }
}

/** Required request body of one of several media types. */
export function bodyOf(...types: string[]): object {
  return { required: true, content: Object.fromEntries(types.map((type) => [type, {}])) }
}

/** Parameter of a path; a string unless a schema is given. */
export function pathParameter(name: string, schema: object = { type: 'string' }): object {
  return { name, in: 'path', required: true, schema }
}

/** Optional parameter of a query. */
export function queryParameter(name: string, schema: object): object {
  return { name, in: 'query', required: false, schema }
}

/** Header of a request. */
export function headerParameter(name: string, required = true): object {
  return { name, in: 'header', required, schema: { type: 'string' } }
}
