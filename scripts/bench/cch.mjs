// The hierarchy beside flat Dijkstra in the same process, every cost compared: Porto, and 20 joined Portos
// where osmium-tool is.
import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { build } from 'esbuild'
import { isThere, makeMosaic, PORTO } from './extracts.mjs'

const CHILD = path.resolve('build/bench-cch.cjs')

export async function run() {
  if (!isThere(PORTO)) return
  mkdirSync('build', { recursive: true })
  await build({
    entryPoints: ['scripts/bench/cch-child.ts'],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    outfile: CHILD,
    logLevel: 'warning',
  })
  measure('porto', PORTO, 1000)
  const mosaic = makeMosaic()
  if (mosaic !== undefined) measure('mosaic20', mosaic, 100)
}

/** Pairs are as many as flat Dijkstra can answer in some minutes. */
function measure(name, extract, pairs) {
  const map = path.resolve(`build/bench-${name}.graph`)
  for (const mode of ['build', 'measure', 'memory']) {
    const args = [
      '--expose-gc',
      CHILD,
      mode,
      map,
      extract,
      String(pairs),
      path.resolve('build/bench-porto.graph'),
    ]
    execFileSync(process.execPath, args, { stdio: 'inherit' })
  }
}
