// Vector tiles of Porto: what each zoom's tiles weigh and how long the first making of one takes.
import { execFileSync } from 'node:child_process'
import { buildChild } from './build-child.mjs'
import { isThere, PORTO } from './extracts.mjs'

export async function run() {
  if (!isThere(PORTO)) return
  const child = await buildChild('tiles-child')
  execFileSync(process.execPath, [child, PORTO], { stdio: 'inherit' })
}
