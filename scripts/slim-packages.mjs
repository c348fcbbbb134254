// What the bundle leaves out of its packages, and what it loads only when it is used: on a board, start and memory count.
import path from 'node:path'

/** Parts of packages that nothing here uses. */
const LEFT_OUT = [
  // messages of zod in fifty languages; ours are English, and schemas.js brings those by itself
  { filter: /^\.\.\/locales\/index\.js$/, importer: /\/zod\//, contents: '' },
  // tus uploads take web requests here; the adapter for Node's own brings http2 and the whole of fetch at the start
  {
    filter: /^srvx\/node$/,
    importer: /\/@tus\/server\//,
    contents: 'export const NodeRequest = undefined; export const sendNodeResponse = undefined',
  },
  // the server speaks HTTP/1.1: of http2 the adapter only asks whether a request is one of its
  {
    filter: /^node:http2$/,
    importer: /\/@hono\/node-server\//,
    contents: 'export class Http2ServerRequest {}; export const constants = {}',
  },
]

/** Packages of which a few files do all that is used here; `lazy`: loaded at the first use, not at the start. */
const TRIMMED = [
  {
    name: 'undici', // sync/ alone calls out, and many gateways have no upstream
    isLazy: true,
    contents: `
      Object.assign(require('./lib/dispatcher/dispatcher').prototype, require('./lib/api'))
      exports.Pool = require('./lib/dispatcher/pool')
      exports.buildConnector = require('./lib/core/connect')`,
    names: ['Pool', 'buildConnector'],
  },
  {
    name: 'rate-limiter-flexible', // allowances live in memory; the package brings a dozen databases
    isLazy: false,
    contents: "exports.RateLimiterMemory = require('./lib/RateLimiterMemory')",
    names: ['RateLimiterMemory'],
  },
]

export const slimPackages = {
  name: 'slim-packages',
  setup(build) {
    for (const { filter, importer, contents } of LEFT_OUT) {
      build.onResolve({ filter }, (args) =>
        importer.test(args.importer) ? { path: args.path, namespace: 'left-out' } : undefined,
      )
      build.onLoad({ filter, namespace: 'left-out' }, () => ({ contents, loader: 'js' }))
    }
    for (const trimmed of TRIMMED) addTrimmed(build, trimmed)
  },
}

function addTrimmed(build, { name, isLazy, contents, names }) {
  const resolveDir = path.resolve('node_modules', name)
  build.onResolve({ filter: new RegExp(`^${name}$`) }, () => ({ path: name, namespace: 'trimmed' }))
  build.onResolve({ filter: new RegExp(`^${name}/trimmed$`) }, () => ({
    path: name,
    namespace: 'trimmed-whole',
  }))
  // a getter a name: the importer reads it when it uses it
  const lazily = names.map(
    (key) =>
      `Object.defineProperty(exports, '${key}', { enumerable: true, get: () => require('${name}/trimmed').${key} })`,
  )
  build.onLoad({ filter: new RegExp(`^${name}$`), namespace: 'trimmed' }, () => ({
    contents: isLazy ? lazily.join('\n') : contents,
    loader: 'js',
    resolveDir,
  }))
  build.onLoad({ filter: new RegExp(`^${name}$`), namespace: 'trimmed-whole' }, () => ({
    contents,
    loader: 'js',
    resolveDir,
  }))
}
