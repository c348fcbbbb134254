import { AppError } from '../errors.js'

const FL_PATH = '/api/v2/fl/jsonrpc'

/**
 * Returns the base URL of an upstream: `https://host[:port][/prefix]` without a trailing slash.
 *
 * @param endpoint address of its fl API, or a base URL
 * @param allowInsecure hosts, with or without port, that may be reached without TLS
 * @throws AppError BAD_ENDPOINT
 */
export function baseUrlOf(endpoint: string, allowInsecure: readonly string[]): string {
  const url = URL.parse(endpoint)
  if (url === null) throw badEndpoint(endpoint, 'a URL such as https://host/api/v2/fl/jsonrpc')
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw badEndpoint(url.protocol, 'https:')
  if (url.username !== '' || url.password !== '')
    throw badEndpoint('a user name in the URL', 'the key in upstream_apikey')
  if (url.search !== '' || url.hash !== '') throw badEndpoint('a query or fragment', 'a URL without')
  const isNamed = allowInsecure.includes(url.hostname) || allowInsecure.includes(url.host)
  if (url.protocol === 'http:' && !isNamed)
    throw badEndpoint(`http: for ${url.host}`, 'https: (or the host in sync.allowInsecure)')
  const path = url.pathname.replace(/\/+$/, '')
  const prefix = path.endsWith(FL_PATH) ? path.slice(0, -FL_PATH.length) : path
  return `${url.origin}${prefix}`
}

function badEndpoint(found: string, expected: string): AppError {
  const shown = found.length > 100 ? `${found.slice(0, 100)}…` : found
  return new AppError(
    'BAD_ENDPOINT',
    {},
    { message: `upstream_endpoint: found ${shown}, expected ${expected}` },
  )
}
