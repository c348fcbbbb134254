import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'

/** The only files at the top of `src/`. All but `main` may be imported by every room. */
const TOP = ['main', 'errors', 'kept', 'owner-queue', 'datetime', 'log', 'assets']
/**
 * Rooms that every room may import, as the files at the top: each reads settings, refuses values with a message, or
 * handles JSON. They import the files at the top, and those named before them.
 */
const COMMON = ['json', 'messages', 'config']

/**
 * Who may import whom. A key is a folder below `src/`; `api/*` stands for each of its rooms. A value that ends in `/**` allows a
 * room with all its sub-folders, any other value that folder alone. What is absent is refused. `WIRING` may import everything.
 */
const MAY_IMPORT: Record<string, readonly string[]> = {
  // pure: no Node built-ins, no wire names
  geo: [],
  // what files of rows hold: encodings, columns, keys; the console and the command line read files by it
  tabular: ['geo'],
  'tabular/formats': ['tabular', 'geo'],
  'routing/conditions': [], // times and vehicles of conditional tags
  'routing/graph': ['routing/conditions', 'geo'],
  'routing/search': ['routing/graph', 'geo'],
  'routing/cch': ['routing/search', 'routing/graph'],
  risk: ['geo', 'routing/graph', 'routing/search'],
  basemap: [], // what a base map has: its layers, its metadata, the spelling of names
  // what searches answer, and the thread that makes them
  'route-answer': ['routing/graph', 'routing/search', 'geo', 'risk'],
  tiles: ['routing/graph', 'routing/search', 'geo'],
  'route-engine': [
    'routing/**',
    'risk',
    'geo',
    'route-answer',
    'tiles',
    'storage',
    'storage/base-map',
    'files',
    'worker',
  ],
  // from an extract to a graph, one folder a step: each uses the ones before it
  'mapbuild/arrays': [],
  'mapbuild/extract': ['mapbuild/arrays'], // bytes of a file → OSM objects
  'mapbuild/profile': ['mapbuild/extract', 'routing/graph', 'routing/conditions'], // tags → speed and access
  'mapbuild/roads': ['routing/conditions', 'mapbuild/profile', 'mapbuild/extract', 'mapbuild/arrays'], // OSM objects → roads as arrays
  'mapbuild/network': ['mapbuild/roads', 'mapbuild/profile', 'mapbuild/arrays', 'routing/graph', 'geo'], // → segments
  'mapbuild/graph': ['mapbuild/network', 'mapbuild/profile', 'mapbuild/arrays', 'routing/graph'], // → nodes, arcs and the file
  mapbuild: ['mapbuild/**', 'routing/graph', 'routing/cch', 'geo'], // runs the steps
  // from an extract to a base map, one folder a step; the file is written by storage/base-map
  'mapbuild/base': ['mapbuild/base/**', 'mapbuild/extract', 'mapbuild/roads', 'basemap', 'tiles'],
  'mapbuild/base/shape': [], // ways → valid areas, on plain numbers
  'mapbuild/base/tags': ['mapbuild/extract', 'basemap'], // tags → layers and names
  'mapbuild/base/read': [
    ...['mapbuild/base/shape', 'mapbuild/base/tags', 'mapbuild/base/tiles'],
    ...['mapbuild/extract', 'mapbuild/roads', 'mapbuild/arrays'],
  ],
  'mapbuild/base/tiles': ['mapbuild/base/shape', 'mapbuild/base/tags', 'basemap', 'tiles'],
  demo: ['mapbuild', 'routing/graph', 'geo'],
  // rows: ports and what every engine shares; SQL behind them
  storage: [
    'storage/access',
    'storage/datasets',
    'storage/models',
    'storage/work',
    'storage/columns',
    'storage/exchange',
    'geo',
  ],
  'storage/access': ['storage/work'], // keys, sessions, acts
  'storage/models': ['storage/columns'], // models, their stores, and their way to other nodes
  'storage/datasets': ['storage/work', 'storage/columns', 'geo'], // states that are kept and cited
  'storage/work': [], // time, turns, locks and bounds of work
  // records of loader tables, whichever engine keeps them: checked, printed, named
  'storage/records': ['storage', 'storage/columns', 'geo'],
  // which rows a rule takes, whichever engine removes them: sent ones, intervals and their summaries
  'storage/removal': ['storage', 'storage/columns'],
  // what travels between nodes and who they are: feeds, bundles, digests, citations of others, joining
  'storage/exchange': ['storage', 'storage/access', 'storage/datasets', 'storage/columns'],
  'storage/columns': ['geo'],
  // forms in which rows leave and enter; a GeoPackage is an SQLite file, whichever engine keeps the rows
  'storage/formats': [
    'storage',
    'storage/datasets',
    'storage/work',
    'storage/columns',
    'storage/sqlite/connection',
    'geo',
  ],
  // the MBTiles file of a base map: an SQLite file, whichever engine keeps the rows
  'storage/base-map': ['basemap', 'storage/sqlite/connection'],
  'storage/sqlite': ['storage/**', 'geo'],
  'storage/sqlite/connection': ['storage', 'storage/work', 'storage/columns', 'geo'],
  'storage/sqlite/access': [
    'storage',
    'storage/work',
    'storage/access',
    'storage/exchange',
    'storage/sqlite/connection',
  ],
  'storage/sqlite/models': [
    'storage',
    'storage/work',
    'storage/models',
    'storage/columns',
    'storage/sqlite/access',
    'storage/sqlite/connection',
  ],
  'storage/sqlite/tables': [
    'storage',
    'storage/work',
    'storage/records',
    'storage/exchange',
    'storage/columns',
    'storage/sqlite/connection',
    'geo',
  ],
  // tables that keep their former rows, and reading a state of them: what datasets and citations have in common
  'storage/sqlite/versions': [
    'storage',
    'storage/datasets',
    'storage/work',
    'storage/records',
    'storage/columns',
    'storage/sqlite/connection',
    'storage/sqlite/tables',
    'geo',
  ],
  'storage/sqlite/datasets': [
    'storage',
    'storage/datasets',
    'storage/work',
    'storage/records',
    'storage/columns',
    'storage/sqlite/connection',
    'storage/sqlite/tables',
    'storage/sqlite/versions',
    'geo',
  ],
  'storage/sqlite/citations': [
    'storage',
    'storage/datasets',
    'storage/work',
    'storage/exchange',
    'storage/columns',
    'storage/formats',
    'storage/sqlite/connection',
    'storage/sqlite/tables',
    'storage/sqlite/versions',
    'storage/sqlite/datasets',
    'geo',
  ],
  // reads every noun's rows, for backups and checks of the whole
  'storage/sqlite/maintenance': [
    'storage',
    'storage/models',
    'storage/exchange',
    'storage/formats',
    'storage/sqlite/connection',
    'storage/sqlite/tables',
    'storage/sqlite/citations',
    'storage/sqlite/fleet', // how many gateways a hub has, for doctor
  ],
  // feeds of tables: how far they are, on both sides
  'storage/sqlite/feeds': [
    'storage',
    'storage/work',
    'storage/exchange',
    'storage/sqlite/connection',
    'storage/sqlite/tables',
  ],
  // messages that come in by themselves: rejects, status, cursors
  'storage/sqlite/ingest': ['storage', 'storage/sqlite/connection'],
  // rows that go by themselves
  'storage/sqlite/retention': [
    'storage',
    'storage/work',
    'storage/records',
    'storage/removal',
    'storage/columns',
    'storage/sqlite/connection',
    'storage/sqlite/tables',
  ],
  // what starts modules, and their history
  'storage/sqlite/triggers': ['storage', 'storage/sqlite/connection'],
  // joining: tokens are keys
  'storage/sqlite/fleet': [
    'storage',
    'storage/work',
    'storage/exchange',
    'storage/sqlite/access',
    'storage/sqlite/connection',
  ],
  // rows of a hub: the driver, transactions and migrations, its tables, the nouns
  'storage/postgres': ['storage', 'storage/work', 'storage/postgres/**'],
  'storage/postgres/connection': [],
  'storage/postgres/tables': [
    ...['storage', 'storage/work', 'storage/exchange', 'storage/columns', 'storage/records'],
    ...['storage/postgres/connection', 'geo'],
  ],
  'storage/postgres/table-reads': [
    ...['storage', 'storage/work', 'storage/columns', 'storage/records', 'storage/exchange'],
    ...['storage/postgres/connection', 'storage/postgres/tables', 'geo'],
  ],
  'storage/postgres/features': [
    ...['storage', 'storage/records', 'storage/postgres/connection', 'storage/postgres/tables', 'geo'],
  ],
  // old rows that go
  'storage/postgres/retention': [
    ...['storage', 'storage/columns', 'storage/records', 'storage/removal', 'storage/exchange'],
    ...['storage/postgres/connection', 'storage/postgres/tables'],
  ],
  'storage/postgres/schema': ['storage/postgres/connection'],
  'storage/postgres/models': [
    'storage',
    'storage/work',
    'storage/models',
    'storage/postgres/connection',
    'storage/postgres/lists',
  ],
  // conditions, order and pages of lists
  'storage/postgres/lists': ['storage/columns', 'storage/postgres/connection'],
  // feeds in both directions; rows of other nodes become rows of tables
  'storage/postgres/feeds': [
    ...[
      'storage',
      'storage/work',
      'storage/exchange',
      'storage/postgres/connection',
      'storage/postgres/tables',
    ],
  ],
  'storage/postgres/leases': ['storage/work', 'storage/postgres/connection'], // tasks of one process at a time; who needs bytes
  'storage/postgres/access': [
    'storage',
    'storage/work',
    'storage/access',
    'storage/exchange',
    'storage/postgres/connection',
  ],
  // a data directory that becomes a hub: rows as they are stored on both sides
  'storage/postgres/move': [
    ...['storage', 'storage/exchange', 'storage/columns', 'storage/records'],
    ...[
      'storage/postgres/access',
      'storage/postgres/connection',
      'storage/postgres/fleet',
      'storage/postgres/tables',
    ],
  ],
  'storage/sqlite/move': [
    ...['storage', 'storage/columns', 'storage/records'],
    ...['storage/sqlite/connection', 'storage/sqlite/tables'],
  ],
  'storage/postgres/fleet': [
    ...['storage/exchange', 'storage/work', 'storage/postgres/access', 'storage/postgres/connection'],
  ],
  'storage/sqlite/features': [
    'storage',
    'storage/datasets',
    'storage/work',
    'storage/records',
    'storage/columns',
    'storage/formats',
    'storage/sqlite/connection',
    'storage/sqlite/tables',
    'storage/sqlite/versions',
    'storage/sqlite/datasets',
    'storage/sqlite/citations',
    'geo',
  ],
  'files/s3': ['files'], // bytes of a hub
  files: ['routing/graph'], // map files are read and checked here
  worker: [], // calls to another thread
  // the nouns: what happens when one is written or read
  tables: ['tables/ingest', 'storage', 'storage/work', 'storage/columns', 'files', 'worker', 'geo'],
  'tables/ingest': [], // bytes to JSON values: knows neither tables nor records
  datasets: [
    'storage',
    'storage/datasets',
    'storage/work',
    'storage/columns',
    'storage/formats',
    'files',
    'worker',
    'geo',
  ],
  'node-keys': ['storage/exchange'], // what a node signs and is addressed by
  // files that carry feeds and models between nodes: written, and taken
  bundles: [
    ...[
      'bundles/**',
      'node-keys',
      'feeds/**',
      'sync',
      'models',
      'auth',
      'storage',
      'storage/datasets',
      'storage/models',
      'storage/exchange',
      'storage/columns',
      'files',
    ],
  ],
  'bundles/seal': ['node-keys'], // bytes for one node alone
  'bundles/content': ['bundles/seal'], // what is inside
  models: ['models/signature', 'models/delta', 'storage', 'storage/models', 'storage/work', 'files'],
  'models/delta': ['worker'], // from the bytes of a base to those of a new file
  'models/signature': ['storage/models'], // signature bundles and who is trusted
  sync: ['models', 'models/signature', 'storage', 'storage/models', 'files'],
  // tables between nodes: the form of a batch, the side that receives, the side that sends
  feeds: ['feeds/**', 'sync', 'storage', 'storage/datasets', 'storage/exchange'],
  'feeds/batch': ['storage', 'storage/work', 'storage/exchange', 'storage/columns', 'geo'],
  'feeds/receive': ['feeds/batch', 'auth', 'storage', 'storage/exchange'],
  'feeds/give': [
    'feeds/batch',
    'feeds/receive',
    'feeds/send',
    'feeds/verify',
    'auth',
    'storage',
    'storage/exchange',
  ], // answers nodes that ask
  'feeds/fetch': ['feeds/batch', 'feeds/receive', 'feeds/send', 'sync', 'storage', 'storage/exchange'], // asks
  'feeds/verify': ['feeds', 'feeds/batch', 'feeds/send', 'storage', 'storage/exchange', 'storage/columns'], // comparing both sides
  'feeds/citations': [
    'feeds/batch',
    'feeds/receive',
    'auth',
    'storage/datasets',
    'storage/work',
    'storage/exchange',
    'storage/columns',
  ], // both sides
  'feeds/send': [
    'feeds/batch',
    'feeds/citations',
    'sync',
    'storage',
    'storage/datasets',
    'storage/exchange',
    'storage/columns',
  ],
  // joining: what both sides share, profiles, the side of the hub, the side of the gateway
  fleet: ['storage/exchange'],
  'fleet/profile': ['storage/exchange', 'update'], // signatures of releases
  'fleet/hub': [
    'fleet',
    'fleet/profile',
    'node-keys',
    'files',
    'storage/access',
    'storage/work',
    'storage/exchange',
    'update',
  ],
  'fleet/member': [
    'fleet',
    'fleet/**',
    'node-keys',
    'feeds',
    'files', // downloads of profiles
    'update', // signed releases, which are staged
    'models',
    'storage',
    'storage/models',
    'storage/exchange',
    'sync',
  ],
  dataproc: [
    ...[
      'tables',
      'datasets',
      'models',
      'models/signature',
      'storage',
      'storage/datasets',
      'storage/models',
      'storage/work',
      'storage/columns',
      'storage/formats',
      'files',
      'worker',
      'geo',
    ],
  ],
  // modules by time and event
  triggers: ['dataproc', 'storage', 'storage/work', 'auth'],
  // changes of tables as they happen; http carries them
  live: ['storage', 'storage/columns'],
  retention: ['storage', 'storage/exchange'], // old rows that go
  // what comes in by itself: messages of brokers become rows
  'ingest/mqtt': ['sync'], // the client; waits between attempts as those of transfers
  // buses of devices: rows, places and timers as those of messages
  'ingest/modbus': ['ingest', 'ingest/mqtt', 'storage', 'storage/columns', 'tables'],
  'ingest/mapping': [], // pure: from a payload to values, time and place
  'ingest/presets': ['ingest/mapping'], // known forms of messages
  ingest: ['ingest/**', 'storage', 'storage/columns', 'storage/exchange', 'tables'],
  // the wire
  rpc: [],
  auth: ['rpc'], // types of scopes
  http: ['http/bodies', 'http/server', 'auth', 'rpc'],
  'http/bodies': [], // bytes of answers: streams, compression, tags
  'http/routes': ['http', 'http/bodies', 'http/server', 'auth', 'rpc'], // calls and data
  'http/tiles': ['http', 'http/bodies'],
  'http/pages': ['http', 'http/bodies', 'http/server', 'rpc'], // what people and monitors read
  'http/server': ['rpc'], // sockets and limits below the routes
  'http/model-files': ['http', 'http/server', 'auth', 'rpc'],
  'http/openapi': ['rpc'],
  api: ['auth', 'storage/columns'], // parts that several methods share: the caller, the query of a list
  // its noun is the search worker: requests cross to that thread, their types are declared there
  'api/routing': ['api', 'rpc', 'auth', 'geo', 'worker', 'route-engine', 'route-answer'],
  'api/*': [
    ...[
      'api',
      'rpc',
      'auth',
      'geo',
      'worker',
      'storage',
      'storage/access',
      'storage/datasets',
      'storage/models',
      'storage/work',
      'storage/exchange',
      'storage/columns',
    ],
    ...[
      'tables',
      'datasets',
      'models',
      'models/signature',
      'sync',
      'feeds/**',
      'fleet/**',
      'dataproc',
      'triggers',
      'retention',
    ],
  ],
  ogc: ['geo', 'storage', 'storage/columns'], // documents and queries over sources of features; http carries them
  // operation
  backup: ['storage', 'storage/formats', 'files'],
  doctor: [
    'backup',
    'storage',
    'storage/work',
    'storage/base-map',
    'files',
    'models/signature',
    'sync',
    'dataproc',
  ],
  update: [], // a signed release in place of the executable
  clients: [], // written for other programs: they talk to the gateway over HTTP alone
  console: [], // the web page: talks to the gateway over HTTP alone; it may use the types of clients/
}
/** Rooms that put the others together, with their sub-folders. Nobody else imports them. */
const WIRING = ['gateway', 'cli']
/** Rooms that use no Node built-ins. */
const NO_BUILTINS = ['routing', 'geo', 'risk', 'tabular']

