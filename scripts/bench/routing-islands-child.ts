// One process: random points on public roads outside the main network of a real map, asked through
// `routing.dijkstra`. Islands and what can be reached on them are found anew, on the open roads alone.
//
// - A pair within one island, where its roads lead from one point to the other, must be answered there: neither
//   end is moved by more than a metre.
// - Of every other answer, each end that was moved by more than a metre must be told: the distance, and the nearer
//   road that was passed over.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { isAppError } from '../../src/errors.js'
import { distanceM } from '../../src/geo/geodesic.js'
import { buildMap } from '../../src/mapbuild/build-map.js'
import { writeGraphShared } from '../../src/mapbuild/graph/write-graph.js'
import { cutLine } from '../../src/routing/graph/geometry.js'
import { ENDS_ONLY, type Graph, LINK_FLAG } from '../../src/routing/graph/graph.js'
import { createRandom, type Lonlat, mapPath, openWorld } from './routing-world.js'
import type { Kind } from './turn-oracle.js'

const [extract = '', points = '100', kind = 'none'] = process.argv.slice(2)
/** An end that is moved by less lies where it was asked for: coordinates have a centimetre. */
const MOVED_M = 1

/** A point on a road outside the main network. */
interface Place {
  readonly segment: number
  readonly island: number
  /** share of the corners of its line that lie before it */
  readonly share: number
  readonly lonlat: Lonlat
}

interface EndSnap {
  readonly lonlat: Lonlat
  readonly distance: number
  readonly passed_over: { readonly distance: number } | null
}

interface IslandAnswer {
  readonly geojson: {
    readonly features: { properties: { edge_id: number }; geometry: { coordinates: Lonlat[] } }[]
  }
  readonly start_snap: EndSnap
  readonly goal_snap: EndSnap
}

type World = ReturnType<typeof openWorld>

async function main(): Promise<void> {
  const dataDir = mkdtempSync(path.join(os.tmpdir(), 'bench-islands-'))
  try {
    const first = openWorld(dataDir)
    first.close()
    const parts = await buildMap({
      input: extract,
      profile: 'car',
      country: null,
      turnCosts: kind as Kind, // by the options of the bench
      name: 'x',
      builtBy: 'bench',
    })
    writeFileSync(mapPath(dataDir, 'x'), new Uint8Array(writeGraphShared(parts)))
    const world = openWorld(dataDir)
    await world.warm()
    await report(world)
    world.close()
  } finally {
    rmSync(dataDir, { recursive: true })
  }
}

async function report(world: World): Promise<void> {
  const { graph } = world.map('x')
  const islandOf = findIslands(graph)
  const random = createRandom(23)
  const outside = islandOf.flatMap((island, segment) => (island >= 0 ? [segment] : []))
  const place = (segment: number): Place => {
    const share = random()
    return { segment, share, island: islandOf[segment]!, lonlat: pointOn(graph, segment, share) }
  }
  const pick = (from: readonly number[]) => from[Math.floor(random() * from.length)]!
  const tally = { within: 0, noWay: 0, across: 0, none: 0, moved: 0 }
  const faults: string[] = []
  const places =
    outside.length === 0 ? [] : Array.from({ length: Number(points) }, () => place(pick(outside)))
  for (const [i, start] of places.entries()) {
    const goal = place(pick(outside.filter((segment) => islandOf[segment] === start.island)))
    const isWay = leads(graph, islandOf, start, goal)
    const answer = await ask(world, start, goal)
    if (isWay) {
      tally.within++
      if (answer === undefined) faults.push(`no route from ${start.lonlat} to ${goal.lonlat}`)
      else faults.push(...staysThere(answer, start, goal))
    } else {
      tally.noWay++
      if (answer !== undefined) faults.push(...tells(answer, start, goal))
    }
    const other = places[(i + 1) % places.length]!
    if (other.island === start.island) continue
    tally.across++
    const far = await ask(world, start, other)
    if (far === undefined) tally.none++
    else {
      if (far.start_snap.distance > MOVED_M || far.goal_snap.distance > MOVED_M) tally.moved++
      faults.push(...tells(far, start, other))
    }
  }
  const islands = new Set(islandOf.filter((island) => island >= 0)).size
  console.log(
    `${extract.replace(/.*\//, '')}: ${islands} islands, ${outside.length} roads, ${places.length} points; ${tally.within} pairs within an island, ${tally.noWay} without a way there; ${tally.across} pairs across, ${tally.none} of them without a route, ${tally.moved} with a moved end; ${faults.length} FAULTS`,
  )
  for (const fault of faults) console.log(`  ${fault}`)
  if (faults.length > 0) process.exitCode = 1
}

