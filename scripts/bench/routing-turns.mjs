// Random pairs on every extract, under four risks: counts routes that turn round away from dead ends.
// Options: --pairs=N (5000).
import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { build } from 'esbuild'
import { EXTRACTS } from './extracts.mjs'
import { option } from './options.mjs'

const CHILD = path.resolve('build/bench-routing-turns.cjs')

export async function run() {
  if (EXTRACTS.length === 0) console.log('skipped: there are no extracts')
  mkdirSync('build', { recursive: true })
  await build({
    entryPoints: ['scripts/bench/routing-turns-child.ts'],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    outfile: CHILD,
    external: ['better-sqlite3'],
    logLevel: 'warning',
  })
  for (const extract of EXTRACTS) {
    const { status } = spawnSync(process.execPath, [CHILD, extract, String(option('pairs', 5000))], {
      stdio: 'inherit',
    })
    if (status !== 0) throw new Error(`routing-turns ended with ${status} on ${extract}`)
  }
}
