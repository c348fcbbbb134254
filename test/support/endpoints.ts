import { randomUUID } from 'node:crypto'
import { UPLOAD_METHODS } from '../../src/api/model-store/index.js'
import type { ServedRoute } from '../../src/gateway/options.js'
import type { Scope } from '../../src/rpc/define-method.js'
import { pairHeaders, type TestGateway } from './start-gateway.js'

/** One way to reach something. */
export interface Endpoint {
  title: string
  verb: string
  path: string
  /** `open` needs no key */
  scope: Scope | 'open'
  body?: string
  type?: string
  /** what it answers even when all is well, where that is 500 or more */
  status?: number
}

/**
 * Who may use what stands beside JSON-RPC: the first pattern that fits. What fits none is a fault of the
 * test.
 */
const RULES: readonly [pattern: RegExp, scope: Endpoint['scope'], verb?: string][] = [
  [/^\/(?:healthz|readyz|openrpc\.json|openapi\.json)$/, 'open'],
  [/^\/(?:$|console(?:$|\/))/, 'open'],
  [/^\/api\/v1\/alertapi(?:$|\/)/, 'open'],
  [/^\/metrics(?:\/history)?$/, 'none'],
  [/^\/tiles\//, 'route:read'],
  [/^\/ogc\/collections\/dataset\./, 'dataset:read'],
  [/^\/ogc(?:$|\/)/, 'loader:read'],
  [/\/stream\//, 'loader:write'],
  [/\/dataloaderapi\/export\//, 'loader:read'],
  [/\/dataset\/export\//, 'dataset:read'],
  [/\/dataloaderapi\/changes\//, 'loader:read'],
  [/\/models\/[^/]+\/(?:file|signature)$/, 'model:read'],
  [/\/fleet\/files\//, 'fleet:member'],
  [/\/upload(?:s$|s\/|\/)/, 'model:write'],
  [/\/sync\/tables\/[^/]+\/batches$/, 'sync:read', 'GET'],
  [/\/sync\/(?:tables\/[^/]+\/batches|citations\/[^/]+\/rows)$/, 'sync:write'],
]

/** What stands for a part of a path; several make several endpoints. */
const PARTS: Record<string, () => readonly string[]> = {
  data_name: () => ['nothing'],
  label: () => ['nothing'],
  method: () => UPLOAD_METHODS.map(({ name }) => name),
  model_id: () => [randomUUID()],
  upload_id: () => [randomUUID()],
  table: () => [randomUUID()],
  checksum: () => ['ab'.repeat(32)],
  sha256: () => ['cd'.repeat(32)],
  map: () => ['town'],
  z: () => ['14'],
  x: () => ['14300'],
  y: () => ['6400'],
  collection_id: () => ['table.here', 'dataset.here'],
  feature_id: () => ['1'],
}

/** Endpoints that the documents of the gateway describe, and the other routes of its router. */
export async function listEndpoints(gateway: TestGateway): Promise<Endpoint[]> {
  const document = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, unknown>>
  }
  const endpoints: Endpoint[] = []
  for (const [pattern, verbs] of Object.entries(document.paths)) {
    if (pattern.endsWith('/jsonrpc')) endpoints.push(...(await rpcEndpoints(gateway, pattern)))
    else if (!pattern.includes('/call/'))
      for (const verb of Object.keys(verbs)) endpoints.push(...httpEndpoints(verb.toUpperCase(), pattern))
  }
  for (const route of unreachedRoutes(gateway.gateway.routes, endpoints)) endpoints.push(...besides(route))
  return endpoints
}

/** Routes that no endpoint reaches. The first one of the router sees every request, and answers none. */
export function unreachedRoutes(
  routes: readonly ServedRoute[],
  endpoints: readonly Endpoint[],
): ServedRoute[] {
  return routes.filter((route) => {
    if (route.path === '/*') return false
    const pattern = new RegExp(`^${route.path.replace(/\/\*$/, '/.*').replace(/:\w+/g, '[^/]+')}$`)
    const others = routes.filter(({ verb, path }) => path === route.path && verb !== 'ALL')
    return !endpoints.some(
      ({ verb, path }) =>
        pattern.test(path) &&
        (route.verb === 'ALL' ? !others.some((other) => other.verb === verb) : route.verb === verb),
    )
  })
}

async function rpcEndpoints({ call, admin }: TestGateway, path: string): Promise<Endpoint[]> {
  const { result } = (await call(path, 'rpc.discover', undefined, pairHeaders(admin))).body
  const methods = result.methods as { name: string; 'x-scope': Scope }[]
  return [...methods, { name: 'rpc.discover', 'x-scope': 'none' as const }].flatMap(
    ({ name, 'x-scope': scope }) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: name, params: {} })
      const rest = `${path}/call/${name}`
      return [
        { title: name, verb: 'POST', path, scope, body },
        { title: `${name} (REST)`, verb: 'POST', path: rest, scope, body: '{}' },
      ]
    },
  )
}

function httpEndpoints(verb: string, pattern: string): Endpoint[] {
  let paths = [pattern]
  for (const [, name = ''] of pattern.matchAll(/\{(\w+)\}/g)) {
    const fill = PARTS[name]
    if (fill === undefined) throw new Error(`${pattern}: no word is known to stand for {${name}}`)
    paths = paths.flatMap((path) => fill().map((word) => path.replace(`{${name}}`, word)))
  }
  return paths.map((path) => ({ ...endpointOf(verb, path), ...bodyOf(verb, path) }))
}

/** Route that no document describes: a page of the console, a refusal of other verbs. */
function besides({ verb, path: pattern }: ServedRoute): Endpoint[] {
  const path = pattern.replace(/\*$/, 'anything').replace(/:\w+/g, 'word')
  if (verb !== 'ALL') return [endpointOf(verb, path)]
  if (path.startsWith('/api/v1/alertapi')) return [{ ...endpointOf('POST', path), body: '{}', status: 501 }]
  // resumable uploads answer every verb themselves, and only to those who may upload
  if (/\/uploads(?:$|\/)/.test(path)) return [endpointOf('PUT', path)]
  return [{ title: `PUT ${path}`, verb: 'PUT', path, scope: 'open' }]
}

function endpointOf(verb: string, path: string): Endpoint {
  const rule = RULES.find(([pattern, , of = verb]) => of === verb && pattern.test(path))
  if (rule === undefined) throw new Error(`${verb} ${path}: no rule says who may use it`)
  return {
    title: `${verb} ${path}`,
    verb,
    path,
    scope: verb === 'OPTIONS' && path.startsWith('/ogc') ? 'open' : rule[1],
  }
}

function bodyOf(verb: string, path: string): Partial<Endpoint> {
  if (path.includes('/stream/')) return { body: '', type: 'application/x-ndjson' }
  if (path.includes('/upload/')) return { body: 'x', type: 'multipart/form-data; boundary=b' }
  return verb === 'POST' || verb === 'PATCH' ? { body: '' } : {}
}
