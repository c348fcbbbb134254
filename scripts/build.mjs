// Bundles the gateway into dist/fieldgate.cjs, its threads beside it, and puts the SQLite addon there too.
import { copyFileSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { build } from 'esbuild'
import { buildConsole } from './build-console.mjs'
import { LIGHT_RESPONSE, slimPackages } from './slim-packages.mjs'

const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
const addonRoot = path.dirname(createRequire(import.meta.url).resolve('better-sqlite3/package.json'))
const common = {
  bundle: true,
  plugins: [slimPackages],
  platform: 'node',
  target: 'node20', // an older Node must reach the version check and print one clear line
  format: 'cjs',
  minify: true,
  keepNames: false,
  legalComments: 'none',
  charset: 'ascii', // one byte a character in memory
  define: { __FIELDGATE_VERSION__: JSON.stringify(version) },
  logLevel: 'warning',
}

mkdirSync('dist', { recursive: true })
mkdirSync('build', { recursive: true })
const { metafile } = await build({
  ...common,
  entryPoints: ['src/main.ts'],
  banner: { js: '#!/usr/bin/env node' },
  inject: [LIGHT_RESPONSE],
  outfile: 'dist/fieldgate.cjs',
  metafile: true,
})
writeFileSync('build/bundle.json', JSON.stringify(metafile)) // read by `npm run bench -- footprint`
for (const [role, run] of [
  ['search', 'runSearchWorker'],
  ['job', 'runJobWorker'],
  ['backup', 'runBackupWorker'],
])
  await build({ ...common, stdin: workerSource(role, run), outfile: `dist/${role}-worker.cjs` })

const addon = path.join('dist', 'better_sqlite3.node')
const fresh = `${addon}.${process.pid}`
copyFileSync(path.join(addonRoot, 'prebuilds', `linux-${process.arch}.node`), fresh)
renameSync(fresh, addon) // a running gateway has the old file mapped: writing over it would be a SIGBUS there
await buildConsole()

/** A thread's own bundle: what the other parts of the program need is not read by it. */
function workerSource(role, run) {
  const contents = `import { parentPort, workerData } from 'node:worker_threads'
import { ${run} } from './src/gateway/workers/${role}.js'
${run}(parentPort, workerData)`
  return { contents, resolveDir: process.cwd(), loader: 'ts' }
}
