import path from 'node:path'
import t from 'tap'
import { startNode } from '../../support/feeds.js'
import { fleet, setProfile } from '../../support/fleet.js'
import { addGateways } from '../../support/many-gateways.js'
import { pairHeaders, type TestGateway } from '../../support/start-gateway.js'

interface Listed {
  name: string
  trouble: string
  state: string
  applied: number | null
}

const namesOf = (listed: readonly Listed[]) => listed.map(({ name, trouble }) => `${name} ${trouble}`)

/** Names of all series of `/metrics`, with their labels. */
async function seriesOf(hub: TestGateway): Promise<string[]> {
  const response = await fetch(`${hub.url}/metrics`, { headers: pairHeaders(hub.admin) })
  const lines = (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return lines.map((line) => line.slice(0, line.lastIndexOf(' '))).filter((name) => /fleet/.test(name))
}

t.test('hub: many gateways are listed by pages, counted, and placed', async (t) => {
  const hub = await startNode(t, path.join(t.testdir(), 'hub'))
  const none = { total: 0, trouble: { revoked: 0, none: 0, left: 0 } }
  await setProfile(hub, { up: [{ table: 'seen' }] })
  t.match(await fleet(hub, 'count_gateways'), none)
  t.same(await fleet(hub, 'list_positions'), [])
  const before = await seriesOf(hub)
  addGateways(hub, 300)
  t.same(await seriesOf(hub), before, 'metrics have no series of a gateway')
  t.ok(before.length > 0)

  const list = (params: object) => fleet<Listed[]>(hub, 'list_gateways', params)
  t.equal((await list({})).length, 300, 'all by default')
  t.same(namesOf(await list({ limit: 2, offset: 298 })), ['gw-00298 silent', 'gw-00299 revoked'], 'by name')
  t.same(namesOf(await list({ order: 'trouble', limit: 4, offset: 2 })), [
    'gw-00299 revoked',
    'gw-00097 silent',
    'gw-00098 silent',
    'gw-00197 silent',
  ])
  const [ready] = await list({ name: 'GW-00096' })
  t.match(ready, { name: 'gw-00096', trouble: 'not_ready', state: 'member', applied: 1 })
  t.equal((await list({ trouble: ['behind'], profile: 'field' })).length, 15)
  t.same(await list({ profile: 'other' }), [])

  await setProfile(hub, { up: [{ table: 'seen', priority: 9 }] })
  const counts = {
    revoked: 3,
    silent: 6,
    not_ready: 3,
    put_back: 0,
    behind: 15,
    outdated: 273,
    none: 0,
    left: 0,
  }
  t.match(await fleet(hub, 'count_gateways'), { total: 300, trouble: counts })
  t.match(await fleet(hub, 'count_gateways', { name: 'gw-0009' }), { total: 10, trouble: { outdated: 1 } })
  const places = await fleet<object[]>(hub, 'list_positions', { trouble: ['not_ready', 'revoked'] })
  t.equal(places.length, 6)
  t.match(places[0], { name: 'gw-00099', trouble: 'revoked', position: [Number, Number] })
})
