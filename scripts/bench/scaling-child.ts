// One process of the bench of scaling: serves a map. Its figures leave as a line of JSON.
import { readFileSync } from 'node:fs'
import {
  createRandom,
  isFound,
  now,
  openWorld,
  type Question,
  randomPoint,
  riskAreas,
  times,
} from './routing-world.js'

const [dataDir = '', count = ''] = process.argv.slice(2)
const AT = '2026-06-01 00:00:00+00'

/** Free flow, then one risk profile of discs on 5 % of the roads, `count` random routes under each. */
async function serve(count: number): Promise<void> {
  const from = now()
  const world = openWorld(dataDir)
  const { graph } = world.map('map')
  const random = createRandom(7)
  const ask = async (themes: Question['themes']): Promise<boolean> => {
    const [start, goal] = [randomPoint(graph, random).lonlat, randomPoint(graph, random).lonlat]
    const question = { start_lonlat: start, goal_lonlat: goal, start_datetime: AT, themes }
    return await isFound(world, question)
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
  process.stdout.write(`${JSON.stringify({ openS, rssMb, firstMs, riskRssMb: settledMb(), ms })}\n`)
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

void serve(Number(count))