/** Folders of `test/` without a counterpart in `src/`; `docs/contributing.md` says what they hold. */
const TEST_FOLDERS = ['e2e', 'browser', 'docs', 'scenarios', 'scripts']

/** npm package → the rooms that own it; one with a folder owns it alone, without what is beside it. */
const OWNERS: Record<string, readonly string[]> = {
  hono: ['http'],
  '@hono/node-server': ['http'],
  busboy: ['http'],
  '@tus/server': ['http'],
  undici: ['sync'],
  'prom-client': ['http'],
  'maplibre-gl': ['console'],
  'tus-js-client': ['console'],
  pbf: ['mapbuild', 'demo', 'tiles', 'ingest'],
  'modbus-serial': ['ingest'],
  croner: ['triggers'],
  '@photostructure/tz-lookup': ['mapbuild'],
  kdbush: ['routing', 'mapbuild'],
  flatqueue: ['routing', 'mapbuild'],
  flatbush: ['routing', 'mapbuild', 'risk'],
  'geographiclib-geodesic': ['geo'],
  'robust-predicates': ['geo'],
  'better-sqlite3': ['storage', 'cli'],
  'drizzle-orm': ['storage'],
  pg: ['storage/postgres/connection'],
  aws4fetch: ['files/s3'],
  commander: ['cli'],
  pino: ['log'],
  zod: [...['api', 'backup', 'config', 'messages', 'rpc', 'sync', 'feeds', 'bundles', 'fleet', 'dataproc']],
}

