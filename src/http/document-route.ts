import { createHash } from 'node:crypto'
import type { Hono } from 'hono'
import { respond } from './answer.js'
import { namesTag } from './entity-tag.js'
import type { HttpEnv } from './env.js'
import { refuseOtherMethods } from './refuse-methods.js'

/**
 * Adds a JSON document that needs no key. It is made at the first request and kept, as it does not change;
 * every answer sends the same bytes, so that clients that do not read share one copy.
 */
export function addDocumentRoute(app: Hono<HttpEnv>, path: string, make: () => object): void {
  let made: { bytes: Uint8Array; etag: string } | undefined
  app.get(path, (c) => {
    made ??= withTag(Buffer.from(JSON.stringify(make())))
    const { bytes, etag } = made
    const headers = { ETag: etag, 'Cache-Control': 'no-cache' }
    if (namesTag(c.req.header('if-none-match'), etag)) return respond(c.get('requestId'), 304, headers, null)
    const type = { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': String(bytes.length) }
    return respond(c.get('requestId'), 200, { ...headers, ...type }, bytes)
  })
  refuseOtherMethods(app, path, 'GET, HEAD')
}

/** Pairs bytes with their entity tag. */
export function withTag(bytes: Uint8Array): { bytes: Uint8Array; etag: string } {
  return { bytes, etag: `"${createHash('sha256').update(bytes).digest('hex').slice(0, 32)}"` }
}
