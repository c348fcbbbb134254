// Public roads outside the main network, on every extract: routes within an island, and from one island to another
// or to the main network. See routing-islands-child.ts. Options: --points=N (100),
// --turn-costs=KIND (none).
import { spawnSync } from 'node:child_process'
import { buildChild } from './build-child.mjs'
import { EXTRACTS } from './extracts.mjs'
import { option, word } from './options.mjs'

export async function run() {
  if (EXTRACTS.length === 0) console.log('skipped: there are no extracts')
  const child = await buildChild('routing-islands-child')
  for (const extract of EXTRACTS) {
    const args = [child, extract, String(option('points', 100)), word('turn-costs', 'none')]
    const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' })
    if (status !== 0) throw new Error(`routing-islands ended with ${status} on ${extract}`)
  }
}
