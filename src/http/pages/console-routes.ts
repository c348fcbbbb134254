import type { Hono } from 'hono'
import { AppError } from '../../errors.js'
import { redirectResponse, refusalResponse, respond } from '../answer.js'
import { acceptsGzip } from '../bodies/accepts-gzip.js'
import { namesTag } from '../bodies/entity-tag.js'
import type { HttpContext, HttpEnv } from '../env.js'
import { refuseOtherMethods } from '../refuse-methods.js'
import { addDocumentRoute, withTag } from './document-route.js'

interface ConsoleDeps {
  /** makes the settings that the page needs before sign-in */
  facts(): Promise<object>
  /** reads a file of the console; undefined when there is none of this name */
  readFile(name: string): Uint8Array | undefined
}

/** Allows what this gateway serves and nothing else: no inline script or style, no eval, no other host. */
const POLICY = [
  "default-src 'self'",
  "script-src 'self'",
  "style-src 'self'",
  "worker-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const TYPES: Record<string, string> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  mjs: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  txt: 'text/plain; charset=utf-8',
}
/** Names with a hash of the content, such as `app-1A2B3C4D.js`: they may be cached for ever. */
const HASHED = /-[0-9A-Z]{8}\.\w+$/
const YEAR_S = 31_536_000

/**
 * Adds the web page at `/console/`. It needs no key: its data comes over the API, with the key of who signs
 * in.
 */
export function addConsoleRoutes(app: Hono<HttpEnv>, { facts, readFile }: ConsoleDeps): void {
  const files = keptFiles(readFile)
  app.get('/console', (c) => redirectResponse('/console/', c.get('requestId'), 308))
  // browsers are sent to the page, programs get 404
  app.get('/', async (c, next) => {
    const isBrowser = /text\/html/.test(c.req.header('accept') ?? '')
    return isBrowser ? redirectResponse('/console/', c.get('requestId'), 302) : await next()
  })
  addDocumentRoute(app, '/console/facts.json', facts)
  app.get('/console/', (c) => answerFile(c, files, 'index.html'))
  app.get('/console/:file', (c) => answerFile(c, files, c.req.param('file')))
  for (const path of ['/console', '/console/', '/console/:file']) refuseOtherMethods(app, path, 'GET, HEAD')
}

/** File of the console with its entity tag; undefined when there is none of this name. */
type KeptFiles = (name: string) => { bytes: Uint8Array; etag: string } | undefined

/**
 * Reads each file once. Answers share its bytes: clients that do not read would hold a copy each. All files
 * together have 2.4 MB, and a browser asks for the compressed ones, 0.6 MB.
 */
function keptFiles(readFile: ConsoleDeps['readFile']): KeptFiles {
  const kept = new Map<string, { bytes: Uint8Array; etag: string }>()
  return (name) => {
    const known = kept.get(name)
    if (known !== undefined) return known
    const bytes = readFile(name)
    if (bytes === undefined) return undefined // not kept: names of strangers would fill the memory
    const file = withTag(bytes)
    kept.set(name, file)
    return file
  }
}

function answerFile(c: HttpContext, fileOf: KeptFiles, name: string): Response {
  const type = TYPES[name.split('.').pop() ?? '']
  const plain = type === undefined ? undefined : fileOf(name)
  if (plain === undefined || type === undefined) {
    const message = `The console has no file ${name.slice(0, 100)}`
    return refusalResponse(new AppError('NOT_FOUND', {}, { message }), c.get('requestId'))
  }
  const zipped = acceptsGzip(c.req.header('accept-encoding')) ? fileOf(`${name}.gz`) : undefined
  const { bytes, etag } = zipped ?? plain
  const headers: Record<string, string> = {
    ETag: etag,
    Vary: 'Accept-Encoding',
    'Cache-Control': HASHED.test(name) ? `public, max-age=${YEAR_S}, immutable` : 'no-cache',
    'Content-Security-Policy': POLICY,
    'Referrer-Policy': 'no-referrer',
    'Cross-Origin-Opener-Policy': 'same-origin',
  }
  if (namesTag(c.req.header('if-none-match'), etag)) return respond(c.get('requestId'), 304, headers, null)
  headers['Content-Type'] = type
  headers['Content-Length'] = String(bytes.length)
  if (zipped !== undefined) headers['Content-Encoding'] = 'gzip'
  return respond(c.get('requestId'), 200, headers, bytes)
}
