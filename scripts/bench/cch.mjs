// The hierarchy beside flat Dijkstra in the same process, every cost compared: Porto, and 20 joined Portos
// where osmium-tool is.
import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { buildChild, childPath } from './build-child.mjs'
import { isThere, makeMosaic, PORTO } from './extracts.mjs'

const CHILD = childPath('cch-child')

export async function run() {
  if (!isThere(PORTO)) return
  await buildChild('cch-child')
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
