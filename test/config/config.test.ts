import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import {
  configJsonSchema,
  describeSettings,
  type LoadedConfig,
  loadConfig,
  type Settings,
} from '../../src/config/config.js'

function load(file: string | null, env: Record<string, string> = {}, flags: Settings = {}): LoadedConfig {
  const loaded = loadConfig(file, env, flags)
  if ('faults' in loaded) throw new Error(JSON.stringify(loaded.faults))
  return loaded
}

function faultsOf(file: string | null, env: Record<string, string> = {}, flags: Settings = {}) {
  const loaded = loadConfig(file, env, flags)
  return 'faults' in loaded ? loaded.faults : []
}

/** A settings file of a test. */
function fileWith(t: { testdir(): string }, settings: unknown): string {
  const file = path.join(t.testdir(), 'edge.config.json')
  writeFileSync(file, typeof settings === 'string' ? settings : JSON.stringify(settings))
  return file
}

t.test('config: nothing given is all defaults, and every one of them has an origin', async (t) => {
  const { config, origins, file } = load(null)
  t.equal(file, null)
  t.match(config, {
    service: { headerPrefix: 'Svc', apiName: 'svc', routeKey: 'geojson', timeZone: '+09:00' },
  })
  t.match(config, {
    server: { host: '127.0.0.1', port: 8080 },
    limits: { batch: 100 },
    session: { maxAgeS: Number },
  })
  t.same([...new Set(Object.values(origins))], ['default'])
})

t.test('config: flags win over the environment, that over the file, that over defaults', async (t) => {
  const file = fileWith(t, { server: { host: '0.0.0.0', port: 1001 }, limits: { batch: 7 } })
  const env = { FIELDGATE_SERVER__PORT: '1002', FIELDGATE_LIMITS__BODY_BYTES: '2048' }
  const { config, origins } = load(file, env, { server: { port: 1003, host: undefined } })
  t.match(config, { server: { host: '0.0.0.0', port: 1003 }, limits: { batch: 7, bodyBytes: 2048 } })
  t.match(origins, {
    'server.host': 'file',
    'server.port': 'flag',
    'limits.batch': 'file',
    'limits.bodyBytes': 'environment',
    'limits.jsonDepth': 'default',
  })
})

t.test('config: a fault says what was found, and where that came from', async (t) => {
  const file = fileWith(t, {
    limits: { batch: 0 },
    sync: { windows: ['25:00-26:00'] },
    log: { level: 'info' },
  })
  const env = { FIELDGATE_LOG__LEVEL: 'loud', FIELDGATE_SERVER__PORT: 'http' }
  t.match(faultsOf(file, env, { server: { host: '' } }), [
    { path: 'server.host', message: /found 0 characters, expected at least 1 \(a flag\)$/ },
    {
      path: 'server.port',
      message:
        /found "http", expected a whole number from 0 to 65535 \(from the environment, FIELDGATE_SERVER__PORT\)$/,
    },
    {
      path: 'log.level',
      message: /found "loud", expected one of .* \(from the environment, FIELDGATE_LOG__LEVEL\)$/,
    },
    {
      path: 'limits.batch',
      message: /found 0, expected a whole number from 1 to 10000 \(edge\.config\.json, line 1\)$/,
    },
    {
      path: 'sync.windows.0',
      message: /found "25:00-26:00", expected HH:MM-HH:MM \(edge\.config\.json, line 1\)$/,
    },
  ])
})

t.test('config: the environment is matched without regard to case and single underscores', async (t) => {
  for (const name of [
    'FIELDGATE_LIMITS__BODYBYTES',
    'FIELDGATE_LIMITS__BODY_BYTES',
    'FIELDGATE_limits__bodyBytes',
  ]) {
    t.equal(load(null, { [name]: '4096' }).config.limits.bodyBytes, 4096, name)
  }
  t.equal(load(null, { FIELDGATE_DATA_DIR: '/srv/x' }).config.dataDir, '/srv/x')
})

