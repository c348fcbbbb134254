import { Hono } from 'hono'
import { AppError } from '../../errors.js'
import { refusalResponse } from '../answer.js'
import { aliveResponse, type PartState, readyResponse } from '../health-routes.js'
import { requestIdOf } from '../server/request-id.js'

const START: PartState = {
  part: 'start',
  isReady: false,
  reason: 'the databases and the maps are being opened',
}

/**
 * Makes the routes that are served until the gateway is open: it is alive, not ready, and refuses calls with
 * 503.
 *
 * @param part what `/readyz` says
 * @param refusal message of the refusals
 */
export function createStartingRoutes(part = START, refusal = 'The gateway is starting'): Hono {
  const app = new Hono()
  app.get('/healthz', () => aliveResponse())
  app.get('/readyz', () => readyResponse([part], false))
  app.all('*', (c) => {
    const error = new AppError('UNAVAILABLE', { retryAfterS: 1 }, { message: refusal })
    return refusalResponse(error, requestIdOf(c.req.header('x-request-id')))
  })
  return app
}
