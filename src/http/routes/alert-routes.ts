import type { Hono } from 'hono'
import { AppError } from '../../errors.js'
import { refusalResponse } from '../answer.js'
import type { HttpEnv } from '../env.js'

/** Adds the paths of the alert API, which the edge variant does not have: they answer 501. */
export function addAlertRoutes(app: Hono<HttpEnv>): void {
  for (const path of ['/api/v1/alertapi', '/api/v1/alertapi/*'])
    app.all(path, (c) => refusalResponse(new AppError('ALERT_UNAVAILABLE'), c.get('requestId')))
}
