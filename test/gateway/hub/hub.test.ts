import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { API_PATHS } from '../../../src/gateway/apis.js'
import { type Engines, hubCall, hubCli, makeHub, noHub, serveHub, startEngines } from '../../support/hub.js'
import { pairHeaders } from '../../support/start-gateway.js'

const skip = noHub()
let engines: Engines

t.before(async () => {
  if (skip === false) engines = await startEngines(t)
})

/** Prepares a hub. @returns its admin key */
async function init(place: Parameters<typeof hubCli>[0]) {
  const { code, stdout, stderr } = await hubCli(place, 'hub', 'init', '--json')
  if (code !== 0) throw new Error(stderr)
  return JSON.parse(stdout) as { nodeId: string; apiKey: string; secret: string | null; migrations: string[] }
}

t.test(
  'hub: serve before hub init says what to run, and leaves nothing that hinders it',
  { skip },
  async (t) => {
    const place = await makeHub(t, engines)
    const early = await hubCli(place, 'serve', '--port', '0')
    t.equal(early.code, 1)
    t.match(early.stderr, /run `fieldgate hub init` with these settings/)
    const first = await init(place)
    t.type(first.secret, 'string')
    t.ok(first.migrations.length > 3)
    const again = await init(place)
    t.match(again, { nodeId: first.nodeId, apiKey: first.apiKey, secret: null, migrations: [] })
    const hub = await serveHub(t, place, 'verbs')
    t.equal((await fetch(`${hub.url}/readyz`)).status, 200)
    t.equal((await hub.stop()).code, 0)
  },
)

t.test('hub: two processes share keys, sessions, tokens, profiles and files', { skip }, async (t) => {
  const place = await makeHub(t, engines)
  const { apiKey, secret } = await init(place)
  const admin = pairHeaders({ apiKey, secret: secret ?? '' })
  const [one, two] = [await serveHub(t, place, 'one'), await serveHub(t, place, 'two')]

  const opened = await hubCall(one, admin, API_PATHS.session, 'session.open_session')
  const token = { 'Svc-Session-Token': opened.body.result.access_token as string }
  const verified = await hubCall(two, token, API_PATHS.session, 'session.verify_session_token')
  t.equal(verified.status, 200, 'a session of one process holds at the other')
  const closed = { token: opened.body.result.access_token as string }
  await hubCall(two, token, API_PATHS.session, 'session.close_session', closed)
  t.equal((await hubCall(one, token, API_PATHS.session, 'session.list_sessions')).status, 401)

  writeFileSync(path.join(place.dir, 'town.graph'), 'bytes of a map')
  const added = await hubCli(place, 'fleet', 'file', 'add', 'town.graph', '--json')
  t.equal(added.code, 0, added.stderr)
  const { sha256 } = JSON.parse(added.stdout) as { sha256: string }
  const file = await fetch(`${two.url}/api/v2/fleet/files/${sha256}`, { headers: admin })
  t.equal(await file.text(), 'bytes of a map')
  const profile = { maps: { town: sha256 }, up: [{ table: 'stops' }] }
  const stored = await hubCall(one, admin, API_PATHS.fleet, 'fleet.set_profile', { name: 'field', profile })
  t.equal(stored.body.result?.version, 1, JSON.stringify(stored.body))
  const listed = await hubCall(two, admin, API_PATHS.fleet, 'fleet.list_profiles')
  t.match(listed.body.result, [{ name: 'field', version: 1 }])
  const made = await hubCli(place, 'fleet', 'token', '--profile', 'field', '--json')
  t.equal(made.code, 0, made.stderr)
  t.match(await hubCall(two, admin, API_PATHS.fleet, 'fleet.list_tokens'), {
    body: { result: [{ profile: 'field', max_uses: 1 }] },
  })
  t.match(await hubCall(one, admin, API_PATHS.fleet, 'fleet.get_membership'), { body: { result: null } })

  const key = JSON.parse(
    (await hubCli(place, 'key', 'create', '--name', 'x', '--scope', 'map:read', '--json')).stdout,
  )
  t.equal((await fetch(`${one.url}/metrics`, { headers: pairHeaders(key) })).status, 200)
  t.equal((await hubCli(place, 'key', 'revoke', 'x')).code, 0)
  t.equal((await fetch(`${one.url}/metrics`, { headers: pairHeaders(key) })).status, 401)
})

t.test('hub: a bucket or a schema of another hub is refused, and nothing is changed', { skip }, async (t) => {
  const [mine, other] = [await makeHub(t, engines), await makeHub(t, engines)]
  const { nodeId } = await init(mine)
  await init(other)
  const stolenBucket = await makeHub(t, engines, { bucket: other.bucket })
  t.match(await hubCli(stolenBucket, 'hub', 'init'), {
    code: 1,
    stderr: /belongs to the hub [-0-9a-f]+, the database to no hub yet/,
  })
  const left = await engines.postgres.admin(
    `SELECT 1 FROM pg_namespace WHERE nspname = 'fieldgate'`,
    stolenBucket.database,
  )
  t.same(left, [], 'no schema was made')
  const swapped = await makeHub(t, engines, { bucket: other.bucket, database: mine.database })
  t.match((await hubCli(swapped, 'hub', 'init')).stderr, /the database belongs to the bucket/)
  const emptied = await makeHub(t, engines, { database: mine.database })
  t.match((await hubCli(emptied, 'hub', 'init')).stderr, /the database belongs to the bucket/)
  t.match((await hubCli(emptied, 'serve', '--port', '0')).stderr, /secret\.key|belongs to the bucket/)
  t.equal((await init(mine)).nodeId, nodeId)
})

t.test(
  'hub: a process without the key file of the hub, or with another one, does not start',
  { skip },
  async (t) => {
    const place = await makeHub(t, engines)
    await init(place)
    const alone = await makeHub(t, engines, { bucket: place.bucket, database: place.database })
    t.match(await hubCli(alone, 'serve', '--port', '0'), {
      code: 1,
      stderr: /key file .* is missing: copy that of/,
    })
    t.match(await hubCli(alone, 'hub', 'init'), { code: 1, stderr: /key file .* is missing: copy that of/ })
    const foreign = await makeHub(t, engines)
    await init(foreign)
    const settings = { encryption: { keyFile: path.join(foreign.dir, 'secret.key') } }
    const other = await makeHub(t, engines, { bucket: place.bucket, database: place.database, settings })
    t.match((await hubCli(other, 'serve', '--port', '0')).stderr, /all processes of a hub need the same file/)
  },
)

t.test(
  'hub: verbs of a gateway are refused by name, and those of a hub without the role',
  { skip },
  async (t) => {
    const place = await makeHub(t, engines)
    for (const [verb, expected] of [
      [['init'], /`fieldgate init` does not work with the role hub: run `fieldgate hub init`/],
      [['doctor'], /run `fieldgate hub doctor`/],
      [['backup', 'to'], /`fieldgate backup` does not work with the role hub, it is for gateways/],
      [['fleet', 'status'], /`fieldgate fleet status` does not work/],
      [['serve', '--demo'], /--demo is for gateways/],
    ] as const)
      t.match((await hubCli(place, ...verb)).stderr, expected)
    const none = { ...place, config: path.join(place.dir, 'gateway.json') }
    writeFileSync(none.config, '{}')
    t.match((await hubCli(none, 'hub', 'init')).stderr, /needs the role hub, found the role gateway/)
  },
)