interface Import {
  from: string
  to: string
  isType: boolean
}

t.test('architecture: every import follows the table of rooms', async (t) => {
  const files = sourceFiles('src')
  t.ok(files.length > 20, 'the sources were found')
  const breaches = files
    .flatMap((file) => importsOf(file).map((entry) => breachOf(entry)))
    .filter((line) => line !== null)
  t.same(breaches, [])
})

t.test('architecture: what a hub alone needs is not loaded by a gateway', async (t) => {
  const rooms = ['storage/postgres', 'files/s3', 'gateway/hub'].map((room) => path.join('src', room))
  const isHub = (file: string) => rooms.some((room) => file.startsWith(room))
  const loaded = sourceFiles('src')
    .filter((file) => !isHub(file))
    .flatMap(importsOf)
    .filter(({ from, to, isType }) => !isType && isHub(path.join(path.dirname(from), to)))
  t.same(loaded, [], 'only `import()` reaches it')
})

t.test('architecture: a start of a gateway loads no other verb and no shapes of methods', async (t) => {
  const loaded = new Set(['src/cli/program.ts'])
  for (const file of loaded)
    for (const { to, isType } of importsOf(file))
      if (!isType && to.startsWith('.')) loaded.add(path.join(path.dirname(file), to).replace(/\.js$/, '.ts'))
  t.ok(loaded.has('src/gateway/app.ts'), 'what a start needs was followed')
  const late = /^src\/(?:api\/[^/]+\/(?:schema|index)|cli\/verbs|(?:mapbuild|demo|bundles)\/.*)\.ts$/
  t.same(
    [...loaded].filter((file) => late.test(file)),
    [],
    'only `import()` reaches it',
  )
})

