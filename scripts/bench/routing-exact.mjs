// The hierarchy beside layer 1 on Porto, in numbers that take minutes: 20,000 random queries over 40 random
// profiles. Options: --profiles=N (40), --queries=N (500 a profile).
import { spawnSync } from 'node:child_process'
import { buildChild } from './build-child.mjs'
import { isThere, PORTO } from './extracts.mjs'
import { option } from './options.mjs'

export async function run() {
  if (!isThere(PORTO)) return
  const child = await buildChild('routing-exact-child')
  const counts = [option('profiles', 40), option('queries', 500)].map(String)
  const { status } = spawnSync(process.execPath, [child, PORTO, ...counts], { stdio: 'inherit' })
  if (status !== 0) throw new Error(`routing-exact ended with ${status}`)
}
