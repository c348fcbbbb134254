// How figures grow with the map: 1, 5, 20 and 60 joined Portos. Each row of figures is a process of its own, with the flags
// and the allocator of an installation, except the build. Options: --most=N (largest number of Portos, 60), --pairs=N
// (random routes, 500). Writes docs/pictures/scaling.svg and build/scaling.json. BENCH_CPU=1 counts CPU times.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { NODE_FLAGS, UNIT_ENV } from '../node-flags.mjs'
import { drawScaling, slopeOf } from '../pictures/draw-scaling.mjs'
import { buildChild } from './build-child.mjs'
import { isThere, makeMosaic, PORTO } from './extracts.mjs'
import { spread } from './load.mjs'
import { option } from './options.mjs'

/** Portos across and down. */
const GRIDS = [
  [1, 1],
  [1, 5],
  [4, 5],
  [6, 10],
]

/** The largest map and its profiles are more than a gateway holds unless it is told to: it would search without hierarchy. */
const ROOM = {
  FIELDGATE_ROUTING__MAX_MAP_BYTES: String(2 ** 30),
  FIELDGATE_ROUTING__PROFILE_CACHE_BYTES: String(2 ** 30),
  // as on a board of 1 GB
  FIELDGATE_ROUTING__MAP_PAGE_BYTES: String(16 * 2 ** 20),
}

/** Figure → its title and unit, in the order of the table and the picture. */
const FIGURES = {
  buildS: ['map build', 's'],
  buildPeakMb: ['peak of map build', 'MB'],
  fileMb: ['map file', 'MB'],
  openS: ['load to first answer', 's'],
  rssMb: ['RSS, free flow', 'MB'],
  routeMs: ['route, median', 'ms'],
  firstMs: ['first answer, new profile', 'ms'],
  riskRssMb: ['RSS, one profile more', 'MB'],
}

export async function run() {
  if (!isThere(PORTO)) return
  const children = { build: await buildChild('routing-child'), serve: await buildChild('scaling-child') }
  const rows = []
  for (const [across, down] of GRIDS) {
    if (across * down > option('most', 60)) continue
    const extract = makeMosaic(across, down)
    if (extract === undefined) return
    const row = await measure(children, across * down, extract)
    rows.push(row)
    console.log(
      `${row.portos} Portos, ${row.nodes} nodes: ${Object.entries(FIGURES)
        .map(([key, [title, unit]]) => `${title} ${row[key].toPrecision(3)} ${unit}`)
        .join(', ')}`,
    )
  }
  for (const [key, [title]] of Object.entries(FIGURES))
    if (rows.length > 1)
      console.log(
        `${title}: grows as nodes ^ ${slopeOf(rows.map((row) => [row.nodes, row[key]])).toFixed(2)}`,
      )
  writeFileSync('build/scaling.json', `${JSON.stringify(rows, null, 2)}\n`)
  writeFileSync('docs/pictures/scaling.svg', drawScaling(rows, FIGURES))
}

async function measure(children, portos, extract) {
  const dataDir = path.resolve(`build/bench-scaling-${portos}`)
  rmSync(dataDir, { recursive: true, force: true })
  mkdirSync(path.join(dataDir, 'maps'), { recursive: true })
  const toBuild = ['build', dataDir, 'map', extract]
  const built = await runChild(children.build, toBuild, {}, ['--max-old-space-size=12000'])
  const { nodeCount: nodes, arcCount: arcs, bytes, wallS: buildS, peakMb: buildPeakMb } = built
  const toServe = [dataDir, String(option('pairs', 500))]
  const { ms, ...figures } = await runChild(children.serve, toServe, { ...UNIT_ENV, ...ROOM }, NODE_FLAGS)
  const routeMs = spread(ms).p50Ms
  return { ...{ portos, nodes, arcs, buildS, buildPeakMb, fileMb: bytes / 1e6 }, ...figures, routeMs }
}

/** Runs a child process, which prints one line of figures. */
async function runChild(child, args, env, flags) {
  const started = spawn(process.execPath, ['--expose-gc', ...flags, child, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  })
  const ended = once(started, 'close')
  let figures
  for await (const line of createInterface({ input: started.stdout })) figures = JSON.parse(line)
  const [code] = await ended
  if (code !== 0 || figures === undefined) throw new Error(`${path.basename(child)} ended with ${code}`)
  return figures
}
