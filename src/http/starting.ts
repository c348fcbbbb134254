import { Hono } from 'hono'
import { AppError } from '../errors.js'
import { refusalResponse } from './answer.js'
import { aliveResponse, type PartState, readyResponse } from './health-routes.js'
import { requestIdOf } from './server/request-id.js'

const START: PartState = {
  part: 'start',
  isReady: false,
  reason: 'the databases and the maps are being opened',
}

/**
 * Makes the routes that are served until the gateway is open: it is alive, not ready, and refuses calls with
 * 503.
 */
export function createStartingRoutes(): Hono {
  const app = new Hono()
  app.get('/healthz', () => aliveResponse())
  app.get('/readyz', () => readyResponse([START], false))
  app.all('*', (c) => {
    const error = new AppError('UNAVAILABLE', { retryAfterS: 1 }, { message: 'The gateway is starting' })
    return refusalResponse(error, requestIdOf(c.req.header('x-request-id')))
  })
  return app
}
