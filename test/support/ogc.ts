import { Ajv } from 'ajv'
import { pairHeaders, type TestGateway } from './start-gateway.js'

export interface OgcReply {
  status: number
  type: string
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests look into documents of every shape
  body: any
  text: string
}

/** Asks a gateway below `/ogc`; the admin key unless other headers are given. */
export async function ogcGet(
  gateway: TestGateway,
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<OgcReply> {
  const url = path.startsWith('http') ? path : `${gateway.url}/ogc${path}`
  const signedIn = 'Authorization' in headers || 'APIKey' in headers ? {} : pairHeaders(gateway.admin)
  const response = await fetch(url, { method, headers: { ...signedIn, ...headers } })
  const text = await response.text()
  const type = response.headers.get('content-type') ?? ''
  const body = type.includes('json') && text !== '' ? JSON.parse(text) : undefined
  return { status: response.status, type, headers: response.headers, body, text }
}

/** Follows `next` links from a first page to the last. */
export async function allFeatures(
  gateway: TestGateway,
  path: string,
  // biome-ignore lint/suspicious/noExplicitAny: features of any table
): Promise<any[]> {
  const features = []
  for (let url: string | undefined = path; url !== undefined; ) {
    const { body }: OgcReply = await ogcGet(gateway, url)
    features.push(...body.features)
    url = linkOf(body, 'next')
  }
  return features
}

export function linkOf(
  document: { links: { rel: string; href: string }[] },
  rel: string,
): string | undefined {
  return document.links.find((link) => link.rel === rel)?.href
}

const link = {
  type: 'object',
  required: ['href', 'rel'],
  properties: {
    href: { type: 'string', pattern: '^https?://' },
    rel: { type: 'string' },
    type: { type: 'string' },
  },
}
const links = { type: 'array', items: link, minItems: 1 }
const bbox = { type: 'array', items: { type: 'number' }, minItems: 4, maxItems: 6 }
const interval = {
  type: 'array',
  items: { type: ['string', 'null'], format: 'date-time' },
  minItems: 2,
  maxItems: 2,
}
const collection = {
  type: 'object',
  required: ['id', 'links'],
  properties: {
    id: { type: 'string' },
    links,
    itemType: { const: 'feature' },
    crs: {
      type: 'array',
      items: { type: 'string' },
      contains: { const: 'http://www.opengis.net/def/crs/OGC/1.3/CRS84' },
    },
    extent: {
      type: 'object',
      properties: {
        spatial: {
          type: 'object',
          required: ['bbox'],
          properties: {
            bbox: { type: 'array', items: bbox, minItems: 1 },
            crs: { const: 'http://www.opengis.net/def/crs/OGC/1.3/CRS84' },
          },
        },
        temporal: {
          type: 'object',
          required: ['interval'],
          properties: {
            interval: { type: 'array', items: interval, minItems: 1 },
            trs: { const: 'http://www.opengis.net/def/uom/ISO-8601/0/Gregorian' },
          },
        },
      },
    },
  },
}
const feature = {
  type: 'object',
  required: ['type', 'geometry', 'properties'],
  properties: {
    type: { const: 'Feature' },
    geometry: { type: ['object', 'null'] },
    properties: { type: ['object', 'null'] },
    id: { type: ['string', 'integer'] },
    links,
  },
}

/**
 * What the standard's own schemas ask of each resource (OGC 17-069r4, and 18-058r1 for reference systems).
 */
const SCHEMAS = {
  landingPage: { type: 'object', required: ['links'], properties: { title: { type: 'string' }, links } },
  conformance: {
    type: 'object',
    required: ['conformsTo'],
    properties: { conformsTo: { type: 'array', items: { type: 'string' } } },
  },
  collections: {
    type: 'object',
    required: ['links', 'collections'],
    properties: { links, collections: { type: 'array', items: collection } },
  },
  collection,
  featureCollection: {
    type: 'object',
    required: ['type', 'features'],
    properties: {
      type: { const: 'FeatureCollection' },
      features: { type: 'array', items: feature },
      links,
      timeStamp: { type: 'string', pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?Z$' },
      numberMatched: { type: 'integer', minimum: 0 },
      numberReturned: { type: 'integer', minimum: 0 },
    },
  },
  feature,
  exception: {
    type: 'object',
    required: ['code'],
    properties: { code: { type: 'string' }, description: { type: 'string' } },
  },
} as const

const ajv = new Ajv({ strict: false, formats: { 'date-time': true } })

/** Faults of a document against the standard's schema, none when it fits. */
export function ogcFaults(name: keyof typeof SCHEMAS, document: unknown): unknown[] {
  const validate = ajv.compile(SCHEMAS[name])
  return validate(document) ? [] : (validate.errors ?? [])
}