async function ask(world: World, start: Place, goal: Place): Promise<IslandAnswer | undefined> {
  try {
    const question = {
      start_lonlat: start.lonlat,
      goal_lonlat: goal.lonlat,
      start_datetime: '2026-01-01 00:00:00Z',
      themes: {},
    }
    return JSON.parse(String(await world.ask(question))) as IslandAnswer
  } catch (error) {
    if (isAppError(error) && error.errorName === 'NO_ROUTE') return undefined
    throw error
  }
}

/** Faults of an answer that must lie on an island. */
function staysThere(answer: IslandAnswer, start: Place, goal: Place): string[] {
  const name = `from ${start.lonlat} to ${goal.lonlat}`
  const faults = tells(answer, start, goal)
  if (answer.start_snap.distance > MOVED_M || answer.goal_snap.distance > MOVED_M)
    faults.push(`an end was moved ${name}`)
  return faults
}

/** Faults of what an answer says of its ends, beside its own line. */
function tells({ geojson, start_snap, goal_snap }: IslandAnswer, start: Place, goal: Place): string[] {
  const line = geojson.features.flatMap(({ geometry }) => geometry.coordinates)
  const ends = [
    [start, start_snap, line[0]],
    [goal, goal_snap, line.at(-1)],
  ] as const
  const faults: string[] = []
  for (const [{ lonlat }, told, drawn] of ends) {
    if (drawn !== undefined && distanceM([...drawn], [...told.lonlat]) > 0.1)
      faults.push(`an end at ${drawn}, told ${told.lonlat}`)
    const movedM = distanceM([...lonlat], [...told.lonlat])
    if (Math.abs(movedM - told.distance) > 0.5 + movedM / 500)
      faults.push(`${lonlat} moved ${movedM} m, told ${told.distance}`)
    if (movedM <= MOVED_M) continue
    if (told.passed_over === null || told.passed_over.distance > MOVED_M)
      faults.push(`${lonlat} moved ${movedM} m, nothing told`)
  }
  return faults
}

/** Segment → its island, by the open roads that join; -1 = main network, private, ferry, or closed. */
function findIslands(graph: Graph): number[] {
  const { segmentCount, segmentTail, segmentHead, junctionCount, linkFlags, linkSpeed } = graph
  const flagsOf = (segment: number) =>
    [segment * 2, segment * 2 + 1].reduce(
      (flags, link) => (linkSpeed[link]! > 0 ? flags | linkFlags[link]! : flags),
      0,
    )
  const isOutside = Array.from({ length: segmentCount }, (_, segment) => {
    const isOpen = linkSpeed[segment * 2]! > 0 || linkSpeed[segment * 2 + 1]! > 0
    return isOpen && (flagsOf(segment) & (LINK_FLAG.MAIN | LINK_FLAG.FERRY | ENDS_ONLY)) === 0
  })
  const parent = Array.from({ length: junctionCount }, (_, junction) => junction)
  const find = (junction: number): number => {
    let at = junction
    while (parent[at] !== at) at = parent[at] = parent[parent[at]!]!
    return at
  }
  for (let segment = 0; segment < segmentCount; segment++)
    if (isOutside[segment]) parent[find(segmentTail[segment]!)] = find(segmentHead[segment]!)
  return isOutside.map((outside, segment) => (outside ? find(segmentTail[segment]!) : -1))
}

/** Returns true when the open roads of an island lead from one point to the other, whatever turns it takes. */
function leads(graph: Graph, islandOf: readonly number[], start: Place, goal: Place): boolean {
  const { segmentTail, segmentHead, linkSpeed } = graph
  const endOf = (link: number) => ((link & 1) === 0 ? segmentHead : segmentTail)[link >>> 1]!
  const own = islandOf.flatMap((island, segment) =>
    island === start.island ? [segment * 2, segment * 2 + 1] : [],
  )
  const open = own.filter((link) => linkSpeed[link]! > 0)
  const seen = new Set(open.filter((link) => link >>> 1 === start.segment))
  for (const link of seen) for (const next of open) if (endOf(next ^ 1) === endOf(link)) seen.add(next)
  // on the same road: behind the start on a one-way road only a way round leads there, which is not looked for
  if (start.segment === goal.segment)
    return linkSpeed[start.segment * 2 + (goal.share >= start.share ? 0 : 1)]! > 0
  return [...seen].some((link) => link >>> 1 === goal.segment)
}

function pointOn(graph: Graph, segment: number, share: number): Lonlat {
  const line = cutLine(graph, segment, false, undefined, undefined)
  const at = Math.min(line.length - 2, Math.floor(share * (line.length - 1)))
  const part = share * (line.length - 1) - at
  const [[ax, ay], [bx, by]] = [line[at]!, line[at + 1]!]
  return [ax + (bx - ax) * part, ay + (by - ay) * part]
}

void main()
