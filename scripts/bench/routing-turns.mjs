// Random pairs on every extract, under four risks: counts routes that turn round away from dead ends.
// Options: --pairs=N (5000).
import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { build } from 'esbuild'
import { EXTRACTS, isThere } from './extracts.mjs'
import { option } from './options.mjs'

const CHILD = path.resolve('build/bench-routing-turns.cjs')

export async function run() {
  const extracts = EXTRACTS.filter(isThere)
  if (extracts.length === 0) return
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
  for (const extract of extracts) {
    const { status } = spawnSync(process.execPath, [CHILD, extract, String(option('pairs', 5000))], {
      stdio: 'inherit',
    })
    if (status !== 0) throw new Error(`routing-turns ended with ${status} on ${extract}`)
  }
}