t.test('architecture: no import circle, types included', async (t) => {
  const imports = new Map(
    sourceFiles('src').map((file) => [
      file,
      importsOf(file)
        .filter(({ to }) => to.startsWith('.'))
        .map(({ to }) => path.join(path.dirname(file), to).replace(/\.js$/, '.ts')),
    ]),
  )
  t.same(circlesOf(imports), [])
})

t.test('architecture: the top of src/ holds the named files only', async (t) => {
  const files = readdirSync('src').filter((name) => name.endsWith('.ts'))
  t.same(files.sort(), TOP.map((name) => `${name}.ts`).sort())
})

t.test('architecture: every folder of tests mirrors a folder of the sources', async (t) => {
  const folders = new Set(
    sourceFiles('test')
      .filter((file) => file.endsWith('.test.ts'))
      .map((file) => path.relative('test', path.dirname(file))),
  )
  const others = [...folders].filter((folder) => !TEST_FOLDERS.includes(folder.split(path.sep)[0] ?? ''))
  t.same(
    others.filter((folder) => !existsSync(path.join('src', folder))),
    [],
  )
})

t.test('architecture: no file is longer than 400 lines', async (t) => {
  const long = sourceFiles('src').filter((file) => {
    const text = readFileSync(file, 'utf8')
    return text.split('\n').length > 401 && !text.startsWith('// Generated by ')
  })
  t.same(long, [])
})

