import t from 'tap'
import { loadConfig, type Settings } from '../../src/config/config.js'

/** Least settings of a hub. */
const HUB: Settings = {
  database: { hosts: ['db1.example', '[::1]:6432'], name: 'fieldgate', user: 'fieldgate' },
  bytes: {
    ...{ endpoint: 'https://objects.example', bucket: 'field' },
    ...{ accessKeyFile: 'access', secretKeyFile: 'secret' },
  },
}

const faultsOf = (flags: Settings, env: Record<string, string> = {}) => {
  const loaded = loadConfig(null, env, flags)
  return 'faults' in loaded ? loaded.faults.map(({ path, message }) => `${path}: ${message}`) : []
}

t.test('config: the role hub with the settings that it needs has no fault', async (t) => {
  const loaded = loadConfig(null, {}, { role: 'hub', hub: HUB })
  if ('faults' in loaded) throw new Error(JSON.stringify(loaded.faults))
  const { hub, role } = loaded.config
  t.equal(role, 'hub')
  t.match(hub, {
    database: { schema: 'fieldgate', tls: 'verify', connections: 10 },
    bytes: { prefix: 'fieldgate/', pathStyle: true },
    requireSync: false,
  })
})

t.test('config: the role hub by the environment alone', async (t) => {
  const env = {
    FIELDGATE_ROLE: 'hub',
    FIELDGATE_HUB__DATABASE__HOSTS: '["db1.example:5432"]',
    FIELDGATE_HUB__DATABASE__NAME: 'fieldgate',
    FIELDGATE_HUB__DATABASE__USER: 'fieldgate',
    FIELDGATE_HUB__BYTES__ENDPOINT: 'http://127.0.0.1:9000',
    FIELDGATE_HUB__BYTES__BUCKET: 'field',
    FIELDGATE_HUB__BYTES__ACCESS_KEY_FILE: 'access',
    FIELDGATE_HUB__BYTES__SECRET_KEY_FILE: 'secret',
  }
  t.same(faultsOf({}, env), [])
})

t.test('config: every setting that the role hub lacks is named at once', async (t) => {
  t.same(
    faultsOf({ role: 'hub' }).map((line) => line.split(':')[0]),
    [
      ...['hub.database.hosts', 'hub.database.name', 'hub.database.user', 'hub.bytes.endpoint'],
      ...['hub.bytes.bucket', 'hub.bytes.accessKeyFile', 'hub.bytes.secretKeyFile'],
    ],
  )
})

t.test('config: settings of a hub need the role, each is named', async (t) => {
  t.same(faultsOf({ hub: { requireSync: true, database: { hosts: ['db1'] } } }), [
    'hub.requireSync: found the role gateway, expected hub in the setting role (a flag)',
    'hub.database.hosts: found the role gateway, expected hub in the setting role (a flag)',
  ])
})

t.test('config: settings of parts that a hub does not have are refused by name', async (t) => {
  const found = faultsOf({
    role: 'hub',
    hub: HUB,
    dataproc: { maxConcurrent: 1 },
    ingest: { mqtt: { brokers: [] } },
    backup: { dir: 'copies' },
    retention: { minFreeBytes: 1, giveFirst: ['rain'], modelsKept: 3 },
  })
  t.match(
    found.filter((line) => line.includes('no setting of the role hub')),
    [
      /^dataproc\.maxConcurrent: .*runs no modules/,
      /^ingest\.mqtt\.brokers: /,
      /^backup\.dir: .*docs\/hub\.md/,
      /^retention\.minFreeBytes: .*give its tables a rule/,
      /^retention\.giveFirst: .*give its tables a rule/,
    ],
  )
})

t.test('config: settings of routes, tiles and risk maps are those of a hub, too', async (t) => {
  const settings = {
    routing: { maps: ['/srv/maps/town.graph'], maxVia: 5, maxMapBytes: 1e9, timeLimitMs: 5000 },
    ...{ tiles: { cacheBytes: 1e6 }, riskmap: { levelColumn: 'danger', themes: { flood: 'levels' } } },
  }
  t.same(faultsOf({ role: 'hub', hub: HUB, ...settings }), [])
})

t.test(
  'config: a password is given once, and values that cannot be used say what was expected',
  async (t) => {
    const database = { ...(HUB.database as Settings), password: 'x', passwordFile: 'file' }
    t.match(faultsOf({ role: 'hub', hub: { ...HUB, database } }), [/hub\.database\.password: found beside/])
    for (const [bad, expected] of [
      [{ database: { hosts: ['a b'] } }, /hub\.database\.hosts\.0: .*db1\.example:5432/],
      [{ database: { hosts: ['db:70000'] } }, /hub\.database\.hosts\.0: /],
      [{ database: { schema: 'Field Gate' } }, /hub\.database\.schema: .*lower case/],
      [{ bytes: { prefix: 'no-slash' } }, /hub\.bytes\.prefix: .*slash at the end/],
      [{ bytes: { endpoint: 'ftp://x' } }, /hub\.bytes\.endpoint: /],
      [{ database: { connections: 2 } }, /hub\.database\.connections: /],
    ] as const)
      t.match(faultsOf({ role: 'hub', hub: bad as unknown as Settings })[0], expected)
  },
)
