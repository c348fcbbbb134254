// One process of the routing bench, told by its first argument what to measure; figures leave as lines of JSON.
import { copyFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { loadGraphFile } from '../../src/files/graph-file-loader.js'
import { buildMap } from '../../src/mapbuild/build-map.js'
import type { TurnCosts } from '../../src/mapbuild/graph/turn-prices.js'
import { writeGraphFile } from '../../src/mapbuild/graph/write-graph.js'
import { createProfile } from '../../src/routing/search/profile.js'
import { memoryOfNgraph, memoryOfOurs } from './routing-memory.js'
import { measureRows } from './routing-rows.js'
import {
  createRandom,
  mapPath,
  now,
  openWorld,
  type Question,
  randomPoint,
  riskAreas,
  times,
} from './routing-world.js'

const [mode = '', dataDir = '', name = '', argument = ''] = process.argv.slice(2)
const AT = '2026-06-01 00:00:00+00'
const modes: Record<string, () => unknown> = {
  build: buildIt,
  arcs: writeArcs,
  rows: () => measureRows(dataDir, name, JSON.parse(argument), emit),
  load: loadToFirstAnswer,
  serve: serveWithOneProfile,
  'memory-ours': () => emit({ mb: memoryOfOurs(mapPath(dataDir, name)) }),
  'memory-ngraph': () => emit({ mb: memoryOfNgraph(`${mapPath(dataDir, name)}.arcs`) }),
  pairs: writePairs,
}

function emit(figures: unknown): void {
  process.stdout.write(`${JSON.stringify(figures)}\n`)
}

/** Builds a map as `map build` does, without its words. */
async function buildIt(): Promise<void> {
  const startedAt = performance.now()
  // as the option --turn-costs of `map build` has it
  const turnCosts = process.env.BENCH_TURN_COSTS as TurnCosts | 'none' | undefined
  const options = { input: argument, profile: 'car', country: null, turnCosts } as const
  const parts = await buildMap({ ...options, name, builtBy: 'bench' })
  const bytes = writeGraphFile(mapPath(dataDir, name), parts)
  const { nodeCount, arcCount } = parts
  const wallS = (performance.now() - startedAt) / 1000
  const { user, system } = process.cpuUsage()
  const peakMb = process.resourceUsage().maxRSS / 1024
  emit({ nodeCount, arcCount, bytes, wallS, cpuS: (user + system) / 1e6, peakMb })
}

/** Writes a file for ngraph, whose process holds nothing of ours: counts, then tail, head and cost of each arc. */
function writeArcs(): void {
  const graph = loadGraphFile(mapPath(dataDir, name))
  const { weights } = createProfile(graph)
  const plain = new Int32Array(2 + graph.arcCount * 3)
  plain.set([graph.nodeCount, graph.arcCount])
  for (let tail = 0; tail < graph.nodeCount; tail++) {
    for (let arc = graph.firstOut[tail]!; arc < graph.firstOut[tail + 1]!; arc++) {
      plain.set([tail, graph.head[arc]!, weights[arc]!], 2 + arc * 3)
    }
  }
  writeFileSync(`${mapPath(dataDir, name)}.arcs`, Buffer.from(plain.buffer))
}

/** A process that has just started: reading, checking, the hierarchy, free flow, the answer. */
async function loadToFirstAnswer(): Promise<void> {
  const question = JSON.parse(argument) as Question
  const startedAt = now()
  const world = openWorld(dataDir)
  await world.ask(question)
  emit({ ms: now() - startedAt })
  world.close()
}

/** Measures the memory that a process that serves a tiny map already, and is compiled, takes for a second map under one risk profile. */
async function serveWithOneProfile(): Promise<void> {
  const small = `${name}-small`
  const ownDir = path.join(dataDir, 'memory')
  rmSync(ownDir, { recursive: true, force: true })
  const world = openWorld(ownDir)
  await buildTo(mapPath(ownDir, small), small)
  world.reload()
  await drive(world, small)
  const beforeMb = settledMb()
  copyFileSync(mapPath(dataDir, name), mapPath(ownDir, name))
  world.reload()
  await drive(world, name)
  const afterMb = settledMb()
  const { arrayBuffers, heapUsed } = process.memoryUsage()
  emit({ mb: afterMb - beforeMb, arraysMb: arrayBuffers / 1e6, heapMb: heapUsed / 1e6 })
  world.close()
}

async function buildTo(file: string, small: string): Promise<void> {
  const parts = await buildMap({
    input: argument,
    profile: 'car',
    country: null,
    name: small,
    builtBy: 'bench',
  })
  writeGraphFile(file, parts)
}

/** Free flow and one risk profile, 1000 answers. */
async function drive(world: ReturnType<typeof openWorld>, mapName: string): Promise<void> {
  const { graph } = world.map(mapName)
  const random = createRandom(7)
  const theme = `risk_${mapName.replaceAll('-', '_')}`
  await world.putCells(world.addTheme(theme), riskAreas(graph, 'discs', random))
  for (let i = 0; i < 1000; i++) {
    const [from, to] = [randomPoint(graph, random), randomPoint(graph, random)]
    const themes: Question['themes'] = i % 2 === 0 ? {} : { [theme]: times(11) }
    const question = {
      start_lonlat: from.lonlat,
      goal_lonlat: to.lonlat,
      start_datetime: AT,
      themes,
      map: mapName,
    }
    await world.ask(question).catch(() => undefined) // a pair without a way
  }
}

function settledMb(): number {
  for (let i = 0; i < 5; i++) globalThis.gc?.()
  return process.memoryUsage().rss / 1e6
}

/** Pairs with our lengths and times, for another router to answer. */
async function writePairs(): Promise<void> {
  const world = openWorld(dataDir)
  const { graph } = world.map(name)
  const random = createRandom(11)
  const pairs: { from: unknown; to: unknown; lengthM: number; timeS: number }[] = []
  while (pairs.length < Number(argument)) {
    const [from, to] = [randomPoint(graph, random).lonlat, randomPoint(graph, random).lonlat]
    const question = { start_lonlat: from, goal_lonlat: to, start_datetime: AT, themes: {} }
    const text = await world.ask(question).catch(() => undefined)
    if (text === undefined) continue
    const { length, time } = JSON.parse(text.toString()) as { length: number; time: number }
    pairs.push({ from, to, lengthM: length, timeS: time * 3600 })
  }
  writeFileSync(`${mapPath(dataDir, name)}.pairs.json`, JSON.stringify(pairs))
  world.close()
}

void modes[mode]?.()
