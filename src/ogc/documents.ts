import { formatDatetimeShort } from '../datetime.js'
import type { FeatureColumn, FeatureSource } from '../storage/features.js'
import { collectionId, queryables } from './collection.js'
import { CRS_URIS, CRS84 } from './crs.js'
import { GEOJSON_TYPE, JSON_TYPE, type Link, OPENAPI_TYPE, type Page, SCHEMA_TYPE } from './types.js'

/** Conformance classes that this server implements and its tests check. */
const CONFORMANCE = [
  'http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/core',
  'http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/oas30',
  'http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/html',
  'http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/geojson',
  'http://www.opengis.net/spec/ogcapi-features-2/1.0/conf/crs',
]

const DESCRIPTION = 'Tables, datasets and citations of a Fieldgate gateway'

/** Returns the links of a resource to itself in both formats. */
function selfLinks({ format }: Page, href: string, jsonType = JSON_TYPE): Link[] {
  const [json, page] = format === 'json' ? ['self', 'alternate'] : ['alternate', 'self']
  return [
    { href, rel: json as string, type: jsonType, title: 'This document' },
    { href: `${href}?f=html`, rel: page as string, type: 'text/html', title: 'This document as HTML' },
  ]
}

/** Returns the landing page. */
export function landingPage(page: Page) {
  const { baseUrl } = page
  return {
    title: 'Fieldgate',
    description: DESCRIPTION,
    links: [
      ...selfLinks(page, baseUrl),
      { href: `${baseUrl}/api`, rel: 'service-desc', type: OPENAPI_TYPE, title: 'API definition' },
      { href: `${baseUrl}/api?f=html`, rel: 'service-doc', type: 'text/html', title: 'API documentation' },
      { href: `${baseUrl}/conformance`, rel: 'conformance', type: JSON_TYPE, title: 'Conformance classes' },
      { href: `${baseUrl}/collections`, rel: 'data', type: JSON_TYPE, title: 'Collections' },
    ] satisfies Link[],
  }
}

/** Returns the conformance declaration. */
export function conformancePage(page: Page) {
  return { links: selfLinks(page, `${page.baseUrl}/conformance`), conformsTo: CONFORMANCE }
}

/** Returns the list of collections. */
export async function collectionsPage(page: Page, sources: readonly FeatureSource[]) {
  return {
    links: selfLinks(page, `${page.baseUrl}/collections`),
    crs: CRS_URIS,
    collections: await Promise.all(sources.map((source) => collectionDocument(page, source))),
  }
}

/** Returns the description of a collection. */
export async function collectionDocument(page: Page, source: FeatureSource) {
  const id = collectionId(source)
  const href = `${page.baseUrl}/collections/${encodeURIComponent(id)}`
  const schema = { href: `${href}/schema`, type: SCHEMA_TYPE, title: 'Schema of the features' }
  return {
    id,
    title: source.name,
    description: source.description,
    itemType: 'feature',
    extent: await extentOf(source),
    crs: CRS_URIS,
    storageCrs: CRS84,
    links: [
      ...selfLinks(page, href),
      { href: `${href}/items`, rel: 'items', type: GEOJSON_TYPE, title: 'Features' },
      { href: `${href}/items?f=html`, rel: 'items', type: 'text/html', title: 'Features as HTML' },
      { ...schema, rel: 'describedby' },
      { ...schema, rel: 'describedBy' }, // GDAL up to 3.6 knows this spelling only
      {
        href: `${href}/queryables`,
        rel: QUERYABLES,
        type: SCHEMA_TYPE,
        title: 'Properties that can be compared',
      },
    ] satisfies Link[],
  }
}

const QUERYABLES = 'http://www.opengis.net/def/rel/ogc/1.0/queryables'

async function extentOf(source: FeatureSource) {
  const { bbox, interval } = await source.extent()
  const print = (us: bigint | null) =>
    us === null ? null : formatDatetimeShort(us, 0).replace('+00:00', 'Z')
  return {
    ...(bbox === undefined ? {} : { spatial: { bbox: [bbox], crs: CRS84 } }),
    ...(interval === undefined
      ? {}
      : {
          temporal: {
            interval: [interval.map(print)],
            trs: 'http://www.opengis.net/def/uom/ISO-8601/0/Gregorian',
          },
        }),
  }
}

/**
 * Returns the JSON Schema of a feature.
 *
 * @param wide types of int8 columns whose values exceed int32, see `WideColumns`
 */
export function schemaDocument(page: Page, source: FeatureSource, wide: ReadonlyMap<string, string>) {
  const properties = source.columns.map((column): [string, object] => [
    column.name,
    wide.has(column.name) ? { type: wide.get(column.name) } : propertySchema(column),
  ])
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    $id: `${page.baseUrl}/collections/${encodeURIComponent(collectionId(source))}/schema`,
    title: source.name,
    description: 'A feature; any property may be null. int8 beyond 2^53 is a string of digits',
    type: 'object',
    required: ['type', 'geometry', 'properties'],
    properties: {
      type: { enum: ['Feature'] },
      id: { type: 'integer' },
      geometry: { description: 'GeoJSON geometry or null' },
      properties: { type: 'object', properties: Object.fromEntries(properties) },
    },
  }
}

/** Returns the JSON Schema of the properties that query parameters compare. */
export function queryablesDocument(page: Page, source: FeatureSource) {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    $id: `${page.baseUrl}/collections/${encodeURIComponent(collectionId(source))}/queryables`,
    title: source.name,
    type: 'object',
    properties: Object.fromEntries(queryables(source).map((column) => [column.name, propertySchema(column)])),
  }
}

/** Returns the JSON Schema of a property's value. */
export function propertySchema({ udtName }: FeatureColumn): { type?: string; format?: string } {
  return Object.hasOwn(SCHEMAS, udtName) ? (SCHEMAS[udtName] ?? {}) : { type: 'string' }
}

const SCHEMAS: Record<string, { type?: string; format?: string }> = {
  int2: { type: 'integer' },
  int4: { type: 'integer' },
  int8: { type: 'integer' },
  float4: { type: 'number' },
  float8: { type: 'number' },
  numeric: { type: 'number' },
  bool: { type: 'boolean' },
  timestamptz: { type: 'string', format: 'date-time' },
  timestamp: { type: 'string', format: 'date-time' },
  date: { type: 'string', format: 'date' },
  time: { type: 'string', format: 'time' },
  timetz: { type: 'string', format: 'time' },
  geometry: { type: 'object' },
  json: {},
  jsonb: {},
}