t.test(
  'architecture: AppError is the only class, and nothing uses import.meta or a default export',
  async (t) => {
    const texts = sourceFiles('src').map((file) => ({ file, text: readFileSync(file, 'utf8') }))
    const classes = texts.flatMap(({ file, text }) =>
      [...text.matchAll(/^(?:export )?(?:abstract )?class (\w+)/gm)].map((m) => `${file} ${m[1]}`),
    )
    t.same(classes, ['src/errors.ts AppError'])
    t.same(
      texts.filter(({ text }) => /import\.meta|^export default/m.test(text)).map(({ file }) => file),
      [],
    )
  },
)

t.test('architecture: every dependency has an owner', async (t) => {
  const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    dependencies: Record<string, string>
  }
  t.same(
    Object.keys(dependencies).filter((name) => OWNERS[name] === undefined),
    [],
  )
  const ranges = Object.values(dependencies).filter((version) => !/^\d/.test(version))
  t.same(ranges, [], 'versions are exact')
})

function sourceFiles(dir: string): string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => path.join(dir, name))
    .sort()
}

/** Files that reach themselves by imports, each circle once. */
function circlesOf(imports: ReadonlyMap<string, readonly string[]>): string[] {
  const circles: string[] = []
  const done = new Set<string>()
  const visit = (file: string, trail: readonly string[]) => {
    if (trail.includes(file)) circles.push([...trail.slice(trail.indexOf(file)), file].join(' -> '))
    else if (!done.has(file)) {
      for (const next of imports.get(file) ?? []) visit(next, [...trail, file])
      done.add(file)
    }
  }
  for (const file of imports.keys()) visit(file, [])
  return circles
}

