// Leaves out of the bundle what this program does not use of its packages, and loads some parts at their first use: on a
// board, start and memory count. Modules are matched by name, never by their text, and a rule that matches nothing fails
// the build.
import path from 'node:path'

/** Modules that are replaced. `name` as it is imported, `importer` the package that imports it. */
const LEFT_OUT = [
  // messages in fifty languages; ours are English, which zod's schemas.js has by itself
  { name: '../locales/index.js', importer: 'zod', contents: '' },
  // adapter for Node's requests, which loads http2 and fetch at the start; uploads come as web requests here
  {
    name: 'srvx/node',
    importer: '@tus/server',
    contents: 'export const NodeRequest = undefined; export const sendNodeResponse = undefined',
  },
  // the gateway is a client over sockets of its own; serial lines are opened without an addon (ingest/modbus/link.ts)
  ...['serialport', './servers/servertcp', './servers/serverserial', './ports/rtubufferedport'].map(
    leftOfModbus,
  ),
  ...['./ports/testport', './ports/c701port', '../ports/asciiport', '../ports/bleport'].map(leftOfModbus),
  ...['modbus-serial', '@tus/server'].map((importer) => ({
    name: 'debug',
    importer,
    contents: 'module.exports = () => () => undefined',
  })),
  // exemplars, summaries and logs by other threads, which the gateway does not use
  { name: '@opentelemetry/api', importer: 'prom-client', contents: '' },
  { name: 'tdigest', importer: 'prom-client', contents: '' },
  { name: 'thread-stream', importer: 'pino', contents: '' },
]

function leftOfModbus(name) {
  return { name, importer: 'modbus-serial', contents: '' }
}

/** Packages of which a few files are used. `isLazy`: loaded at the first use and not at the start. */
export const TRIMMED = [
  {
    name: 'undici', // only sync/ calls other hosts, and many gateways have no upstream
    isLazy: true,
    contents: `
      Object.assign(require('./lib/dispatcher/dispatcher').prototype, require('./lib/api'))
      exports.Pool = require('./lib/dispatcher/pool')
      exports.buildConnector = require('./lib/core/connect')`,
    names: ['Pool', 'buildConnector'],
  },
]

/**
 * The esbuild plugin.
 *
 * @param mustMatch true for the bundle that uses every package: a rule that matches nothing fails the build
 * @param apart true where the packages that are loaded at their first use are files of their own, `./NAME.js`
 */
export function slimPackages({ mustMatch, apart = false }) {
  return {
    name: 'slim-packages',
    setup(build) {
      const unmatched = new Set([...LEFT_OUT, ...TRIMMED])
      const onMatch = (rule) => unmatched.delete(rule)
      for (const module of LEFT_OUT) leaveOut(build, module, onMatch)
      for (const trimmed of TRIMMED) trim(build, trimmed, onMatch, apart)
      build.onEnd(() => {
        if (!mustMatch) return undefined
        const errors = [...unmatched].map(({ name, importer = 'a module of the program' }) => ({
          text:
            `scripts/slim-packages.mjs: ${importer} does not import ${name}. After an upgrade of its package, look for what ` +
            'replaced it and change the rule, or remove the rule if `npm run bench -- footprint` is no worse without it.',
        }))
        return { errors }
      })
    },
  }
}

function leaveOut(build, rule, onMatch) {
  const { name, importer, contents } = rule
  const filter = exactly(name)
  build.onResolve({ filter }, (args) => {
    if (!args.importer.includes(`/node_modules/${importer}/`)) return undefined
    onMatch(rule)
    return { path: name, namespace: 'left-out' }
  })
  build.onLoad({ filter, namespace: 'left-out' }, () => ({ contents, loader: 'js' }))
}

function trim(build, rule, onMatch, apart) {
  const { name, isLazy, contents, names } = rule
  const resolveDir = path.resolve('node_modules', name)
  build.onResolve({ filter: exactly(name) }, () => {
    onMatch(rule)
    return { path: name, namespace: 'trimmed' }
  })
  build.onResolve({ filter: exactly(`${name}/trimmed`) }, () =>
    apart ? { path: `./${name}.js`, external: true } : { path: name, namespace: 'trimmed-whole' },
  )
  // one getter for each name, which loads the package when the importer reads it
  const lazily = names.map(
    (key) =>
      `Object.defineProperty(exports, '${key}', { enumerable: true, get: () => require('${name}/trimmed').${key} })`,
  )
  build.onLoad({ filter: exactly(name), namespace: 'trimmed' }, () => ({
    contents: isLazy ? lazily.join('\n') : contents,
    loader: 'js',
    resolveDir,
  }))
  build.onLoad({ filter: exactly(name), namespace: 'trimmed-whole' }, () => ({
    contents,
    loader: 'js',
    resolveDir,
  }))
}

/** Pattern of one module name, in the syntax of Go that esbuild reads. */
function exactly(name) {
  return new RegExp(`^${name.replace(/[.]/g, '\\.')}$`)
}
