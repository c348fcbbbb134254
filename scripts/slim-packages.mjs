// What the bundle leaves out of its packages, and what it loads only when it is used: on a board, start and memory count.
import { readFile } from 'node:fs/promises'
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

/**
 * Node's own Request, Response and Headers are undici's, which takes 11 MB and 30 ms when one of them is first touched. The
 * adapter touches them at its start, only to stand in a line of prototypes; here it does when a whole one is asked for, which
 * calls, answers and downloads never do: theirs are the adapter's light ones. Each text must be found once.
 */
const LATE_FETCH = [
  [
    'const GlobalHeaders = globalThis.Headers;',
    "const isHeaders = (it) => typeof it?.getSetCookie === 'function';",
  ],
  ['HeadersCtor = GlobalHeaders', 'HeadersCtor = globalThis.Headers'],
  ['Object.setPrototypeOf(RequestHeaders.prototype, GlobalHeaders.prototype);', ''],
  [
    'globalThis.Headers === GlobalHeaders ? new RequestHeaders(incoming) : materializeHeaders(incoming.rawHeaders, globalThis.Headers)',
    'new RequestHeaders(incoming)',
  ],
  [
    'const GlobalRequest = global.Request;',
    'let wholeRequest; const requestClass = () => (wholeRequest ??= makeRequestClass(globalThis.Request));',
  ],
  [
    'var Request$1 = class extends GlobalRequest {',
    'const makeRequestClass = (GlobalRequest) => { const Request$1 = class extends GlobalRequest {',
  ],
  [
    'super(input, options);\n\t}\n};',
    'super(input, options); } }; Object.setPrototypeOf(requestPrototype, Request$1.prototype); return Request$1 };',
  ],
  ['\nObject.setPrototypeOf(requestPrototype, Request$1.prototype);\nconst', '\nconst'],
  ['const req = new Request$1(url, init);', 'const req = new (requestClass())(url, init);'],
  ['return new Request$1(url, init);', 'return new (requestClass())(url, init);'],
  ['new Request$1(this[urlKey], init)', 'new (requestClass())(this[urlKey], init)'],
  ['const GlobalResponse = global.Response;', ''],
  ['cache && cache[2] instanceof Headers ?', 'cache && isHeaders(cache[2]) ?'],
  ['new GlobalResponse(this.#body', 'new globalThis.Response(this.#body'],
  ['init instanceof GlobalResponse', "typeof init?.clone === 'function'"],
  ['!(cache[2] instanceof Headers)', '!isHeaders(cache[2])'],
  ['Object.setPrototypeOf(Response$1, GlobalResponse);', ''],
  ['Object.setPrototypeOf(Response$1.prototype, GlobalResponse.prototype);', ''],
  ['!(headers instanceof Headers)', '!isHeaders(headers)'],
  ['(header instanceof Headers)', '(isHeaders(header))'],
  ['options.overrideGlobalObjects !== false && global.Request !== Request$1', 'false'], // `LIGHT_RESPONSE` does it
  ['globalThis.CloseEvent ?? class', 'class'], // of web sockets, which nothing here opens
  ['globalThis.ErrorEvent ?? class', 'class'],
  [
    'createAdaptorServer, getRequestListener',
    'Response$1 as LightResponse, createAdaptorServer, getRequestListener',
  ],
]

/** For esbuild's `inject`: what the bundle calls Response is the adapter's light one. */
export const LIGHT_RESPONSE = 'scripts/light-response.mjs'

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
    build.onLoad({ filter: /@hono\/node-server\/dist\/index\.mjs$/ }, async ({ path: file }) => ({
      contents: rewrite(await readFile(file, 'utf8'), LATE_FETCH, file),
      loader: 'js',
    }))
  },
}

/** @throws Error when a piece of text is not there exactly once: another version of the package wants another look */
function rewrite(source, pairs, file) {
  return pairs.reduce((text, [from, to]) => {
    const found = text.split(from).length - 1
    if (found !== 1) throw new Error(`${file}: found ${found} times, expected once: ${from}`)
    return text.replace(from, () => to)
  }, source)
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
