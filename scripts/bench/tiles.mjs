// Vector tiles of Porto: what each zoom's tiles weigh and how long the first making of one takes.
import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { build } from 'esbuild'
import { isThere, PORTO } from './extracts.mjs'

const CHILD = path.resolve('build/bench-tiles.cjs')

export async function run() {
  if (!isThere(PORTO)) return
  mkdirSync('build', { recursive: true })
  await build({
    entryPoints: ['scripts/bench/tiles-child.ts'],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    outfile: CHILD,
    logLevel: 'warning',
  })
  execFileSync(process.execPath, [CHILD, PORTO], { stdio: 'inherit' })
}
