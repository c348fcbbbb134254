// The hierarchy, and departures over time, beside independent searches on four real places, in numbers that take
// most of an hour: 20,000 random queries over 40 random mixes of risk, closed areas, vehicles and times.
// Options: --profiles=N (40 in all), --queries=N (500 a profile), --timed=N (25 of them over time), --seed=N.
import { spawnSync } from 'node:child_process'
import { buildChild } from './build-child.mjs'
import { COLUMBUS, isThere, MONACO, PORTO, PORTO_ALEGRE } from './extracts.mjs'
import { option } from './options.mjs'

/** Share of the profiles: Porto is the largest, Porto Alegre has most limits and conditions. */
const PLACES = [
  { extract: PORTO, turnCosts: 'main', share: 0.4 },
  { extract: PORTO_ALEGRE, turnCosts: 'full', share: 0.3 },
  { extract: COLUMBUS, turnCosts: 'none', share: 0.2 },
  { extract: MONACO, turnCosts: 'full', share: 0.1 },
]

export async function run() {
  const child = await buildChild('routing-exact-child')
  const counts = [option('queries', 500), option('timed', 25)].map(String)
  let failed = 0
  for (const [i, { extract, turnCosts, share }] of PLACES.entries()) {
    if (!isThere(extract)) continue
    const profiles = String(Math.max(1, Math.round(option('profiles', 40) * share)))
    const args = [child, extract, turnCosts, profiles, ...counts, String(option('seed', 2026) + i)]
    const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' })
    if (status !== 0) failed++
  }
  if (failed > 0) throw new Error(`routing-exact: ${failed} of the places had faults`)
}
