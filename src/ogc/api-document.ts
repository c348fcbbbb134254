import type { FeatureSource } from '../storage/features.js'
import { collectionId, queryables } from './collection.js'
import { CRS_URIS, CRS84 } from './crs.js'
import { propertySchema } from './documents.js'
import { DEFAULT_LIMIT } from './items-query.js'
import { GEOJSON_TYPE, JSON_TYPE, type OgcOptions, OPENAPI_TYPE, SCHEMA_TYPE } from './types.js'

/**
 * Returns the OpenAPI 3.0 document of `/ogc` for clients of the standard. Each collection has its own paths,
 * with a parameter for each property that can be compared. (`/openapi.json` describes the whole gateway in
 * OpenAPI 3.1.)
 */
export function apiDocument(
  baseUrl: string,
  sources: readonly FeatureSource[],
  { version, maxFeatures }: OgcOptions,
): object {
  return {
    openapi: '3.0.3',
    info: { title: 'Fieldgate: OGC API – Features', version, license: { name: 'Apache-2.0' } },
    servers: [{ url: baseUrl }],
    security: [{ basic: [] }, { keyId: [], secret: [] }],
    paths: {
      '/': { get: operation('Landing page', 'landingPage') },
      '/api': { get: operation('This document', 'api', OPENAPI_TYPE) },
      '/conformance': { get: operation('Conformance classes', 'conformance') },
      '/collections': { get: operation('Collections', 'collections') },
      ...Object.assign({}, ...sources.map(collectionPaths)),
    },
    components: {
      parameters: parameters(maxFeatures),
      responses: {
        Error: { description: 'Error with the found and the expected value', content: contentOf(JSON_TYPE) },
      },
      securitySchemes: {
        basic: { type: 'http', scheme: 'basic', description: 'key id as the user, secret as the password' },
        keyId: { type: 'apiKey', in: 'header', name: 'APIKey' },
        secret: { type: 'apiKey', in: 'header', name: 'Secret' },
      },
    },
  }
}

function collectionPaths(source: FeatureSource): Record<string, object> {
  const id = collectionId(source)
  const path = `/collections/${id}`
  const references = [
    ...['bbox', 'bbox-crs', 'crs', 'datetime', 'limit', 'after', 'before', 'resultType'].map(reference),
    ...queryables(source).map((column) => ({
      ...queryParameter(column.name, propertySchema(column)),
      description: `features whose ${column.name} equals the value`,
    })),
  ]
  const named = (what: string) => `${what}.${id}`.replaceAll(/[^A-Za-z0-9._-]/g, '_')
  const featureId = { name: 'featureId', in: 'path', required: true, schema: { type: 'integer' } }
  return {
    [path]: { get: operation(source.name, named('collection')) },
    [`${path}/schema`]: { get: operation('Schema of the features', named('schema'), SCHEMA_TYPE) },
    [`${path}/queryables`]: { get: operation('Properties to compare', named('queryables'), SCHEMA_TYPE) },
    [`${path}/items`]: {
      get: operation(`Features of ${source.name}`, named('items'), GEOJSON_TYPE, references),
    },
    [`${path}/items/{featureId}`]: {
      get: operation(`A feature of ${source.name}`, named('item'), GEOJSON_TYPE, [
        featureId,
        reference('crs'),
      ]),
    },
  }
}

function operation(
  summary: string,
  operationId: string,
  type = JSON_TYPE,
  more: readonly object[] = [],
): object {
  return {
    summary,
    operationId,
    parameters: [...more, reference('f')],
    responses: {
      200: { description: summary, content: { ...contentOf(type), ...contentOf('text/html') } },
      default: { $ref: '#/components/responses/Error' },
    },
  }
}

function contentOf(type: string): Record<string, object> {
  return { [type]: { schema: type === 'text/html' ? { type: 'string' } : { type: 'object' } } }
}

function reference(name: string): object {
  return { $ref: `#/components/parameters/${name}` }
}

function queryParameter(name: string, schema: object): { name: string } & Record<string, unknown> {
  return { name, in: 'query', required: false, style: 'form', explode: false, schema }
}

function parameters(maxFeatures: number): Record<string, object> {
  const system = { type: 'string', enum: CRS_URIS, default: CRS84 }
  const rowId = { type: 'integer', minimum: 0 }
  const box = {
    type: 'array',
    items: { type: 'number' },
    oneOf: [
      { minItems: 4, maxItems: 4 },
      { minItems: 6, maxItems: 6 },
    ],
  }
  const limit = {
    type: 'integer',
    minimum: 1,
    maximum: maxFeatures,
    default: Math.min(DEFAULT_LIMIT, maxFeatures),
  }
  const list = [
    {
      ...queryParameter('bbox', box),
      description: 'west, south, east, north; west is greater than east across the antimeridian',
    },
    { ...queryParameter('bbox-crs', system), description: 'reference system of bbox' },
    { ...queryParameter('crs', system), description: 'reference system of the response' },
    {
      ...queryParameter('datetime', { type: 'string' }),
      description:
        'instant or interval, for example 2026-01-01T00:00:00Z/..; features whose time overlaps it',
    },
    { ...queryParameter('limit', limit), description: 'most features of one response' },
    {
      ...queryParameter('after', rowId),
      description: 'features after the one with this id; used by next links',
    },
    {
      ...queryParameter('before', rowId),
      description: 'features before the one with this id; used by prev links',
    },
    {
      ...queryParameter('resultType', { type: 'string', enum: ['hits', 'results'], default: 'results' }),
      description: 'hits: only numberMatched',
    },
    {
      ...queryParameter('f', { type: 'string', enum: ['json', 'html'] }),
      description: 'format of the response',
    },
  ]
  return Object.fromEntries(list.map((parameter) => [parameter.name, parameter]))
}
