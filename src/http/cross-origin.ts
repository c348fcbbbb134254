import { AppError } from '../errors.js'
import { type HttpContext, headerOf } from './env.js'

/** Methods that change nothing. */
const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Refuses requests that change something and come from a page of another site: a browser would add what it
 * knows of this gateway, and the network it stands in. `Sec-Fetch-Site` decides where it is sent; no page can
 * set it. Older browsers, and pages over plain http, send `Origin`, which must name the host of the request
 * or `server.publicUrl`. Programs send neither.
 *
 * @param publicOrigin origin of `server.publicUrl`
 * @returns the refusal; undefined for a request that is allowed
 * @see https://www.w3.org/TR/fetch-metadata/, RFC 6454 section 7
 */
export function crossOriginFault(c: HttpContext, publicOrigin: string | undefined): AppError | undefined {
  if (SAFE.has(c.req.method)) return undefined
  const site = headerOf(c, 'sec-fetch-site')
  if (site === 'same-origin' || site === 'none') return undefined
  const origin = headerOf(c, 'origin')
  if (site === undefined && (origin === undefined || isOwn(origin, c, publicOrigin))) return undefined
  if (site === 'same-site' && origin !== undefined && origin === publicOrigin) return undefined
  const found = origin === undefined ? `Sec-Fetch-Site: ${site}` : `Origin: ${origin}`
  const own = publicOrigin ?? `the origin of ${headerOf(c, 'host') ?? 'this gateway'}`
  const message = `Pages of other sites may not write: found ${found.slice(0, 200)}, expected ${own.slice(0, 200)}`
  return new AppError('FORBIDDEN', {}, { message })
}

/** The scheme is not compared: behind a proxy the gateway does not know that of the browser. */
function isOwn(origin: string, c: HttpContext, publicOrigin: string | undefined): boolean {
  if (origin === publicOrigin) return true
  const match = /^(https?):\/\/([^/?#@]+)$/i.exec(origin)
  const [, scheme = '', host = ''] = match ?? []
  return host !== '' && plainHost(host, scheme) === plainHost(headerOf(c, 'host') ?? '', scheme)
}

/** Returns a host without the usual port of a scheme, in lower case. */
function plainHost(host: string, scheme: string): string {
  return host.toLowerCase().replace(scheme.toLowerCase() === 'https' ? /:443$/ : /:80$/, '')
}
