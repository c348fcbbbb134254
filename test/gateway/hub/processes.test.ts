import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { API_PATHS } from '../../../src/gateway/apis.js'
import { noHaproxy, startHaproxy } from '../../support/haproxy.js'
import { type HubPlace, hubCall, hubCli, makeHub, noHub, startEngines } from '../../support/hub.js'
import { pairHeaders } from '../../support/start-gateway.js'
import { workerEntry } from '../../support/worker-entry.js'

const skip = noHub() || noHaproxy()

/** Starts a process of a hub that can be killed. @returns its address and its end */
async function spawnHub(t: { teardown(work: () => unknown): unknown }, place: HubPlace, name: string) {
  const argv = ['serve', '--json', '--port', '0', '--config', place.config]
  const child = spawn(process.execPath, [workerEntry(), ...argv, '--data-dir', path.join(place.dir, name)], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  t.teardown(kill)
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  return { url: (JSON.parse(line.toString()) as { url: string }).url, kill }
}

t.test('hub: two processes behind haproxy, one of which is killed', { skip }, async (t) => {
  const engines = await startEngines(t)
  const settings = {
    server: { trustedProxies: ['127.0.0.1'] },
    limits: { signInFailuresPerMinute: 4 },
  }
  const place = await makeHub(t, engines, { settings })
  const { stdout } = await hubCli(place, 'hub', 'init', '--json')
  const admin = pairHeaders(JSON.parse(stdout))
  const [one, two] = await Promise.all([spawnHub(t, place, 'one'), spawnHub(t, place, 'two')])
  const url = await startHaproxy(t, [one.url, two.url])
  const isUp = () =>
    fetch(`${url}/readyz`).then(
      ({ status }) => status === 200,
      () => false,
    )
  while (!(await isUp())) await delay(50)

  const opened = await hubCall({ url }, admin, API_PATHS.session, 'session.open_session')
  const token = { 'Svc-Session-Token': opened.body.result.access_token as string }
  for (let call = 0; call < 6; call++)
    t.equal((await hubCall({ url }, token, API_PATHS.session, 'session.list_sessions')).status, 200)

  const wrong = { ...admin, Secret: 'x'.repeat(43), 'X-Forwarded-For': '192.0.2.7' }
  const statuses: number[] = []
  for (let call = 0; call < 8; call++)
    statuses.push((await hubCall({ url }, wrong, API_PATHS.session, 'session.list_sessions')).status)
  t.same([statuses.slice(0, 4), statuses.at(-1)], [[401, 401, 401, 401], 429], 'the lock-out holds on both')
  t.equal((await hubCall({ url }, admin, API_PATHS.session, 'session.list_sessions')).status, 200)

  const profile = { name: 'field', profile: { up: [{ table: 'stops' }] } }
  t.match(await hubCall({ url }, admin, API_PATHS.fleet, 'fleet.set_profile', profile), { status: 200 })
  await one.kill()
  let refused = 0
  for (let call = 0; call < 20; call++) {
    const answer = await hubCall({ url }, token, API_PATHS.fleet, 'fleet.list_profiles').catch(
      () => undefined,
    )
    if (answer?.status !== 200) refused++
  }
  t.ok(refused <= 1, `${refused} calls of 20 were refused after a process was killed`)
  const again = await spawnHub(t, place, 'one')
  const listed = await hubCall(again, token, API_PATHS.fleet, 'fleet.list_profiles')
  t.equal(listed.status, 200, JSON.stringify(listed.body))
})
