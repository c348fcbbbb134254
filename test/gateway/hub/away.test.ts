import { renameSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { layoutOf } from '../../../src/files/layout.js'
import { API_PATHS } from '../../../src/gateway/apis.js'
import { REFUSED_ROUTES } from '../../../src/gateway/hub/routes.js'
import { hubCall, hubCli, makeHub, noHub, serveHub, startEngines } from '../../support/hub.js'
import { pairHeaders } from '../../support/start-gateway.js'

const skip = noHub()

/** Waits until a status comes. @returns the body of that answer */
async function untilStatus(url: string, status: number): Promise<string> {
  for (;;) {
    const response = await fetch(url)
    const text = await response.text()
    if (response.status === status) return text
    await delay(100)
  }
}

t.test('hub: starts without its database, answers 503, and serves once it is back', { skip }, async (t) => {
  const engines = await startEngines(t)
  const { postgres } = engines
  const place = await makeHub(t, engines)
  const { stdout } = await hubCli(place, 'hub', 'init', '--json')
  const admin = pairHeaders(JSON.parse(stdout))
  await postgres.kill()
  const hub = await serveHub(t, place, 'one')
  t.match(await untilStatus(`${hub.url}/readyz`, 503), /cannot be reached/)
  t.equal((await fetch(`${hub.url}/healthz`)).status, 200)
  const refused = await hubCall(hub, admin, API_PATHS.session, 'session.list_sessions')
  t.match(refused, { status: 503, body: { error: { data: { name: 'UNAVAILABLE' } } } })
  await postgres.start()
  t.match(await untilStatus(`${hub.url}/readyz`, 200), /"database"/)
  t.equal((await hubCall(hub, admin, API_PATHS.session, 'session.list_sessions')).status, 200)

  for (const route of REFUSED_ROUTES) {
    const at = `${hub.url}${route.path.replace('*', 'x').replaceAll(/:\w+/g, 'x')}`
    t.equal((await fetch(at)).status, 401, `${route.path} without a key`)
    const body = await (await fetch(at, { headers: admin })).text()
    t.match(body, /NOT_ON_HUB/, route.path)
  }

  await postgres.kill()
  t.match(await untilStatus(`${hub.url}/readyz`, 503), /database/)
  const away = await hubCall(hub, admin, API_PATHS.session, 'session.list_sessions')
  t.match(away, { status: 503, body: { error: { data: { name: 'DATABASE_UNAVAILABLE' } } } })
  t.ok(Number(away.headers.get('retry-after')) > 0)
  await postgres.start()
  await untilStatus(`${hub.url}/readyz`, 200)

  // the files of the process, whose rows are elsewhere
  const { tempDir } = layoutOf(path.join(place.dir, 'one'))
  renameSync(tempDir, `${tempDir}.away`)
  t.match(await untilStatus(`${hub.url}/readyz`, 503), /"disk","isReady":false,"reason":"the disk cannot be/)
  t.equal((await hubCall(hub, admin, API_PATHS.session, 'session.list_sessions')).status, 200, 'rows go on')
  renameSync(`${tempDir}.away`, tempDir)
  await untilStatus(`${hub.url}/readyz`, 200)
})
