import type { Hono } from 'hono'
import { AppError } from '../errors.js'
import { type HeaderRecord, refusalResponse } from './answer.js'
import type { HttpEnv } from './env.js'

/**
 * Refuses every other method of a path with 405. To be called after the path's own routes: hono takes the
 * first match.
 *
 * @param allowed value of the `Allow` header
 */
export function refuseOtherMethods(
  app: Hono<HttpEnv>,
  path: string,
  allowed: string,
  respond: (error: AppError, requestId: string, headers: HeaderRecord) => Response = refusalResponse,
): void {
  app.all(path, (c) => {
    const message = `Found the HTTP method ${c.req.method}, expected ${allowed}`
    const error = new AppError('METHOD_NOT_ALLOWED', { allow: allowed }, { message })
    return respond(error, c.get('requestId'), { Allow: allowed })
  })
}