function importsOf(file: string): Import[] {
  const text = readFileSync(file, 'utf8')
  const matches = text.matchAll(/^(?:import|export)\s+(type\s+)?(?:[^'"]*?\s+from\s+)?['"]([^'"]+)['"]/gm)
  return [...matches].map((match) => ({ from: file, to: match[2] ?? '', isType: match[1] !== undefined }))
}

/** A line that says what is wrong with an import, null when nothing is. */
function breachOf({ from, to, isType }: Import): string | null {
  if (to.startsWith('node:')) {
    const room = topRoomOf(from)
    return NO_BUILTINS.includes(room) ? `${from} imports ${to}: ${room}/ uses no Node built-ins` : null
  }
  if (!to.startsWith('.')) return packageBreach(from, to, isType)
  const target = path.join(path.dirname(from), to)
  const [room, other] = [roomOf(from), roomOf(target)]
  if (room === other || isWiring(room) || from === 'src/main.ts') return null
  if (other === '') return target === 'src/main.js' ? `${from} imports main` : null
  if (room === '') return `${from} imports ${target}: a file at the top of src/ imports no room`
  if (COMMON.includes(other)) return commonBreach(from, room, other)
  // the page is a client of the gateway: it uses the generated types, not the code
  if (isType && topRoomOf(from) === 'console' && matches('clients/**', other)) return null
  return allowed(room).some((entry) => matches(entry, other))
    ? null
    : `${from} imports ${target}: ${room}/ may not import ${other}/`
}

/** A common room imports only those named before it: none of them may lead back to a room. */
function commonBreach(from: string, room: string, other: string): string | null {
  const isBefore = !COMMON.includes(room) || COMMON.indexOf(other) < COMMON.indexOf(room)
  return isBefore ? null : `${from}: ${room}/ may not import ${other}/, which stands after it`
}

function packageBreach(from: string, to: string, isType: boolean): string | null {
  const name = to.startsWith('@') ? to.split('/').slice(0, 2).join('/') : (to.split('/')[0] ?? to)
  const owners = OWNERS[name]
  if (owners === undefined) return `${from} imports ${name}: it has no owner`
  const isOwner = owners.includes(topRoomOf(from)) || owners.includes(roomOf(from))
  return isOwner || (isType && isWiring(roomOf(from)))
    ? null
    : `${from} imports ${name}: it belongs to ${owners}`
}

function allowed(room: string): readonly string[] {
  // the page reads files by the same rules as the command line
  if (/^console(\/|$)/.test(room)) return ['console/**', 'tabular/**']
  if (/^clients(\/|$)/.test(room)) return ['clients/**']
  return MAY_IMPORT[room] ?? MAY_IMPORT[room.replace(/^api\/.+$/, 'api/*')] ?? []
}

function matches(entry: string, room: string): boolean {
  const base = entry.replace(/\/\*\*$/, '')
  return room === base || (entry.endsWith('/**') && room.startsWith(`${base}/`))
}

function isWiring(room: string): boolean {
  return WIRING.some((wiring) => room === wiring || room.startsWith(`${wiring}/`))
}

/** Folder of a file below `src/`: `src/routing/cch/x.ts` is in `routing/cch`, `src/log.ts` in ``. */
function roomOf(file: string): string {
  const dir = path.relative('src', path.dirname(file))
  return dir
}

/** First folder of a file, or the name of a file at the top: `routing`, `log`. */
function topRoomOf(file: string): string {
  const [first = ''] = path.relative('src', file).split(path.sep)
  return first.replace(/\.(ts|js)$/, '')
}
