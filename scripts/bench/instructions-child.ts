// One process of the bench of instructions: does some work, which another process does a few times less.
import {
  createRandom,
  isFound,
  openWorld,
  type Question,
  randomPoint,
  riskAreas,
  times,
} from './routing-world.js'

const [dataDir = '', work = '', asked = '', tables = ''] = process.argv.slice(2)
const AT = '2026-06-01 00:00:00+00'
/** Cells of the risk tables. */
const KIND = work === 'first-discs' ? 'discs' : 'scattered'

/**
 * Random routes in free flow or under one profile; or first answers, each under a table of its own. Tables are made before,
 * as many in each process.
 */
async function run(asked: number, tables: number): Promise<void> {
  const world = openWorld(dataDir)
  const { graph } = world.map('porto')
  const random = createRandom(7)
  for (let at = 0; at < tables; at++)
    await world.putCells(world.addTheme(`risk_${at}`), riskAreas(graph, KIND, random))
  for (let at = 0; at < asked; at++) {
    const [start, goal] = [randomPoint(graph, random).lonlat, randomPoint(graph, random).lonlat]
    const themes: Question['themes'] = tables === 0 ? {} : { [`risk_${at % tables}`]: times(11) }
    const question = { start_lonlat: start, goal_lonlat: goal, start_datetime: AT, themes }
    await isFound(world, question)
  }
  world.close()
}

void run(Number(asked), Number(tables))
