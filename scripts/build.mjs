// Bundles the program into dist/fieldgate.cjs and each of its threads into a file beside it, and copies the SQLite addon.
import { copyFileSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { build } from 'esbuild'
import { buildConsole } from './build-console.mjs'
import { BUNDLE_OPTIONS, escapeRest } from './bundle-options.mjs'
import { NODE_FLAGS } from './node-flags.mjs'
import { slimPackages } from './slim-packages.mjs'

const addonRoot = path.dirname(createRequire(import.meta.url).resolve('better-sqlite3/package.json'))
mkdirSync('dist', { recursive: true })
mkdirSync('build', { recursive: true })
const metafile = await bundle('dist/fieldgate.cjs', {
  plugins: [slimPackages({ mustMatch: true })],
  entryPoints: ['src/main.ts'],
  banner: { js: `#!/usr/bin/env -S node ${NODE_FLAGS.join(' ')}` },
  metafile: true,
})
writeFileSync('build/bundle.json', JSON.stringify(metafile)) // read by `npm run bench -- footprint`
for (const [role, run] of [
  ['search', 'runSearchWorker'],
  ['help', 'runHelpWorker'],
  ['reader', 'runReaderWorker'],
  ['job', 'runJobWorker'],
  ['backup', 'runBackupWorker'],
])
  await bundle(`dist/${role}-worker.cjs`, {
    plugins: [slimPackages({ mustMatch: false })],
    stdin: workerSource(role, run),
  })

const addon = path.join('dist', 'better_sqlite3.node')
const fresh = `${addon}.${process.pid}`
copyFileSync(path.join(addonRoot, 'prebuilds', `linux-${process.arch}.node`), fresh)
renameSync(fresh, addon) // a running gateway has the old file mapped; writing into it would end it with SIGBUS
await buildConsole()

/** Writes a bundle under another name and renames it: a program that starts meanwhile reads a whole file. */
async function bundle(file, options) {
  const fresh = `${file}.${process.pid}`
  const { metafile } = await build({ ...BUNDLE_OPTIONS, ...options, outfile: fresh })
  writeFileSync(fresh, escapeRest(readFileSync(fresh, 'utf8')))
  renameSync(fresh, file)
  return metafile
}

/** Source of a thread's bundle, which holds only what the thread needs. */
function workerSource(role, run) {
  const contents = `import { parentPort, workerData } from 'node:worker_threads'
import { ${run} } from './src/gateway/workers/${role}.js'
${run}(parentPort, workerData)`
  return { contents, resolveDir: process.cwd(), loader: 'ts' }
}
