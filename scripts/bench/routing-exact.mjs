// The hierarchy beside layer 1 on Porto, in numbers that take minutes: 20,000 random queries over 40 random
// profiles. Options: --profiles=N (40), --queries=N (500 a profile).
import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { build } from 'esbuild'
import { isThere, PORTO } from './extracts.mjs'
import { option } from './options.mjs'

const CHILD = path.resolve('build/bench-routing-exact.cjs')

export async function run() {
  if (!isThere(PORTO)) return
  mkdirSync('build', { recursive: true })
  await build({
    entryPoints: ['scripts/bench/routing-exact-child.ts'],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    outfile: CHILD,
    external: ['better-sqlite3'],
    logLevel: 'warning',
  })
  const counts = [option('profiles', 40), option('queries', 500)].map(String)
  const { status } = spawnSync(process.execPath, [CHILD, PORTO, ...counts], { stdio: 'inherit' })
  if (status !== 0) throw new Error(`routing-exact ended with ${status}`)
}
