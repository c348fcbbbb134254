import { Hono } from 'hono'
import { AppError } from '../errors.js'
import { documentResponse, refusalResponse } from './answer.js'
import type { PartState } from './routes.js'
import { requestIdOf } from './server/request-id.js'

const START: PartState = {
  part: 'start',
  isReady: false,
  reason: 'the databases and the maps are being opened',
}

/** What is answered before the gateway can: it is alive, not ready, and asks to come again. */
export function createStartingRoutes(): Hono {
  const app = new Hono()
  app.get('/healthz', () => documentResponse({ status: 'alive' }, requestIdOf(undefined)))
  app.get('/readyz', () => {
    const body = { status: 'not ready', draining: false, parts: [START] }
    return documentResponse(body, requestIdOf(undefined), 503, { 'Retry-After': '1' })
  })
  app.all('*', (c) =>
    refusalResponse(
      new AppError('UNAVAILABLE', { retryAfterS: 1 }, { message: 'The gateway is starting' }),
      requestIdOf(c.req.header('x-request-id')),
    ),
  )
  return app
}
