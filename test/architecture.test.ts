import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'

/**
 * Who may import whom. The files at the top of `src/` that are in `SHARED` belong to everybody; the others there put the
 * rooms together, and they alone may import everything.
 */
const SHARED = ['errors', 'log', 'datetime', 'config', 'config-schema', 'assets']
const MAY_IMPORT: Record<string, readonly string[]> = {
  http: ['auth', 'rpc'],
  auth: ['rpc'], // types of scopes
  rpc: [],
  api: ['rpc', 'auth', 'geo', 'routing', 'risk', 'storage', 'files', 'sync', 'modules', 'worker'],
  sync: ['storage', 'files'],
  modules: ['storage', 'files', 'geo'],
  mapbuild: ['routing', 'geo'],
  risk: ['geo', 'routing'],
  routing: ['geo'],
  geo: [],
  storage: ['geo'],
  files: ['routing'], // the graph file's reader
  worker: [],
  search: ['routing', 'risk', 'geo', 'tiles', 'storage', 'files', 'worker'], // what the search worker does: maps, overlays, prices and tiles together
  demo: ['mapbuild', 'geo', 'routing'],
  tiles: ['routing', 'geo'], // vector tiles of a road graph
  update: [], // a signed release in place of the executable
  console: [], // the web page: talks to the gateway over HTTP alone
}
const NO_BUILTINS = ['routing', 'geo', 'risk']

/** npm package → the rooms that own it. */
const OWNERS: Record<string, readonly string[]> = {
  hono: ['http'],
  '@hono/node-server': ['http'],
  busboy: ['http'],
  '@tus/server': ['http'],
  undici: ['sync'],
  'rate-limiter-flexible': ['http'],
  'prom-client': ['http'],
  'maplibre-gl': ['console'],
  'tus-js-client': ['console'],
  pbf: ['mapbuild', 'demo', 'tiles'],
  kdbush: ['routing', 'mapbuild'],
  flatqueue: ['routing', 'mapbuild'],
  flatbush: ['routing', 'mapbuild', 'risk'],
  'geographiclib-geodesic': ['geo'],
  'robust-predicates': ['geo'],
  delaunator: ['geo'],
  'better-sqlite3': ['storage', 'cli'],
  'drizzle-orm': ['storage'],
  commander: ['cli'],
  pino: ['log'],
  zod: ['api', 'config', 'config-schema', 'rpc', 'sync', 'modules'],
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

t.test('architecture: no file is longer than 400 lines', async (t) => {
  const long = sourceFiles('src').filter((file) => readFileSync(file, 'utf8').split('\n').length > 401)
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

function importsOf(file: string): Import[] {
  const text = readFileSync(file, 'utf8')
  const matches = text.matchAll(/^(?:import|export)\s+(type\s+)?(?:[^'"]*?\s+from\s+)?['"]([^'"]+)['"]/gm)
  return [...matches].map((match) => ({ from: file, to: match[2] ?? '', isType: match[1] !== undefined }))
}

/** A line that says what is wrong with an import, null when nothing is. */
function breachOf({ from, to, isType }: Import): string | null {
  const room = roomOf(from)
  if (to.startsWith('node:')) {
    return NO_BUILTINS.includes(room) ? `${from} imports ${to}: ${room}/ uses no node built-ins` : null
  }
  if (!to.startsWith('.')) {
    const name = to.startsWith('@') ? to.split('/').slice(0, 2).join('/') : (to.split('/')[0] ?? to)
    const owners = OWNERS[name]
    if (owners === undefined) return `${from} imports ${name}: it has no owner`
    return owners.includes(room) || (isType && isWiring(room, from))
      ? null
      : `${from} imports ${name}: it belongs to ${owners}`
  }
  const target = path.join(path.dirname(from), to)
  return roomBreach(from, room, target, isType)
}

function roomBreach(from: string, room: string, target: string, isType: boolean): string | null {
  const other = roomOf(target)
  if (isWiring(room, from) || room === 'cli') return null
  if (other === room) return room === 'api' ? apiBreach(from, target) : null
  if (SHARED.includes(other)) return null
  if (SHARED.includes(room)) return `${from} imports ${target}: a shared file imports no room`
  if (isType && room === 'routing' && other === 'risk') return null
  return MAY_IMPORT[room]?.includes(other)
    ? null
    : `${from} imports ${target}: ${room}/ may not import ${other}/`
}

function apiBreach(from: string, target: string): string | null {
  const [mine, theirs] = [from, target].map((file) => path.relative('src/api', file).split(path.sep))
  if (theirs?.length === 1 || mine?.[0] === theirs?.[0]) return null
  return `${from} imports ${target}: one API room never imports another`
}

/** Files at the top of `src/` that are not everybody's put the rooms together. */
function isWiring(room: string, file: string): boolean {
  return path.dirname(file) === 'src' && !SHARED.includes(room)
}

/** `src/http/x.ts` is in `http`, `src/app.ts` is `app`. */
function roomOf(file: string): string {
  const [first = ''] = path.relative('src', file).split(path.sep)
  return first.replace(/\.(ts|js)$/, '')
}
