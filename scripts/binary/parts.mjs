// The program in parts, for the executable: what every start runs is one file, and the rest is read from the executable
// at its first use. On a board, source that is read is memory, and code that is compiled is time.
import path from 'node:path'
import { build, transform } from 'esbuild'
import { BUNDLE_OPTIONS, escapeRest } from '../bundle-options.mjs'
import { slimPackages, TRIMMED } from '../slim-packages.mjs'

/** Entries whose parts every start needs. */
const FIRST = ['src/main.ts', 'src/cli/program.ts']
/** Settings that make a part a function body of CommonJS: there is no `import()` in the executable. */
const AS_FUNCTION = {
  ...{ format: 'cjs', platform: 'node', target: BUNDLE_OPTIONS.target, charset: 'ascii', minify: true },
  supported: { 'dynamic-import': false },
}

/**
 * Bundles the program in parts.
 *
 * @returns `main`, the source of a function that runs the program, see `wrap`; `parts`, the sources of the others by
 *   their names, each a function as Node wraps a module of CommonJS; `ofHub`, the names of those that a hub alone loads
 */
export async function makeParts() {
  const { metafile, outputFiles } = await build({
    ...BUNDLE_OPTIONS,
    ...{ format: 'esm', splitting: true, write: false, metafile: true, outdir: 'parts' },
    entryPoints: ['src/main.ts'],
    chunkNames: '[hash]',
    plugins: [slimPackages({ mustMatch: true, apart: true }), withoutThreads()],
  })
  const outputs = new Map(Object.entries(metafile.outputs).map(([file, facts]) => [nameOf(file), facts]))
  const first = FIRST.reduce((names, entry) => statics(outputs, entryOf(outputs, entry), names), new Set())
  const sources = new Map(await lazyPackages())
  for (const { path: file, text } of outputFiles)
    sources.set(nameOf(file), escapeRest((await transform(text, AS_FUNCTION)).code))
  const main = wrap(entryOf(outputs, FIRST[0]), [...first].sort(), sources)
  const parts = [...sources]
    .filter(([name]) => !first.has(name))
    .map(([name, text]) => [name, functionOf(text)])
  return { main, parts: new Map(parts.sort(([a], [b]) => (a < b ? -1 : 1))), ofHub: partsOfHub(outputs) }
}

/** Folders whose sources a hub alone needs; `test/architecture.test.ts` holds that only `import()` reaches them. */
const HUB = /^src\/(?:gateway\/hub|storage\/postgres|files\/s3)\//

/** The names of the parts that are reached through one with sources of `HUB` alone. */
function partsOfHub(outputs) {
  const isHub = (name) => Object.keys(outputs.get(name).inputs).some((file) => HUB.test(file))
  const ofGateway = new Set([entryOf(outputs, FIRST[0])])
  for (const name of ofGateway)
    for (const { path: file, external } of outputs.get(name).imports)
      if (external !== true && !isHub(nameOf(file))) ofGateway.add(nameOf(file))
  return [...outputs.keys()].filter((name) => !ofGateway.has(name))
}

/**
 * Source of a function `(require, readPart, filename, dirname)` that runs the program. `readPart` returns the function of a
 * part that is not inside it.
 */
function wrap(entry, names, sources) {
  const inside = names.map((name) => `${JSON.stringify(name)}: ${functionOf(sources.get(name))}`)
  return `(function (require, readPart, filename, dirname) {
const inside = {
${inside.join(',\n')}
}
const loaded = new Map()
function load(id) {
  if (!id.startsWith('./')) return require(id)
  const name = id.slice(2)
  let module = loaded.get(name)
  if (module !== undefined) return module.exports
  module = { exports: {} }
  loaded.set(name, module)
  try {
    const run = inside[name] ?? readPart(name)
    run(module.exports, load, module, filename, dirname)
  } catch (error) {
    loaded.delete(name)
    throw error
  }
  return module.exports
}
load(${JSON.stringify(`./${entry}`)})
})`
}

function functionOf(text) {
  return `(function (exports, require, module, __filename, __dirname) {${text}\n})`
}

/** The names of a part and of those that it imports at once. */
function statics(outputs, name, names) {
  if (names.has(name)) return names
  names.add(name)
  for (const { path: file, kind, external } of outputs.get(name).imports)
    if (kind === 'import-statement' && external !== true) statics(outputs, nameOf(file), names)
  return names
}

function entryOf(outputs, entryPoint) {
  for (const [name, facts] of outputs) if (facts.entryPoint === entryPoint) return name
  throw new Error(`the bundle has no entry ${entryPoint}`)
}

function nameOf(file) {
  return path.basename(file)
}

/** Packages that are loaded with their first use, each a part of its own. */
async function lazyPackages() {
  const lazy = TRIMMED.filter(({ isLazy }) => isLazy)
  return await Promise.all(
    lazy.map(async ({ name, contents }) => {
      const stdin = { contents, resolveDir: path.resolve('node_modules', name), loader: 'js' }
      const { outputFiles } = await build({ ...BUNDLE_OPTIONS, stdin, write: false })
      return [`${name}.js`, escapeRest(outputFiles[0].text)]
    }),
  )
}

/** Leaves out the code of threads: in the executable each has a bundle of its own. */
function withoutThreads() {
  return {
    name: 'without-threads',
    setup(build) {
      build.onResolve({ filter: /^\.\/gateway\/workers\// }, ({ path: name, importer }) =>
        importer === path.resolve('src/main.ts') ? { path: name, namespace: 'no-thread' } : undefined,
      )
      build.onLoad({ filter: /.*/, namespace: 'no-thread' }, () => ({ contents: 'export {}', loader: 'js' }))
    },
  }
}
