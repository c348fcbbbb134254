import type { Hono } from 'hono'
import { respond } from './answer.js'
import type { HttpEnv } from './env.js'
import { refuseOtherMethods } from './refuse-methods.js'

/**
 * Adds a JSON document that needs no key. It is made at the first request and kept, as it does not change.
 */
export function addDocumentRoute(app: Hono<HttpEnv>, path: string, make: () => object): void {
  let text: string | undefined
  app.get(path, (c) => {
    text ??= JSON.stringify(make())
    const headers = { 'Content-Type': 'application/json; charset=utf-8' }
    return respond(c.get('requestId'), 200, headers, text)
  })
  refuseOtherMethods(app, path, 'GET, HEAD')
}
