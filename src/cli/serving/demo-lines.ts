import { randomUUID } from 'node:crypto'
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
const AVOID_FLOOD = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9999]
/** A time within the flood. */
const DURING_FLOOD = '2026-01-01 00:00:00Z'
/**
 * Lifetime of the token in the printed commands, for starts after the first, when the secret is no longer
 * known.
 */
const TOKEN_LIFE_S = 86_400

/**
 * Flags of curl that authenticate the printed commands: the key and its secret at the first start, later a
 * session of the same key. Undefined when all admin keys are revoked.
 */
export async function demoFlags(
  layout: DataLayout,
  config: Config,
  { apiKey, secret }: { apiKey: string | null; secret: string | null },
): Promise<string | undefined> {
  if (apiKey === null) return undefined
  if (secret !== null) return `-H 'APIKey: ${apiKey}' -H 'Secret: ${secret}'`
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
  return `-H '${config.service.headerPrefix}-Session-Token: ${token}'`
}

/**
 * Three curl commands: a route, the same route avoiding the flood, and the flood itself.
 *
 * @param flags flags of curl that authenticate
 */
export function demoLines(url: string, { service }: Config, flags: string): string {
  const api = `${url}/api/v1/${service.apiName}api/jsonrpc`
  const route = (themes: object) =>
    rpc('routing.dijkstra', [
      {
        themes,
        start_lonlat: DEMO.start,
        goal_lonlat: DEMO.goal,
        start_datetime: DURING_FLOOD,
        map: DEMO.mapName,
      },
    ])
  const flood = rpc('mapserv.riskmap', {
    type: 'Feature',
    geometry: boxPolygon(DEMO.bbox),
    properties: { start_datetime: DURING_FLOOD, themes: [FLOOD] },
  })
  return [
    '# fastest route over the river, through the flood',
    curl(api, flags, route({})),
    '# the same route, avoiding the flood',
    curl(api, flags, route({ [FLOOD]: AVOID_FLOOD })),
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
