// Random pairs on every extract, under four risks: counts routes that turn round away from dead ends,
// and what they do at turn restrictions (see restriction-oracle.ts); also between the ends of each restriction.
// Options: --pairs=N (5000), --turn-costs=KIND (none).
import { spawnSync } from 'node:child_process'
import { buildChild } from './build-child.mjs'
import { EXTRACTS } from './extracts.mjs'
import { option, word } from './options.mjs'

export async function run() {
  if (EXTRACTS.length === 0) console.log('skipped: there are no extracts')
  const child = await buildChild('routing-turns-child')
  for (const extract of EXTRACTS) {
    const args = [child, extract, String(option('pairs', 5000)), word('turn-costs', 'none')]
    const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' })
    if (status !== 0) throw new Error(`routing-turns ended with ${status} on ${extract}`)
  }
}