t.test(
  'config: the environment carries numbers, lists, records and text that looks like a number',
  async (t) => {
    const { config } = load(null, {
      FIELDGATE_ROUTING__MAX_SNAP_M: '12.5',
      FIELDGATE_SERVER__OPEN_TO: '["/metrics"]',
      FIELDGATE_RISKMAP__THEMES: '{"flood":"flood_2025"}',
      FIELDGATE_DATA_DIR: '2025',
      FIELDGATE_LOG__LEVEL: 'warn',
      FIELDGATE_SERVER__HOST: '::1',
    })
    t.match(config, {
      routing: { maxSnapM: 12.5 },
      server: { openTo: ['/metrics'], host: '::1' },
      riskmap: { themes: { flood: 'flood_2025' } },
      dataDir: '2025',
      log: { level: 'warn' },
    })
  },
)

t.test('config: environment names of other programs and reserved ones are passed over', async (t) => {
  const env = {
    HOME: '/root',
    FIELDGATE_CONFIG: 'x.json',
    FIELDGATE_SQLITE_ADDON: 'y.node',
    fieldgate_x: '1',
  }
  t.same(faultsOf(null, env), [])
})

t.test('config: an unknown environment name is a fault that names it', async (t) => {
  t.match(faultsOf(null, { FIELDGATE_SERVER__PROT: '1', FIELDGATE_NOPE: '2' }), [
    { path: 'FIELDGATE_SERVER__PROT', message: /not a setting/ },
    { path: 'FIELDGATE_NOPE', message: /not a setting/ },
  ])
})

t.test('config: all faults are told at once, each with its path', async (t) => {
  const file = fileWith(t, {
    server: { port: 70_000, host: '', colour: 'red' },
    limits: { batch: 0, bodyBytes: '4 MB' },
    service: { timeZone: 'JST', headerPrefix: 'a b', apiName: 'SVC', routeKey: '__proto__' },
    riskmap: { themes: { a: 7 } },
    log: { level: 'loud' },
    nonsense: true,
  })
  t.same(
    faultsOf(file)
      .map((fault) => fault.path)
      .sort(),
    [
      'limits.batch',
      'limits.bodyBytes',
      'log.level',
      'nonsense',
      'riskmap.themes.a',
      'server.colour',
      'server.host',
      'server.port',
      'service.apiName',
      'service.headerPrefix',
      'service.routeKey',
      'service.timeZone',
    ],
  )
})

t.test('config: faults of the environment and of the file are told together', async (t) => {
  const faults = faultsOf(fileWith(t, { colour: 'red' }), { FIELDGATE_NOPE: '1' }, { server: { port: -1 } })
  t.same(faults.map((fault) => fault.path).sort(), ['FIELDGATE_NOPE', 'colour', 'server.port'])
})

t.test('config: a wrong type from the environment is a fault at the setting', async (t) => {
  for (const text of ['eighty', '80.5', '-1', '', 'true', '[80]', '65536', '1e400']) {
    t.match(faultsOf(null, { FIELDGATE_SERVER__PORT: text }), [{ path: 'server.port' }], JSON.stringify(text))
  }
})

t.test('config: half of a TLS pair is a fault, a pair is none', async (t) => {
  t.match(faultsOf(null, {}, { server: { tlsCertFile: 'a.pem' } }), [{ path: 'server.tlsCertFile' }])
  t.match(faultsOf(null, {}, { server: { tlsKeyFile: 'a.pem' } }), [{ path: 'server.tlsCertFile' }])
  t.same(faultsOf(null, {}, { server: { tlsCertFile: 'a.pem', tlsKeyFile: 'b.pem' } }), [])
  for (const demand of [{ requireSignature: true }, { signedStores: ['rain'] }, { signedKinds: ['k'] }]) {
    const missing = [{ path: 'modelStore.trustedKeys', message: /expected at least one key/ }]
    t.match(faultsOf(null, {}, { modelStore: demand }), missing)
    t.same(faultsOf(null, {}, { modelStore: { ...demand, trustedKeys: ['k.pem'] } }), [])
  }
})

