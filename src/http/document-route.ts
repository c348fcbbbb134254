import type { Hono } from 'hono'
import { headersOf, stamp } from './answer.js'
import type { HttpEnv } from './env.js'
import { refuseOtherMethods } from './routes.js'

/** A JSON document that needs no key and never changes while the gateway runs; made when it is first asked for. */
export function addDocumentRoute(app: Hono<HttpEnv>, path: string, make: () => object): void {
  let text: string | undefined
  app.get(path, (c) => {
    text ??= JSON.stringify(make())
    const headers = headersOf(c.get('requestId'), 'application/json; charset=utf-8')
    return stamp(new Response(text, { headers }))
  })
  refuseOtherMethods(app, path, 'GET, HEAD')
}
