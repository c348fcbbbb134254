import type { Hono } from 'hono'
import { readAsset } from '../assets.js'
import type { Config } from '../config.js'
import type { ConsoleFacts } from '../console/core/facts.js'
import { addConsoleRoutes } from '../http/console-routes.js'
import type { HttpEnv } from '../http/env.js'

/** Adds the routes of the web page: its files, and the settings of this gateway that it needs before sign-in. */
export function addConsolePage(
  app: Hono<HttpEnv>,
  { service, riskmap, routing }: Config,
  version: string,
): void {
  const facts: ConsoleFacts = {
    version,
    tokenHeader: `${service.headerPrefix}-Session-Token`,
    routeKey: service.routeKey,
    timeZone: service.timeZone,
    levelColumn: riskmap.levelColumn,
    themes: riskmap.themes,
    maxVia: routing.maxVia,
    maxAlternatives: routing.maxAlternatives,
  }
  addConsoleRoutes(app, { facts, readFile: (name) => readAsset(`console/${name}`) })
}