t.test('config: a file that cannot be read or is no JSON object', async (t) => {
  t.match(faultsOf('/nowhere/x.json'), [{ path: '/nowhere/x.json', message: 'does not exist' }])
  for (const [text, message] of [
    ['', /is empty/],
    ['{', /is not JSON/],
    ['{"server":{"port":80},}', /is not JSON/],
    ['[]', /expected a JSON object/],
    ['null', /expected a JSON object/],
    ['7', /expected a JSON object/],
  ] as const) {
    t.match(faultsOf(fileWith(t, text)), [{ path: /edge\.config\.json$/, message }], text)
  }
})

t.test('config: sections that are no objects, and hostile names', async (t) => {
  t.match(faultsOf(fileWith(t, { server: 7 })), [{ path: 'server' }])
  t.match(faultsOf(fileWith(t, { server: null })), [{ path: 'server' }])
  t.match(faultsOf(fileWith(t, '{"__proto__":{"dataDir":"x"}}')), [{ path: '__proto__' }])
  t.match(faultsOf(fileWith(t, '{"server":{"__proto__":{"port":1}}}')), [{ path: 'server.__proto__' }])
  t.match(faultsOf(fileWith(t, { constructor: { prototype: {} } })), [{ path: 'constructor' }])
  t.equal(({} as Record<string, unknown>).dataDir, undefined)
})

t.test('config: a setting set twice, by file and environment, keeps the others of its section', async (t) => {
  const file = fileWith(t, { riskmap: { themes: { a: 'x', b: 'y' } } })
  const { config } = load(file, { FIELDGATE_RISKMAP__LEVEL_COLUMN: 'level' })
  t.same(config.riskmap, { levelColumn: 'level', themes: { a: 'x', b: 'y' } })
})

t.test('config: a byte order mark before the file is passed over', async (t) => {
  t.equal(load(fileWith(t, '\uFEFF{"server":{"port":81}}')).config.server.port, 81)
})

t.test('config: every setting has a description and a type', async (t) => {
  const settings = describeSettings()
  t.ok(settings.length > 40)
  for (const { path: at, type, description } of settings) {
    t.ok(description.length > 0, `${at} is described`)
    t.not(type, 'any', `${at} has a type`)
  }
})

t.test('config: every setting with a default can be set to it by the environment', async (t) => {
  const defaults = load(null).config
  const env = Object.fromEntries(
    describeSettings()
      // those of a hub need its role
      .filter((setting) => setting.default !== undefined && !setting.path.startsWith('hub.'))
      .map(({ path: at, default: value }) => [
        `FIELDGATE_${at.replaceAll('.', '__')}`,
        typeof value === 'string' ? value : JSON.stringify(value),
      ]),
  )
  t.same(load(null, env).config, defaults)
})

t.test('config: the JSON Schema refuses unknown names and states defaults', async (t) => {
  t.match(configJsonSchema(), {
    type: 'object',
    additionalProperties: false,
    properties: {
      server: { properties: { port: { default: 8080, maximum: 65_535 } }, additionalProperties: false },
    },
  })
})

t.test(
  'config: the schema beside the sample is fresh (UPDATE_GOLDEN=1 writes it, npm run format lays it out)',
  async (t) => {
    const file = 'edge.config.schema.json'
    if (process.env.UPDATE_GOLDEN === '1') writeFileSync(file, JSON.stringify(configJsonSchema()))
    t.same(JSON.parse(readFileSync(file, 'utf8')), JSON.parse(JSON.stringify(configJsonSchema())))
  },
)

t.test('config: the sample at the top of the repository has no fault', async (t) => {
  t.same(faultsOf('edge.config.json'), [])
  t.type(JSON.parse(readFileSync('edge.config.json', 'utf8')).$schema, 'string')
})
