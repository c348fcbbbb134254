import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Test } from 'tap'
import { dijkstra } from '../../src/api/routing/dijkstra.js'
import { writeExtract } from '../../src/demo/write-extract.js'
import { isAppError } from '../../src/errors.js'
import { cli } from './run-cli.js'
import { directionWords, noteWords, type Outcome, routeWords } from './scenario-answers.js'
import type { Question, Scenario, Traveller } from './scenario-text.js'
import { openSearch, type TestSearch } from './search.js'

/** Time of requests that name none: a Monday, 2 o'clock at night in UTC. */
const DEPART = '2026-01-05 02:00:00Z'
/** Printed by `map build` for an extract in which a traveller can use no road. */
const NO_ROAD = /the extract has no road for/

/** Maps of scenarios behind the method `routing.dijkstra`, and what `map build` printed about them. */
interface BuiltScenarios {
  /** by `nameOf` */
  readonly searches: ReadonlyMap<string, TestSearch>
  readonly counts: ReadonlyMap<string, Record<string, number>>
}

/**
 * Builds the maps of scenarios with `map build`, asks their questions of `routing.dijkstra` and compares. A
 * failed assertion names file and line and shows what was found in the form of what was expected.
 *
 * @returns number of questions asked
 */
export async function runScenarios(t: Test, scenarios: readonly Scenario[]): Promise<number> {
  const built = await buildScenarios(t, scenarios)
  let asked = 0
  for (const [position, scenario] of scenarios.entries()) {
    for (const question of scenario.questions) {
      const found = await findWords(scenario, nameOf(position, question.traveller), question, built)
      const { place, traveller, stops, expected } = question
      t.equal(found, expected, `${place}: ${scenario.title}: ${traveller} ${stops.join('>')}`)
      asked++
    }
  }
  return asked
}

function nameOf(position: number, traveller: Traveller): string {
  return `s${position}-${traveller}`
}

/** Builds a map for each scenario and traveller, and opens a search for each distance of snapping. */
async function buildScenarios(t: Test, scenarios: readonly Scenario[]): Promise<BuiltScenarios> {
  const dir = t.testdir()
  const searches = new Map<string, TestSearch>()
  const counts = new Map<string, Record<string, number>>()
  const searchOf = (snapM: number) => {
    const testdir = () => path.join(dir, `snap-${snapM}`)
    mkdirSync(testdir(), { recursive: true })
    const teardown = (work: () => unknown) => t.teardown(work)
    return openSearch({ testdir, teardown }, {}, { routing: { maxSnapM: snapM } })
  }
  for (const snapM of new Set(scenarios.map((scenario) => scenario.snapM))) {
    const search = searchOf(snapM)
    for (const [position, scenario] of scenarios.entries()) {
      if (scenario.snapM !== snapM) continue
      const extract = path.join(dir, `s${position}.osm.pbf`)
      writeFileSync(extract, writeExtract(scenario.osm))
      for (const traveller of new Set(scenario.questions.map((question) => question.traveller))) {
        const name = nameOf(position, traveller)
        const output = path.join(search.mapsDir, `${name}.graph`)
        const options = ['--output', output, '--profile', traveller, ...scenario.buildArgs, '--json']
        const { code, stdout, stderr } = await cli(dir, ['map', 'build', extract, ...options])
        if (code !== 0 && !NO_ROAD.test(stderr)) throw new Error(`${scenario.place}: map build: ${stderr}`)
        if (code === 0) searches.set(name, search)
        if (code === 0) counts.set(name, (JSON.parse(stdout) as { left: Record<string, number> }).left)
      }
    }
    await search.call('reload', null)
  }
  return { searches, counts }
}

async function findWords(
  scenario: Scenario,
  map: string,
  question: Question,
  { searches, counts }: BuiltScenarios,
): Promise<string> {
  const { kind, stops, expected } = question
  if (kind === 'build') return countWords(expected, counts.get(map) ?? {})
  const search = searches.get(map)
  const askRoute = (places: readonly string[]) => ask(search, map, scenario, question, places)
  const there = await askRoute(stops)
  if (kind === 'route') return routeWords(question, there, scenario.places)
  const back = await askRoute([...stops].reverse())
  return kind === 'notes' ? noteWords(there, back) : directionWords(expected, there, back)
}

/** Asks `routing.dijkstra` for a route over some places. @returns its answer, or the name of its error */
async function ask(
  search: TestSearch | undefined,
  map: string,
  { places, place }: Scenario,
  { params }: Question,
  stops: readonly string[],
): Promise<Outcome> {
  if (search === undefined) return 'OUTSIDE_MAP'
  const points = stops.map((stop) => {
    const found = places.get(stop)
    if (found === undefined) throw new Error(`${place}: the drawing has no place ${stop}`)
    return [found.lng, found.lat]
  })
  try {
    return await search.ask(dijkstra, {
      ...{ map, themes: {}, start_datetime: DEPART },
      ...{ start_lonlat: points[0], via: points.slice(1, -1), goal_lonlat: points.at(-1) },
      ...Object.fromEntries([...params].map(paramOf)),
    })
  } catch (error) {
    if (isAppError(error)) return error.errorName === 'INVALID_PARAMS' ? error.message : error.errorName
    throw error
  }
}

/** Param of a question's `key=value`: `at` is the departure, numbers and truth values are themselves. */
function paramOf([key, value]: readonly [string, string]): [string, unknown] {
  if (key === 'at') return ['start_datetime', value.replace('T', ' ')]
  if (/^(-?\d+(\.\d+)?|true|false|[[{].*)$/.test(value)) return [key, JSON.parse(value)]
  return [key, value]
}

/** Writes the counts of `map build` that a question names, as `name count, name count`. */
function countWords(expected: string, counts: Readonly<Record<string, number>>): string {
  const names = expected.split(',').map((part) => part.trim().split(' ')[0] ?? '')
  return names.map((name) => `${name} ${counts[name] ?? 0}`).join(', ')
}
