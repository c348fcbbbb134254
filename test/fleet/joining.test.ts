import { cpSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { createMaintenance } from '../../src/storage/sqlite/maintenance/maintenance.js'
import { call, DEFINITION, put, register, rowsOf, startNode, sync, until } from '../support/feeds.js'
import {
  ENV,
  fleet,
  joined,
  makeToken,
  members,
  OFTEN,
  run,
  setProfile,
  stoppable,
  untilMember,
} from '../support/fleet.js'
import { FL, modelsOf, putModel } from '../support/models.js'
import { startCli } from '../support/run-cli.js'
import { startGateway, type TestGateway } from '../support/start-gateway.js'

/** A hub with a profile, and a gateway that has not joined. */
async function pair(
  t: Test,
  profile: object = {},
): Promise<{ hub: TestGateway; van: TestGateway; dir: string }> {
  const dir = t.testdir()
  const hub = await startNode(t, path.join(dir, 'hub'), OFTEN)
  const van = await startNode(t, path.join(dir, 'van'), OFTEN)
  await setProfile(hub, profile)
  return { hub, van, dir }
}

t.test('fleet: a gateway joins, its table goes up, a new version changes it, and it leaves', async (t) => {
  const { hub, van } = await pair(t, { up: [{ table: 'seen' }] })
  await joined(hub, van)
  const waiting = await untilMember(hub, ({ outcome }) => outcome === 'partly')
  t.match(waiting.report?.profile.items, [{ item: 'up seen', state: 'waiting', reason: /no table/ }])
  await register(van)
  await put(van, [{ k: 1 }, { k: 2 }])
  const member = await untilMember(hub, ({ outcome }) => outcome === 'applied')
  t.match(member, { name: 'van', state: 'member', applied: 1, report: { ready: true, position: null } })
  const rows = await until(
    () => rowsOf(hub).catch(() => []),
    (found) => found.length === 2,
  )
  t.same(new Set(rows.map(({ _origin }) => _origin)), new Set([member.node]))
  t.match(await run(hub, 'fleet', 'list'), { code: 0, stdout: /van: member, profile field, reported/ })
  t.match(await run(van, 'fleet', 'status'), {
    stdout: /member\nprofile field version 1\n {2}up seen: applied/,
  })

  await setProfile(hub, {
    up: [{ table: 'seen', priority: 9 }],
    position_table: 'seen',
    settings: { 'sync.maxBytesPerSecond': 1_000_000 },
  })
  await untilMember(hub, ({ applied }) => applied === 2)
  t.match(await sync(van, 'list_feeds'), [{ table: 'seen', upstream: 'hub', priority: 9 }])
  await put(van, [{ k: 2, lng: 135.5, lat: 34.7 }])
  await untilMember(hub, ({ report }) => String(report?.position) === '135.5,34.7')
  await setProfile(hub, {})
  await untilMember(hub, ({ applied }) => applied === 3)
  t.same(await sync(van, 'list_feeds'), [], 'what the profile no longer has is removed')

  t.match(await run(van, 'leave'), { code: 0, stdout: /its data stay/ })
  const acts = hub.logLines.filter(({ audit }) => audit === true).map(({ act }) => act)
  for (const act of ['set_profile', 'create_token', 'join', 'leave']) t.ok(acts.includes(`fleet.${act}`), act)
  t.notMatch(JSON.stringify(hub.logLines), /fgs_/, 'no secret')
  t.match((await members(hub))[0], { state: 'left' })
  t.same(await sync(van, 'list_upstreams'), [])
  t.equal((await rowsOf(van)).length, 2)
  t.match(await run(van, 'leave'), { code: 1, stderr: /no member of a fleet/ })
})

t.test('fleet: a table of the profile comes down, and no other is given to its gateway', async (t) => {
  const { hub, van } = await pair(t, { down: [{ table: 'seen', conds: { '>': ['k', 1] } }] })
  await register(hub)
  await register(hub, { ...DEFINITION, data_name: 'other' })
  await put(hub, [{ k: 1 }, { k: 2 }])
  await joined(hub, van)
  await untilMember(hub, ({ outcome }) => outcome === 'applied')
  const rows = await until(
    () => rowsOf(van).catch(() => []),
    (found) => found.length > 0,
  )
  t.same(
    rows.map(({ k }) => k),
    [2],
  )
  await sync(van, 'create_feed', { table: 'other', upstream: 'hub', direction: 'down', from: 'all' })
  const feeds = await until(
    () => sync<{ table: string; last_error: string | null }[]>(van, 'list_feeds'),
    (found) => found.some(({ last_error }) => last_error !== null),
  )
  t.match(feeds.find(({ table }) => table === 'other')?.last_error, /granted seen/)
})

t.test('fleet: models of a store of the profile go to the hub, and no more when it has gone', async (t) => {
  const { hub, van } = await pair(t, { model_stores: [{ store: 'rain' }] })
  await joined(hub, van)
  await untilMember(hub, ({ outcome }) => outcome === 'applied')
  await putModel(van, Buffer.from('a model'))
  const models = await until(
    () => modelsOf(hub),
    (found) => found.length === 1,
  )
  t.match(models, [{ model_state: 20, model_size: 7 }])
  const upstreams = () => call<{ alias: string }[]>(van, FL, 'fl.list_upstream_info')
  t.match(await upstreams(), [{ alias: 'hub' }])
  await setProfile(hub, {})
  await untilMember(hub, ({ applied }) => applied === 2)
  t.same(await upstreams(), [])
})

t.test('fleet: a gateway joins at its first start as the environment asks', async (t) => {
  const { hub, dir } = await pair(t)
  const serve = (join: string) =>
    startCli(dir, ['serve', '--port', '0', '--data-dir', path.join(dir, 'new')], {
      ...ENV,
      FIELDGATE_JOIN: join,
    })
  t.match(await serve(hub.url).ended, { code: 1, stderr: /FIELDGATE_JOIN: found no token/ })
  const running = serve(`${hub.url}#${await makeToken(hub)}`)
  await untilMember(hub, ({ outcome }) => outcome === 'applied')
  running.signal('SIGTERM')
  t.match(await running.ended, { code: 0 })
})

t.test('fleet: wrong, expired and used tokens are refused, and change nothing', async (t) => {
  const { hub, van, dir } = await pair(t)
  const other = await startNode(t, path.join(dir, 'other'), OFTEN)
  const token = await makeToken(hub)
  const [keyId = '', secret = ''] = token.split('.')
  const join = (node: TestGateway, text: string) => run(node, 'join', hub.url, '--token', text)
  t.match(await join(van, 'x'), { code: 1, stderr: /another text than a token/ })
  const wrong = `${keyId}.${secret.replace(/^fgs_./, (text) => (text === 'fgs_A' ? 'fgs_B' : 'fgs_A'))}`
  t.match(await join(van, wrong), { code: 1, stderr: /wrong, revoked or expired/ })
  await fleet(hub, 'revoke_token', { token: (await makeToken(hub)).split('.')[0] })
  t.match(await fleet(hub, 'list_tokens'), [{ state: 'revoked' }, { state: 'active', uses: 0 }])
  t.same(await members(hub), [])
  t.match(await join(van, token), { code: 0 })
  t.match(await join(van, token), { code: 0 }, 'a repeat is the same membership')
  t.equal((await members(hub)).length, 1)
  t.match(await join(other, token), { code: 1, stderr: /used 1 of 1 times/ })
  t.match(await fleet(hub, 'list_tokens'), [{}, { state: 'used_up', uses: 1 }])
  t.match(await run(other, 'fleet', 'status'), { stdout: /joining: The upstream answered 409/ })
})

t.test('fleet: a gateway joins and leaves by calls of its own API', async (t) => {
  const { hub, van } = await pair(t, { up: [{ table: 'seen' }] })
  await register(van)
  const token = await makeToken(hub)
  const join = { hub: hub.url, token, name: 'van' }
  const refused = { ...join, token: `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}` }
  await t.rejects(fleet(van, 'join_hub', refused), /wrong, revoked or expired.*UPSTREAM_REFUSED/)
  t.match(await fleet(van, 'join_hub', join), { state: 'member', name: 'van' })
  await untilMember(hub, ({ outcome }) => outcome === 'applied')
  const own = await until(
    () => fleet<{ wanted: number; last_contact: object }>(van, 'get_membership'),
    ({ wanted }) => wanted !== null,
  )
  t.match(own, { wanted: 1, profile: { name: 'field', version: 1 }, last_contact: { _type: 'datetime' } })
  const facts = createMaintenance().facts
  const nowUs = Date.now() * 1000
  const noted = await facts.fleet(van.dataDir, nowUs - 1e9, nowUs)
  t.match(noted.membership, { hubUrl: hub.url, state: 'member', wanted: 1, applied: 1, refusedItems: [] })
  t.ok((noted.membership?.contactUs ?? 0) > nowUs - 60e6)
  t.match(await facts.fleet(hub.dataDir, nowUs - 1e9, nowUs), {
    membership: null,
    gateways: { member: 1, silent: 0, trouble: 0 },
    tokens: { active: 0, usedUp: 1, expired: 0 },
  })
  const change = { name: 'field', profile: { relay: true } }
  t.match(await fleet(hub, 'check_profile', change), {
    version: 1,
    profile: { up: [] },
    changes: [{ item: 'up seen' }, { item: 'relay', before: false, after: true }],
  })
  t.match(await fleet(hub, 'get_profile', { name: 'field' }), { version: 1 }, 'nothing was stored')
  t.same(await fleet(van, 'leave_hub', {}), { hub: hub.url, told: true })
  t.match(await fleet(van, 'get_membership'), { state: 'left', profile: null })
  t.same(await sync(van, 'list_feeds'), [])
  t.match((await members(hub))[0], { state: 'left' })
  await t.rejects(fleet(van, 'leave_hub', {}), /NOT_JOINED/)
})

t.test('fleet: a gateway leaves a hub that does not answer when it is told to', async (t) => {
  const dir = t.testdir()
  const settings = { sync: { allowLoopback: true, allowInsecure: ['127.0.0.1'] }, ...OFTEN }
  const hub = await stoppable(t, { dataDir: path.join(dir, 'hub'), settings })
  const van = await startNode(t, path.join(dir, 'van'), OFTEN)
  await setProfile(hub.node, {})
  await joined(hub.node, van)
  await untilMember(hub.node, ({ outcome }) => outcome === 'applied')
  await hub.stop()
  await t.rejects(fleet(van, 'leave_hub', {}), /UPSTREAM_UNREACHABLE/)
  t.match(await fleet(van, 'get_membership'), { state: 'member' })
  t.same(await fleet(van, 'leave_hub', { force: true }), { hub: hub.node.url, told: false })
  t.match(await fleet(van, 'get_membership'), { state: 'left' })
})

t.test('fleet: a member of one hub joins another only after it left', async (t) => {
  const { hub, van, dir } = await pair(t)
  const second = await startNode(t, path.join(dir, 'second'), OFTEN)
  await setProfile(second, {})
  await joined(hub, van)
  const token = await makeToken(second)
  t.match(await run(van, 'join', second.url, '--token', token), {
    code: 1,
    stderr: /a member of .*fieldgate leave/,
  })
  const other = { hub: second.url, token, name: 'van' }
  await t.rejects(fleet(van, 'join_hub', other), /a member of .*ALREADY_JOINED/)
  t.same(await members(second), [])
  await run(van, 'leave')
  t.match(await run(van, 'join', second.url, '--token', token), { code: 0 })
  t.equal((await members(second)).length, 1)
})

t.test('fleet: an upstream that an operator named hub is kept', async (t) => {
  const { hub, van } = await pair(t)
  await sync(van, 'create_upstream', { name: 'hub', endpoint: hub.url, apikey: 'k', secret: 's' })
  const token = await makeToken(hub)
  t.match(await run(van, 'join', hub.url, '--token', token), { code: 1, stderr: /sync upstream remove hub/ })
  await t.rejects(fleet(van, 'join_hub', { hub: hub.url, token, name: 'van' }), /UPSTREAM_EXISTS/)
  t.same(await members(hub), [])
})

t.test(
  'fleet: a revoked gateway is refused, keeps its data, and joins again when it is forgotten',
  async (t) => {
    const { hub, van } = await pair(t, { up: [{ table: 'seen' }] })
    await register(van)
    await put(van, [{ k: 1 }])
    const token = await joined(hub, van)
    const { node } = await untilMember(hub, ({ outcome }) => outcome === 'applied')
    await until(
      () => rowsOf(hub).catch(() => []),
      (found) => found.length === 1,
    )
    t.match(await run(hub, 'fleet', 'forget', 'van'), { code: 1, stderr: /is a member/ })
    t.match(await run(hub, 'fleet', 'revoke', 'van'), { code: 0 })
    await put(van, [{ k: 2 }])
    const refused = await until(
      () => fleet<{ state: string; reason: string }>(van, 'get_membership'),
      ({ state }) => state === 'refused',
    )
    t.match(refused.reason, /revoked, or the hub was restored/)
    t.equal((await rowsOf(hub)).length, 1, 'nothing more came')
    t.equal((await rowsOf(van)).length, 2)
    t.match(await run(van, 'join', hub.url, '--token', token), { code: 1, stderr: /fleet forget/ })
    t.match(await run(hub, 'fleet', 'forget', node), { code: 0 })
    const again = await makeToken(hub)
    t.match(await run(van, 'join', hub.url, '--token', again, '--name', 'van'), { code: 0 })
    await untilMember(hub, ({ outcome }) => outcome === 'applied')
    await until(
      () => rowsOf(hub),
      (found) => found.length === 2,
    )
  },
)

t.test('fleet: a hub that was restored from an older backup takes the gateway in again', async (t) => {
  const dir = t.testdir()
  const settings = { sync: { allowLoopback: true, allowInsecure: ['127.0.0.1'] }, ...OFTEN }
  const first = await stoppable(t, { dataDir: path.join(dir, 'hub'), settings })
  await setProfile(first.node, {})
  const token = await makeToken(first.node)
  await first.stop()
  cpSync(path.join(dir, 'hub'), path.join(dir, 'backup'), { recursive: true })
  const port = Number(new URL(first.node.url).port)
  const withPort = { ...settings, server: { port } }
  const second = await stoppable(t, { dataDir: path.join(dir, 'hub'), settings: withPort })
  const van = await startNode(t, path.join(dir, 'van'), OFTEN)
  await run(van, 'join', first.node.url, '--token', token)
  await untilMember(second.node, ({ outcome }) => outcome === 'applied')
  await second.stop()
  const restored = await startGateway(t, { dataDir: path.join(dir, 'backup'), settings: withPort })
  await until(
    () => fleet<{ state: string }>(van, 'get_membership'),
    ({ state }) => state === 'refused',
  )
  t.match(
    await run(van, 'join', first.node.url, '--token', token),
    { code: 0 },
    'the token was not used there',
  )
  await untilMember(restored, ({ outcome }) => outcome === 'applied')
  t.match(await fleet(van, 'get_membership'), { state: 'member', reason: null })
})

t.test('fleet: profiles on the command line', async (t) => {
  const dir = t.testdir()
  const hub = await startNode(t, path.join(dir, 'hub'), OFTEN)
  const file = (profile: object) => {
    writeFileSync(path.join(dir, 'p.json'), JSON.stringify(profile))
    return path.join(dir, 'p.json')
  }
  t.match(await run(hub, 'fleet', 'token', '--profile', 'field'), {
    code: 1,
    stderr: /no profile has the name field/,
  })
  t.match(await run(hub, 'fleet', 'profile', 'set', 'field', file({ upp: [] })), { code: 1, stderr: /upp/ })
  t.match(await run(hub, 'fleet', 'profile', 'set', 'field', file({ up: [{ table: 'a' }] })), {
    code: 0,
    stdout: /^field version 1\n(?:.*\n)*\+ up a /,
  })
  t.match(await run(hub, 'fleet', 'profile', 'set', 'field', file({ up: [{ table: 'b' }] })), {
    stdout: /^field version 2\n- up a .*\n\+ up b/,
  })
  t.match(await run(hub, 'fleet', 'profile', 'set', 'field', file({ up: [{ table: 'b' }] })), {
    stdout: /^field version 2: nothing changed\n$/,
  })
  t.match(await run(hub, 'fleet', 'profile', 'diff', 'field'), { stdout: /^- up a .*\n\+ up b .*\n$/ })
  t.match(JSON.parse((await run(hub, 'fleet', 'profile', 'show', 'field', '--at', '1')).stdout), {
    up: [{ table: 'a', priority: 5 }],
  })
  t.match(await run(hub, 'fleet', 'profile', 'show', 'field', '--at', '9'), {
    code: 1,
    stderr: /no version 9/,
  })
  t.match(await run(hub, 'fleet', 'profile', 'list'), { stdout: 'field  version 2, on 0 of 0 gateways\n' })
  const token = await run(hub, 'fleet', 'token', '--profile', 'field', '--uses', '50', '--expires', '7d')
  t.match(token.stdout, /^[0-9a-f-]{36}\.fgs_\S+\nIt is not shown again. 50 gateways/)
})
