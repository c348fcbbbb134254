import { methodPaths, type PathItem, type PlacedMethod, rpcSchemas } from '../../rpc/openapi.js'
import { dataPaths } from './data-paths.js'
import { answers, contentOf, headerParameter, operation, pathParameter, queryParameter } from './parts.js'

interface OpenApiFacts {
  readonly version: string
  /** first word of the session headers */
  readonly headerPrefix: string
  /** APIs with their methods */
  readonly apis: readonly { readonly title: string; readonly methods: readonly PlacedMethod[] }[]
  /** JSON Schemas of what routes beside the methods answer */
  readonly schemas: {
    readonly ModelInfo: object
    readonly Counters: object
  }
}

/**
 * The OpenAPI 3.1 document of every HTTP path of the gateway.
 *
 * @see https://spec.openapis.org/oas/v3.1.1
 */
export function openApiDocument(facts: OpenApiFacts): object {
  const { version, headerPrefix, apis, schemas } = facts
  return {
    openapi: '3.1.1',
    info: {
      title: 'Fieldgate',
      version,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      description:
        'Methods can be called by JSON-RPC or one by one; /ogc/api describes the collections themselves.',
    },
    servers: [{ url: '/' }],
    security: KEY_OR_SESSION,
    paths: {
      ...Object.assign({}, ...apis.map(({ title, methods }) => methodPaths(title, methods))),
      ...dataPaths(),
      ...tilePaths(),
      ...ogcPaths(),
      ...openPaths(),
    },
    components: {
      schemas: { ...rpcSchemas(), ...schemas },
      securitySchemes: {
        key: { type: 'apiKey', in: 'header', name: 'APIKey' },
        secret: { type: 'apiKey', in: 'header', name: 'Secret' },
        basic: {
          type: 'http',
          scheme: 'basic',
          description: 'key id as the user, secret as the password; for GET of /ogc, /tiles and /metrics',
        },
        session: { type: 'apiKey', in: 'header', name: `${headerPrefix}-Session-Token` },
      },
    },
  }
}

const KEY_OR_SESSION = [{ key: [], secret: [] }, { session: [] }]
/** Credentials of the paths that map programs and Prometheus read. */
const ALSO_BASIC = [...KEY_OR_SESSION, { basic: [] }]

function tilePaths(): Record<string, PathItem> {
  const map = pathParameter('map')
  const place = ['z', 'x', 'y'].map((name) => pathParameter(name, { type: 'integer', minimum: 0 }))
  return {
    '/tiles/{map}/tiles.json': {
      get: {
        ...operation('Map tiles', 'tileJson', 'TileJSON of a map: where its tiles are, and what is in them'),
        security: ALSO_BASIC,
        parameters: [map],
        responses: answers('TileJSON 3.0.0', 'application/json', { type: 'object' }),
      },
    },
    '/tiles/{map}/{z}/{x}/{y}.mvt': {
      get: {
        ...operation('Map tiles', 'tile', 'Vector tile of the roads of a map'),
        security: ALSO_BASIC,
        parameters: [map, ...place, headerParameter('If-None-Match', false)],
        responses: {
          ...answers('The tile', 'application/vnd.mapbox-vector-tile'),
          204: { description: 'No road is there' },
          304: { description: 'The caller has this tile' },
        },
      },
    },
    '/tiles/{map}/base/tiles.json': {
      get: {
        ...operation('Map tiles', 'baseTileJson', 'TileJSON of the base map of a map'),
        security: ALSO_BASIC,
        parameters: [map],
        responses: answers('TileJSON 3.0.0', 'application/json', { type: 'object' }),
      },
    },
    '/tiles/{map}/base/{z}/{x}/{y}.mvt': {
      get: {
        ...operation('Map tiles', 'baseTile', 'Vector tile of a base map, layers of Shortbread'),
        security: ALSO_BASIC,
        parameters: [map, ...place, headerParameter('If-None-Match', false)],
        responses: {
          ...answers('The tile', 'application/vnd.mapbox-vector-tile'),
          204: { description: 'Nothing is there' },
          304: { description: 'The caller has this tile' },
        },
      },
    },
  }
}

function ogcPaths(): Record<string, PathItem> {
  const collection = pathParameter('collection_id')
  const page = ['bbox', 'bbox-crs', 'crs', 'datetime', 'limit', 'after', 'before', 'resultType']
  const items = [collection, ...page.map((name) => queryParameter(name, { type: 'string' }))]
  const item = [collection, pathParameter('feature_id'), queryParameter('crs', { type: 'string' })]
  const get = (id: string, summary: string, parameters: object[], type = 'application/json') => ({
    get: {
      ...operation('OGC API – Features', id, summary),
      security: ALSO_BASIC,
      parameters: [...parameters, queryParameter('f', { type: 'string', enum: ['json', 'html'] })],
      responses: {
        200: { description: summary, content: { [type]: {}, 'text/html': {} } },
        default: {
          description: 'A refusal: code and description',
          ...contentOf('application/json', { type: 'object' }),
        },
      },
    },
  })
  return {
    '/ogc': get('ogcLandingPage', 'Landing page', []),
    '/ogc/api': get('ogcApi', 'OpenAPI 3.0 document', [], 'application/vnd.oai.openapi+json;version=3.0'),
    '/ogc/conformance': get('ogcConformance', 'Conformance classes', []),
    '/ogc/collections': get('ogcCollections', 'Collections that the key may read', []),
    '/ogc/collections/{collection_id}': get('ogcCollection', 'A collection', [collection]),
    '/ogc/collections/{collection_id}/schema': get(
      'ogcSchema',
      'Schema of features',
      [collection],
      'application/schema+json',
    ),
    '/ogc/collections/{collection_id}/queryables': get(
      'ogcQueryables',
      'Properties that can be compared',
      [collection],
      'application/schema+json',
    ),
    '/ogc/collections/{collection_id}/items': get('ogcItems', 'Features', items, 'application/geo+json'),
    '/ogc/collections/{collection_id}/items/{feature_id}': get(
      'ogcItem',
      'A feature',
      item,
      'application/geo+json',
    ),
  }
}

/** Paths that need no key, and the metrics. */
function openPaths(): Record<string, PathItem> {
  const get = (id: string, summary: string, more: object = {}, type = 'application/json') => ({
    get: { ...operation('Gateway', id, summary), responses: answers(summary, type), security: [], ...more },
  })
  const notReady = { 503: { description: 'Not ready', ...contentOf('application/json') } }
  return {
    '/healthz': get('isAlive', 'The gateway runs'),
    '/readyz': get('isReady', 'Whether each part is ready', {
      responses: { ...answers('Every part is ready', 'application/json'), ...notReady },
    }),
    '/metrics': get('metrics', 'Figures for Prometheus', { security: ALSO_BASIC }, 'text/plain'),
    '/metrics/history': get('metricsHistory', 'Figures of a day, one sample a minute', {
      security: ALSO_BASIC,
    }),
    '/openrpc.json': get('openRpc', 'OpenRPC document of every method'),
    '/openapi.json': get('openApi', 'This document'),
  }
}
