// Bundles the gateway into dist/fieldgate.cjs and puts the SQLite addon beside it.
import { copyFileSync, mkdirSync, readFileSync, renameSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { build } from 'esbuild'

const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
const addonRoot = path.dirname(createRequire(import.meta.url).resolve('better-sqlite3/package.json'))

mkdirSync('dist', { recursive: true })
await build({
  entryPoints: ['src/main.ts'],
  bundle: true,
  platform: 'node',
  target: 'node20', // an older Node must reach the version check and print one clear line
  format: 'cjs',
  minify: true,
  keepNames: false,
  legalComments: 'none',
  banner: { js: '#!/usr/bin/env node' },
  define: { __FIELDGATE_VERSION__: JSON.stringify(version) },
  outfile: 'dist/fieldgate.cjs',
  logLevel: 'warning',
})
const addon = path.join('dist', 'better_sqlite3.node')
const fresh = `${addon}.${process.pid}`
copyFileSync(path.join(addonRoot, 'prebuilds', `linux-${process.arch}.node`), fresh)
renameSync(fresh, addon) // a running gateway has the old file mapped: writing over it would be a SIGBUS there
