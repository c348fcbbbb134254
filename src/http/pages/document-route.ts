import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Hono } from 'hono'
import { kept } from '../../kept.js'
import { respond } from '../answer.js'
import { acceptsGzip } from '../bodies/accepts-gzip.js'
import { namesTag } from '../bodies/entity-tag.js'
import type { HttpEnv } from '../env.js'
import { refuseOtherMethods } from '../refuse-methods.js'

/** A shorter document is not compressed: it fits one packet in any case. */
const MIN_PACKED_BYTES = 1400

const pack = promisify(gzip) as (bytes: Uint8Array) => Promise<Uint8Array>

/**
 * Adds a JSON document that needs no key. It is made at the first request and kept, as it does not change, also
 * compressed; every answer sends the same bytes, so that clients that do not read share one copy.
 */
export function addDocumentRoute(
  app: Hono<HttpEnv>,
  path: string,
  make: () => object | Promise<object>,
): void {
  const plain = kept(async () => withTag(Buffer.from(JSON.stringify(await make()))))
  const packed = kept(async () => withTag(await pack((await plain()).bytes)))
  app.get(path, async (c) => {
    const made = await plain()
    const isPacked = made.bytes.length >= MIN_PACKED_BYTES && acceptsGzip(c.req.header('accept-encoding'))
    const { bytes, etag } = isPacked ? await packed() : made
    const headers = { ETag: etag, 'Cache-Control': 'no-cache', Vary: 'Accept-Encoding' }
    if (namesTag(c.req.header('if-none-match'), etag)) return respond(c.get('requestId'), 304, headers, null)
    return respond(
      c.get('requestId'),
      200,
      {
        ...headers,
        'Content-Type': 'application/json; charset=utf-8',
        'Content-Length': String(bytes.length),
        ...(isPacked ? { 'Content-Encoding': 'gzip' } : {}),
      },
      bytes,
    )
  })
  refuseOtherMethods(app, path, 'GET, HEAD')
}

interface Tagged {
  readonly bytes: Uint8Array
  readonly etag: string
}

/** Pairs bytes with their entity tag. */
export function withTag(bytes: Uint8Array): Tagged {
  return { bytes, etag: `"${createHash('sha256').update(bytes).digest('hex').slice(0, 32)}"` }
}
