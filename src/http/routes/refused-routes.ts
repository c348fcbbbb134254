import type { Hono } from 'hono'
import type { AppError } from '../../errors.js'
import type { Scope } from '../../rpc/define-method.js'
import { admit, type CallDeps, refusingFaults } from '../calls.js'
import type { HttpEnv } from '../env.js'

/** Path that is known and not served. */
export interface RefusedRoute {
  /** as the router has it, such as `/tiles/*` */
  readonly path: string
  /** scope that a caller needs where the path is served */
  readonly scope: Scope
}

/**
 * Adds paths that this process knows and does not serve. Strangers and callers without the scope are refused as where
 * the path is served.
 *
 * @param refuse makes the error of a path
 */
export function addRefusedRoutes<C>(
  app: Hono<HttpEnv>,
  deps: CallDeps<C>,
  routes: readonly RefusedRoute[],
  refuse: (path: string) => AppError,
): void {
  for (const { path, scope } of routes)
    app.all(path, (c) => {
      c.set('countedAs', 'refused path')
      return refusingFaults(c, deps, path, async () => {
        await admit(c, deps, scope)
        throw refuse(path)
      })
    })
}
