import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { API_PATHS } from '../../../src/gateway/apis.js'
import { hubCall, hubCli, makeHub, noHub, serveHub, startEngines } from '../../support/hub.js'
import { pairHeaders } from '../../support/start-gateway.js'

t.test('fleet: gateways join a hub on engines, report and come back', { skip: noHub() }, async (t) => {
  const place = await makeHub(t, await startEngines(t))
  const { stdout } = await hubCli(place, 'hub', 'init', '--json')
  const admin = pairHeaders(JSON.parse(stdout))
  const hub = await serveHub(t, place, 'one')
  const fleet = async (method: string, params: object = {}) =>
    (await hubCall(hub, admin, API_PATHS.fleet, `fleet.${method}`, params)).body.result
  await fleet('set_profile', { name: 'field', profile: {} })
  const { text } = await fleet('create_token', { profile: 'field', uses: 20 })
  const token = path.join(place.dir, 'token')
  writeFileSync(token, `${text}\n`)
  const flags = {
    ...{ hub: hub.url, token, gateways: 20, 'events-per-second': 0, minutes: 0.1, json: 'yes' },
    ...{ 'batch-wait-s': 0.2, 'report-s': 1, 'retry-base-s': 0.1, 'retry-cap-s': 0.5, 'outage-s': 1 },
    ...{ 'trouble-percent': 100, 'restarts-per-minute': 240 },
  }
  const words = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)])
  const printed = await new Promise<string>((resolve) => {
    execFile(process.execPath, ['scripts/fleet/main.mjs', ...words], (_error, out, err) =>
      resolve(out === '' ? err : out),
    )
  })
  const summary = JSON.parse(printed)
  t.match(summary, { ok: true, joined: 20, rows: 0, faults: [] })
  t.ok(summary.reports >= 20 && summary.sessions > 0, printed)
  t.match(await fleet('count_gateways'), { total: 20, trouble: { not_ready: 20 } })
  t.equal((await fleet('list_positions')).length, 20)
})
