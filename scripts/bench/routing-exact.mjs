// The hierarchy, and departures over time, beside independent searches on four real places, in numbers that take
// most of an hour: 20,000 random queries over 40 random mixes of risk, closed areas, vehicles and times.
// Each profile is made by one thread and by several: the answers must be the same bytes.
// Options: --profiles=N (40 in all), --queries=N (500 a profile), --timed=N (25 of them over time), --seed=N,
// --place=NAME (that one alone: porto, alegre, columbus, monaco), --mosaic=N (that many joined Portos alone, not over time).
import { spawnSync } from 'node:child_process'
import { buildChild } from './build-child.mjs'
import { COLUMBUS, isThere, MONACO, makeMosaic, PORTO, PORTO_ALEGRE } from './extracts.mjs'
import { option, word } from './options.mjs'

/** Share of the profiles: Porto is the largest, Porto Alegre has most limits and conditions. */
const PLACES = [
  { name: 'porto', extract: PORTO, turnCosts: 'main', share: 0.4 },
  { name: 'alegre', extract: PORTO_ALEGRE, turnCosts: 'full', share: 0.3 },
  { name: 'columbus', extract: COLUMBUS, turnCosts: 'none', share: 0.2 },
  { name: 'monaco', extract: MONACO, turnCosts: 'full', share: 0.1 },
]

export async function run() {
  const child = await buildChild('routing-exact-child')
  let failed = 0
  for (const [i, { extract, turnCosts, share, isLarge = false }] of chosenPlaces().entries()) {
    if (extract === undefined || !isThere(extract)) continue
    const profiles = Math.max(1, Math.round(option('profiles', 40) * share))
    const counts = [profiles, option('queries', 500), isLarge ? 0 : option('timed', 25)]
    const words = [...counts, option('seed', 2026) + i, isLarge ? 'large' : 'town'].map(String)
    const args = ['--max-old-space-size=12000', child, extract, turnCosts, ...words]
    const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' })
    if (status !== 0) failed++
  }
  if (failed > 0) throw new Error(`routing-exact: ${failed} of the places had faults`)
}

function chosenPlaces() {
  const portos = option('mosaic', 0)
  if (portos > 0) {
    const across = Math.max(...[1, 2, 3, 4, 5, 6].filter((columns) => portos % columns === 0))
    return [{ extract: makeMosaic(across, portos / across), turnCosts: 'none', share: 1, isLarge: true }]
  }
  const only = word('place', '')
  if (only === '') return PLACES
  const found = PLACES.find(({ name }) => name === only)
  if (found === undefined)
    throw new Error(`Found --place=${only}, expected one of ${PLACES.map(({ name }) => name).join(', ')}`)
  return [{ ...found, share: 1 }]
}
