import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { hashSecret } from '../../auth/secret.js'
import type { Config } from '../../config/config.js'
import { DEMO } from '../../demo/town.js'
import type { DataLayout } from '../../files/layout.js'
import { boxPolygon } from '../../geo/bbox.js'
import { openState } from '../../storage/sqlite/state.js'
import { FLOOD } from './demo.js'

/**
 * Sensitivities that make level 10 10,000 times as slow, so that it is used only where there is no other way.
 */
export const AVOID_FLOOD = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9999]
/** A time within the flood. */
const DURING_FLOOD = '2026-01-01 00:00:00Z'
/** Lifetime of the session of the files, s. */
const TOKEN_LIFE_S = 86_400

/** Files of a request to try, which `curl` and `demo route` send. */
export interface Sample {
  readonly headersFile: string
  readonly requestFile: string
  readonly url: string
}

/**
 * Writes a request for a route around the flood, and a session of an admin key that may send it, to files that this
 * user alone can read. Undefined when all admin keys are revoked.
 */
export async function writeSample(
  url: string,
  layout: DataLayout,
  config: Config,
  { apiKey }: { apiKey: string | null },
): Promise<Sample | undefined> {
  if (apiKey === null) return undefined
  const token = randomUUID()
  const state = await openState(layout.stateDb)
  try {
    await state.sessions.open({
      sessionId: randomUUID(),
      tokenHash: hashSecret(token),
      keyId: apiKey,
      lifeS: Math.min(TOKEN_LIFE_S, config.session.maxAgeS),
      notAfterUs: null,
    })
  } finally {
    await state.close()
  }
  const sample = sampleOf(layout, apiOf(url, config))
  mkdirSync(layout.demoDir, { recursive: true, mode: 0o700 })
  const write = (file: string, text: string) => writeFileSync(file, text, { mode: 0o600 })
  write(
    sample.headersFile,
    `${config.service.headerPrefix}-Session-Token: ${token}\nContent-Type: application/json\n`,
  )
  write(sample.requestFile, `${JSON.stringify(routeRequest({ [FLOOD]: AVOID_FLOOD }), null, 2)}\n`)
  write(urlFile(layout), sample.url)
  return sample
}

/** Finds the files that a running gateway has written; undefined when there are none. */
export function findSample(layout: DataLayout): Sample | undefined {
  return existsSync(urlFile(layout)) ? sampleOf(layout, readFileSync(urlFile(layout), 'utf8')) : undefined
}

function sampleOf({ demoDir }: DataLayout, url: string): Sample {
  return {
    url,
    headersFile: path.join(demoDir, 'headers'),
    requestFile: path.join(demoDir, 'route.json'),
  }
}

function urlFile({ demoDir }: DataLayout): string {
  return path.join(demoDir, 'url')
}

function apiOf(url: string, { service }: Config): string {
  return `${url}/api/v1/${service.apiName}api/jsonrpc`
}

/** Request for the route across the demo's town. @param themes sensitivities by theme */
export function routeRequest(themes: object): object {
  return rpc('routing.dijkstra', [
    {
      themes,
      start_lonlat: DEMO.start,
      goal_lonlat: DEMO.goal,
      start_datetime: DURING_FLOOD,
      map: DEMO.mapName,
    },
  ])
}

/**
 * Three curl commands: a route, the same route avoiding the flood, and the flood itself.
 *
 * @param flags flags of curl that authenticate
 */
export function demoLines(url: string, config: Config, flags: string): string {
  const api = apiOf(url, config)
  const flood = rpc('mapserv.riskmap', {
    type: 'Feature',
    geometry: boxPolygon(DEMO.bbox),
    properties: { start_datetime: DURING_FLOOD, themes: [FLOOD] },
  })
  return [
    '# fastest route over the river, through the flood',
    curl(api, flags, routeRequest({})),
    '# the same route, avoiding the flood',
    curl(api, flags, routeRequest({ [FLOOD]: AVOID_FLOOD })),
    '# cells of the flood',
    curl(api, flags, flood),
    '',
  ].join('\n')
}

function rpc(method: string, params: unknown): object {
  return { jsonrpc: '2.0', id: 1, method, params }
}

/** The arguments contain no single quotes. */
function curl(url: string, flags: string, body: object): string {
  return `curl -s ${flags} -H 'Content-Type: application/json' -d '${JSON.stringify(body)}' ${url}`
}
