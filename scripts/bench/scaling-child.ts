// One process of the bench of scaling: builds a map, or serves one. Its figures leave as a line of JSON.
import { readFileSync } from 'node:fs'
import { buildMap } from '../../src/mapbuild/build-map.js'
import { writeGraphFile } from '../../src/mapbuild/graph/write-graph.js'
import {
  createRandom,
  now,
  openWorld,
  type Question,
  randomPoint,
  riskAreas,
  times,
} from './routing-world.js'

const [mode = '', ...args] = process.argv.slice(2)
const AT = '2026-06-01 00:00:00+00'

/** What `map build` does, without its words. */
async function build(input: string, file: string): Promise<void> {
  const from = now()
  const parts = await buildMap({ input, profile: 'car', country: null, name: 'map', builtBy: 'bench' })
  writeGraphFile(file, parts)
  const buildPeakMb = process.resourceUsage().maxRSS / 1024
  emit({ nodes: parts.nodeCount, arcs: parts.arcCount, buildS: (now() - from) / 1000, buildPeakMb })
}

/** Free flow, then one risk profile of discs on 5 % of the roads, `count` random routes under each. */
async function serve(dataDir: string, count: number): Promise<void> {
  const from = now()
  const world = openWorld(dataDir)
  const { graph } = world.map('map')
  const random = createRandom(7)
  const ask = async (themes: Question['themes']): Promise<boolean> => {
    const [start, goal] = [randomPoint(graph, random).lonlat, randomPoint(graph, random).lonlat]
    const question = { start_lonlat: start, goal_lonlat: goal, start_datetime: AT, themes }
    // a pair without a way between its points gives no answer
    return world.ask(question).then(
      () => true,
      () => false,
    )
  }
  while (!(await ask({})));
  const openS = (now() - from) / 1000
  const rssMb = settledMb()
  await asked(ask, {}, count)
  const ms = await asked(ask, {}, count)
  await world.putCells(world.addTheme('risk'), riskAreas(graph, 'discs', random))
  const themes = { risk: times(11) }
  const before = now()
  while (!(await ask(themes)));
  const firstMs = now() - before
  await asked(ask, themes, count)
  emit({ openS, rssMb, firstMs, riskRssMb: settledMb(), ms })
  world.close()
}

/** Asks for random routes. @returns milliseconds of each that was found */
async function asked(
  ask: (themes: Question['themes']) => Promise<boolean>,
  themes: Question['themes'],
  count: number,
): Promise<number[]> {
  const ms: number[] = []
  while (ms.length < count) {
    const from = now()
    if (await ask(themes)) ms.push(now() - from)
  }
  return ms
}

function settledMb(): number {
  for (let i = 0; i < 5; i++) globalThis.gc?.()
  const [, kB] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
  return Number(kB) / 1000
}

function emit(figures: unknown): void {
  process.stdout.write(`${JSON.stringify(figures)}\n`)
}

if (mode === 'build') void build(args[0] ?? '', args[1] ?? '')
else void serve(args[0] ?? '', Number(args[1]))
