import { mkdirSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { calcRisk } from '../../src/api/routing/calc-risk.js'
import { dijkstra } from '../../src/api/routing/dijkstra.js'
import { isochrone } from '../../src/api/routing/isochrone.js'
import { matrix } from '../../src/api/routing/matrix.js'
import { isAppError } from '../../src/errors.js'
import { createFetchedThemes } from '../../src/route-engine/fetched-themes.js'
import { createThemeRows } from '../../src/storage/postgres/table-reads/theme-rows.js'
import type { LoaderTable } from '../../src/storage/tables.js'
import { noPostgres } from '../support/postgres.js'
import { type PostgresTables, postgresTables } from '../support/postgres-tables.js'
import { seeded } from '../support/random-graph.js'
import { openSearch, type TestSearch } from '../support/search.js'
import { feature } from '../support/tables.js'
import { at, unevenTown } from '../support/town.js'

const SIZE = 9
const MAPS = { town: unevenTown(SIZE) }
const COLUMNS = [
  { name: 'id', udtName: 'int4' as const },
  { name: 'risk', udtName: 'int4' as const },
]
const THEMES = ['flood', 'riskmap_wind'] as const
const MINUTES = 12

/** A gateway's search and that of a hub, over the same maps and rows. */
interface Both {
  readonly gateway: TestSearch
  readonly hub: TestSearch
  readonly world: PostgresTables
  /** questions that the hub's search has asked of the database, and those for cells at several instants */
  readonly questions: () => number
  readonly laterQuestions: () => number
  put(theme: string, features: readonly unknown[]): Promise<void>
}

t.test('routes on a hub', { skip: noPostgres() }, async (t) => {
  const openTables = await postgresTables(t)

  await t.test('hub: answers have the bytes of a gateway with the same rows and maps', async (t) => {
    const both = await openBoth(t, openTables)
    const random = seeded(41)
    let answers = 0
    for (let state = 0; state < 4; state++) {
      await both.put('flood', cells(random, state === 1 ? 150 : 30))
      if (state !== 2) await both.put('riskmap_wind', cells(random, 20))
      for (let n = 0; n < 14; n++) {
        for (const [method, params] of requests(random)) {
          const expected = await textOf(both.gateway.askText(method, [params]))
          const found = await textOf(both.hub.askText(method, [params]))
          if (found !== expected) t.equal(found, expected, JSON.stringify(params))
          if (!expected.startsWith('error')) answers++
        }
      }
    }
    t.ok(answers > 250, `${answers} answers compared`)
    t.ok(both.questions() > 4 * 14, 'each request reads the state of its tables')
    t.ok(both.laterQuestions() > 10, `${both.laterQuestions()} questions for cells at several instants`)
  })

  await t.test('hub: a question for each request, one more for cells that are not prepared', async (t) => {
    const both = await openBoth(t, openTables)
    await both.put('flood', cells(seeded(1), 30))
    const ask = async () => {
      const before = both.questions()
      const params = { ...ends(0.3, 0.2, 7.6, 7.9), themes: { flood: SENSITIVITY } }
      await both.hub.askText(dijkstra, [{ ...params, start_datetime: time(3.5) }])
      return both.questions() - before
    }
    t.equal(await ask(), 2)
    t.equal(await ask(), 1)
    await both.put('flood', [cell(0.2, 0.1, 3, 4, { id: 500, risk: 9 })])
    t.equal(await ask(), 2)
    t.equal(await ask(), 1)
    const before = both.questions()
    await both.hub.askText(dijkstra, [{ ...ends(0.3, 0.2, 7.6, 7.9), themes: {}, start_datetime: time(3.5) }])
    t.equal(both.questions(), before, 'a route without themes needs no database')
  })

  await t.test('hub: a change that another process acknowledged is in the next answer', async (t) => {
    const both = await openBoth(t, openTables)
    const other = both.world.another()
    const table = await other.reader.find('flood')
    const params = { ...ends(0.3, 0.2, 7.6, 7.9), themes: { flood: SENSITIVITY }, start_datetime: time(3) }
    const costs = new Set<number>()
    let last = 0
    for (let state = 0; state < 6; state++) {
      // each covers more of the town
      const wider = cell(-1, -1, SIZE + 1, state + 0.5, { id: state, risk: 8 })
      await other.put(table as LoaderTable, [wider], 'override')
      const { total_cost } = await both.hub.ask(dijkstra, [params])
      t.ok(total_cost >= last)
      last = total_cost
      costs.add(total_cost)
    }
    t.ok(costs.size > 3, 'the risk grew, and the costs with it')
  })

  await t.test('hub: UNKNOWN_THEME names the themes of the database, as on a gateway', async (t) => {
    const both = await openBoth(t, openTables)
    const text = (search: TestSearch) =>
      textOf(
        search.askText(dijkstra, [
          { ...ends(0, 0, 1, 1), themes: { snow: SENSITIVITY }, start_datetime: time(1) },
        ]),
      )
    t.match(await text(both.hub), /UNKNOWN_THEME.*flood.*wind/)
    t.equal(await text(both.hub), await text(both.gateway))
  })

  await t.test('hub: a table that is dropped and made again is another one', async (t) => {
    const both = await openBoth(t, openTables)
    const ask = () =>
      both.hub.ask(dijkstra, [
        { ...ends(0.3, 0.2, 7.6, 7.9), themes: { flood: SENSITIVITY }, start_datetime: time(3) },
      ])
    await both.put('flood', [cell(-1, -1, SIZE + 1, SIZE + 1, { id: 1, risk: 8 })])
    t.equal((await ask()).max_risk, 8)
    const { world } = both
    await world.store.drop((await world.reader.find('flood')) as LoaderTable)
    t.match(await textOf(ask().then(String)), /UNKNOWN_THEME/)
    const made = await world.register('flood', COLUMNS, ['id'])
    await world.put(made, [cell(-1, -1, SIZE + 1, SIZE + 1, { id: 1, risk: 3 })])
    t.equal((await ask()).max_risk, 3)
  })

  await t.test('hub: cells that take too long are ended with TIME_LIMIT', async (t) => {
    const both = await openBoth(t, openTables, 0)
    await both.put('flood', [cell(0, 0, 1, 1, { id: 1, risk: 8 })])
    const found = both.hub.askText(dijkstra, [
      { ...ends(0, 0, 1, 1), themes: { flood: SENSITIVITY }, start_datetime: time(1) },
    ])
    t.match(await textOf(found), /TIME_LIMIT/)
  })
})

const SENSITIVITY = [0, 0.1, 0.2, 0.5, 1, 2, 3, 5, 8, 10, 9999]
const LEVELS = [null, -3, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 14]

async function openBoth(
  t: { testdir(): string; teardown(work: () => unknown): unknown },
  openTables: Awaited<ReturnType<typeof postgresTables>>,
  limitMs = 60_000,
): Promise<Both> {
  const world = await openTables(t)
  let [questions, laterQuestions] = [0, 0]
  let clockMs = 0
  const rows = createThemeRows(world.context, {
    ...{ levelColumn: 'risk', limitMs },
    nowMs: () => (limitMs === 0 ? ++clockMs : 0),
  })
  const reader = createFetchedThemes({
    read(question) {
      questions++
      if (question.cells.some(({ instantsUs }) => instantsUs.length > 1)) laterQuestions++
      return rows.read(structuredClone(question))
    },
  })
  const dir = t.testdir()
  const placeOf = (name: string) => {
    mkdirSync(path.join(dir, name), { recursive: true })
    return { testdir: () => path.join(dir, name), teardown: (work: () => unknown) => t.teardown(work) }
  }
  // the next slots are prepared by no other request
  const settings = { routing: { riskSlotS: 1 } }
  const gateway = openSearch(placeOf('gateway'), MAPS, settings)
  const hub = openSearch(placeOf('hub'), MAPS, settings, true, reader)
  const tables = new Map<string, readonly [LoaderTable, LoaderTable]>()
  for (const name of THEMES)
    tables.set(name, [gateway.addTheme(name), await world.register(name, COLUMNS, ['id'])])
  return {
    ...{ gateway, hub, world },
    questions: () => questions,
    laterQuestions: () => laterQuestions,
    async put(theme, features) {
      const [onGateway, onHub] = tables.get(theme) ?? []
      await gateway.tables.put(onGateway as LoaderTable, features, 'override')
      await world.put(onHub as LoaderTable, features, 'override')
    },
  }
}

/** Returns the text of an answer, or of the error. */
async function textOf(answer: Promise<string>): Promise<string> {
  try {
    return await answer
  } catch (error) {
    if (!isAppError(error)) throw error
    return `error ${error.errorName} ${error.message} ${JSON.stringify(error.data)}`
  }
}

/** Minutes, as trips through the town take some: those that depend on time meet several states of the risk. */
function time(minute: number): string {
  return new Date(Date.UTC(2026, 0, 1) + Math.round(minute * 60_000)).toISOString()
}

/** A rectangle between crossings of the town. */
function cell(
  west: number,
  south: number,
  east: number,
  north: number,
  properties: Record<string, unknown>,
): unknown {
  const [low, high] = [at(west, south), at(east, north)]
  const ring = [low, [high[0], low[1]], high, [low[0], high[1]], low]
  return feature({ type: 'Polygon', coordinates: [ring] }, properties)
}

/** Cells of random places, shapes, levels and times: on the minute, between, open, infinite, of no length. */
function cells(random: () => number, count: number): unknown[] {
  const some = (from: number, to: number) => from + random() * (to - from)
  const timeOrOpen = (open: string) => {
    const pick = random()
    if (pick < 0.08) return null
    if (pick < 0.14) return open
    return time(pick < 0.6 ? Math.floor(some(0, MINUTES)) : some(0, MINUTES))
  }
  return Array.from({ length: count }, (_, n) => {
    const [x, y] = [some(-1, SIZE), some(-1, SIZE)]
    const start = timeOrOpen('-infinity')
    const later = timeOrOpen('infinity')
    const isOrdered = start === null || later === null || start < later || later === 'infinity'
    const end = random() < 0.1 ? start : isOrdered || start === '-infinity' ? later : null
    const risk = LEVELS[Math.floor(random() * LEVELS.length)]
    const properties = {
      id: Math.floor(some(0, 200)),
      ...{ risk, start_datetime: start, end_datetime: end === '-infinity' ? null : end },
    }
    if (n % 3 > 0) return cell(x, y, x + some(0.1, 2), y + some(0.1, 2), properties)
    const ring = [at(x, y), at(x + some(0.2, 2), y + 0.3), at(x + 0.3, y + some(0.2, 2)), at(x, y)]
    return feature({ type: 'Polygon', coordinates: [ring] }, properties)
  })
}

function ends(fromX: number, fromY: number, toX: number, toY: number) {
  return { start_lonlat: at(fromX, fromY), goal_lonlat: at(toX, toY) }
}

/** Requests of every method that reads risk. */
function requests(random: () => number): [Parameters<TestSearch['askText']>[0], object][] {
  const place = () => random() * (SIZE - 1)
  const point = () => at(place(), place())
  const start_datetime = time(random() < 0.5 ? Math.floor(random() * MINUTES) : random() * MINUTES)
  const themes = {
    ...(random() < 0.9 ? { flood: SENSITIVITY } : {}),
    ...(random() < 0.6 ? { wind: SENSITIVITY.map((each) => each / 3) } : {}),
  }
  const between = { ...ends(place(), place(), place(), place()), themes, start_datetime }
  const [x, y] = [place(), place()]
  const closed = { type: 'Polygon', coordinates: [[at(x, y), at(x + 0.7, y), at(x, y + 0.7), at(x, y)]] }
  return [
    [dijkstra, { ...between, via: [point()], with_kml: true }],
    [dijkstra, { ...between, avoid_polygons: [closed], alternatives: 2 }],
    [dijkstra, { ...between, via: [point(), point(), point()], reorder_waypoints: true }],
    [dijkstra, { ...between, depart: 'time_dependent' }],
    [matrix, { themes, start_datetime, sources: [point(), point()], targets: [point(), point()] }],
    [isochrone, { themes, start_datetime, lonlat: point(), costs: [0.01, 0.05] }],
    [
      calcRisk,
      {
        themes: Object.keys(themes),
        route: [{ start_lonlat: point(), end_lonlat: point() }, { end_lonlat: point() }],
        start_datetime,
        speed: 3,
      },
    ],
  ]
}
