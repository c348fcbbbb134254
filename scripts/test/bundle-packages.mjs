// Bundles the packages that tests load most of, so that a file of tests reads a few files instead of a
// thousand. `npm test` does it once; a file of tests that runs alone loads them from node_modules.
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { build } from 'esbuild'

/** Packages of many files. Those with native code, or that start threads from their own files, are left out. */
const PACKAGES = [
  ...['zod', 'hono', '@hono/node-server', '@tus/server', 'undici', 'prom-client', 'fast-check'],
  ...['drizzle-orm', 'drizzle-orm/sqlite-core', 'drizzle-orm/better-sqlite3'],
]

/**
 * Random cases of properties are the same in each run, so that a fault of one change is not met in the run of
 * another. TEST_SEED=N draws others, `npm run fuzz` new ones each time.
 */
const SEED = `import { configureGlobal } from 'fast-check'; configureGlobal({ seed: Number(process.env.TEST_SEED ?? 1) })`

/**
 * Writes the bundles to a folder. Packages share what they have in common, so that each exists once.
 *
 * @returns file of each package
 */
export async function bundlePackages(outdir) {
  const files = Object.fromEntries(PACKAGES.map((name) => [name, name.replaceAll(/[@/]/g, '_')]))
  const entries = await Promise.all(PACKAGES.map(async (name) => [name, await entryOf(name)]))
  entries.push(['fast-check', `${Object.fromEntries(entries)['fast-check']}; ${SEED}`])
  await build({
    entryPoints: Object.entries(files).map(([name, out]) => ({ in: `entry:${name}`, out })),
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    external: ['better-sqlite3'],
    outdir,
    outExtension: { '.js': '.mjs' },
    banner: {
      js: "import { createRequire as fieldgateRequire } from 'node:module'; const require = fieldgateRequire(import.meta.url)",
    },
    logLevel: 'error',
    plugins: [entryPlugin(Object.fromEntries(entries))],
  })
  return Object.fromEntries(
    Object.entries(files).map(([name, out]) => [name, path.resolve(outdir, `${out}.mjs`)]),
  )
}

/** Module that exports what a package exports. Names of a CommonJS package are those that Node finds. */
async function entryOf(name) {
  const names = Object.keys(await import(name))
  if (!isCommonJs(name))
    return `export * from '${name}'${names.includes('default') ? `; export { default } from '${name}'` : ''}`
  const listed = names.filter((each) => /^\w+$/.test(each) && each !== 'default').join(', ')
  return `import all from '${name}'; export default all; export const { ${listed} } = all`
}

function isCommonJs(name) {
  const require = createRequire(import.meta.url)
  const [root] = require.resolve.paths(name).filter((dir) => existsSync(path.join(dir, name, 'package.json')))
  if (root === undefined) return false
  return JSON.parse(readFileSync(path.join(root, name, 'package.json'), 'utf8')).type !== 'module'
}

function entryPlugin(entries) {
  return {
    name: 'entries',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^entry:/ }, ({ path: name }) => ({ path: name.slice(6), namespace: 'entry' }))
      onLoad({ filter: /./, namespace: 'entry' }, ({ path: name }) => ({
        contents: entries[name],
        resolveDir: process.cwd(),
      }))
    },
  }
}
