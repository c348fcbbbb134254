// A gateway's search side without HTTP and without its thread: maps, loader tables with risk cells, and the methods on top.

import path from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { RoutingContext } from '../../src/api/routing/context.js'
import { dijkstra } from '../../src/api/routing/dijkstra.js'
import { matrix } from '../../src/api/routing/matrix.js'
import { type Config, loadConfig } from '../../src/config/config.js'
import { isAppError } from '../../src/errors.js'
import { layoutOf, makeDirectories } from '../../src/files/layout.js'
import { helperThreads } from '../../src/gateway/workers/helper-threads.js'
import { createThemeReader } from '../../src/gateway/workers/theme-reader.js'
import type { Polygon, Position } from '../../src/geo/types.js'
import { searchCalls } from '../../src/route-engine/calls.js'
import { createEngine } from '../../src/route-engine/engine.js'
import { type LoadedMap, openMaps } from '../../src/route-engine/maps.js'
import { createPrefetcher } from '../../src/route-engine/prefetch.js'
import { createProfiles } from '../../src/route-engine/profiles.js'
import { openThemes } from '../../src/route-engine/themes.js'
import type { Graph } from '../../src/routing/graph/graph.js'
import { localScale } from '../../src/routing/graph/local-scale.js'
import type { End } from '../../src/routing/search/dijkstra.js'
import { openDataReader } from '../../src/storage/sqlite/connection/data-db.js'
import type { LoaderTable } from '../../src/storage/tables.js'
import { openTables } from '../../test/support/tables.js'

export type Lonlat = readonly [lng: number, lat: number]

/** Question of `routing.dijkstra`, wire names. */
export interface Question {
  start_lonlat: Lonlat
  goal_lonlat: Lonlat
  start_datetime: string
  themes: Record<string, readonly number[]>
  via?: readonly Lonlat[]
  reorder_waypoints?: boolean
  depart?: 'time_dependent'
  map?: string
}

export interface Answer {
  geojson: { features: { properties: { edge_id: number; length: number; waypoint: boolean } }[] }
  total_cost: number
  length: number
  time: number
  order_is_optimal?: boolean
  via_order?: number[]
}

export interface World {
  readonly config: Config
  readonly layout: ReturnType<typeof layoutOf>
  /** JSON text of the method's result, as the worker hands it over */
  ask(question: Question): Promise<Buffer>
  askMatrix(sources: readonly Lonlat[]): Promise<string>
  map(name: string): LoadedMap
  reload(): unknown
  addTheme(name: string): LoaderTable
  /** @param period start and end as datetimes; always valid without */
  putCells(
    table: LoaderTable,
    polygons: readonly Polygon[],
    period?: readonly [start: string | null, end: string | null],
  ): Promise<void>
  /** gets free flow ready, as the worker does when it starts and nobody calls */
  warm(): Promise<void>
  /** what guides searches over time: free flow's costs, from the hierarchy */
  potentialTo(map: LoadedMap, targets: readonly End[]): ((node: number) => number) | undefined
  close(): void
}

/** Level of every cell of the benches: sensitivities differ instead. */
export const LEVEL = 10

export function openWorld(dataDir: string): World {
  // FIELDGATE_ROUTING__THREADS=1 measures one thread
  const loaded = loadConfig(null, process.env, { dataDir })
  if ('faults' in loaded) throw new Error(JSON.stringify(loaded.faults))
  const { config } = loaded
  const layout = layoutOf(dataDir)
  makeDirectories(layout)
  const tables = openTables(layout.dataDb, 1000)
  const maps = openMaps(config, layout)
  const db = openDataReader(layout.dataDb)
  const helpers = helperThreads(config, path.resolve('dist/fieldgate.cjs'))
  const themes = openThemes(config, () => createThemeReader(db), helpers?.laying)
  const prefetcher = createPrefetcher({
    maps,
    themes,
    slotS: config.routing.riskSlotS,
    onFault: (error) => {
      throw error
    },
  })
  const engine = createEngine(helpers?.customising)
  const profiles = createProfiles(config, { themes, engine, prefetcher })
  const calls = searchCalls({ config, maps, themes, profiles, engine })
  const cancel = new Int32Array(new SharedArrayBuffer(4))
  const work = { cancel, owner: '', nextTurn, emit: () => undefined }
  const searcher = { call: async (name: string, request: unknown) => await calls[name]!(request, work) }
  const signal = new AbortController().signal
  const caller = { keyId: '' }
  const context = { caller, signal, config, timeZoneMin: 540, searcher } as unknown as RoutingContext
  const ids = new Map<LoaderTable, number>()
  return {
    config,
    layout,
    ask: async (question) => {
      const { text } = (await dijkstra.call([question], context)) as { text: Uint8Array }
      return Buffer.from(text.buffer, text.byteOffset, text.byteLength)
    },
    askMatrix: async (sources) => ((await matrix.call([{ sources }], context)) as { text: string }).text,
    map(name) {
      const map = maps.list().find((found) => found.name === name)
      if (map === undefined) throw new Error(`found no map ${name}: ${JSON.stringify(maps.faults())}`)
      return map.open()
    },
    reload: () => calls.reload!(null, work),
    addTheme: (name) =>
      tables.register(
        name,
        [
          { name: 'id', udtName: 'int4' },
          { name: 'risk', udtName: 'int4' },
        ],
        ['id'],
      ),
    async putCells(table, polygons, [start, end] = [null, null]) {
      const first = ids.get(table) ?? 0
      ids.set(table, first + polygons.length)
      const rows = polygons.map((geometry, i) => ({
        type: 'Feature',
        geometry,
        properties: { id: first + i, risk: LEVEL, start_datetime: start, end_datetime: end },
      }))
      await tables.put(table, rows)
    },
    potentialTo: (map, targets) => engine.potentialTo(map, targets),
    async warm() {
      for (const map of maps.list().map((served) => served.open())) {
        const profile = profiles.profileAt(map, { map: map.name, themes: [], startUs: 0n, owner: '' })
        await engine.prepare(profile.weights)
      }
    },
    close() {
      prefetcher.stop()
      db.close()
      tables.data.close()
    },
  }
}

/**
 * Milliseconds of a clock: of this thread's CPU time with `BENCH_CPU=1`, for a machine that others use meanwhile, of
 * time otherwise.
 */
export function now(): number {
  if (process.env.BENCH_CPU !== '1') return performance.now()
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/** Asks for a route. @returns false for a pair without a way between its points. @throws every other error */
export async function isFound(world: Pick<World, 'ask'>, question: Question): Promise<boolean> {
  try {
    await world.ask(question)
    return true
  } catch (error) {
    if (isAppError(error) && error.errorName === 'NO_ROUTE') return false
    throw error
  }
}

/** 11 sensitivities that multiply the cost of the benches' cells by a factor. */
export function times(factor: number): number[] {
  return [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, factor - 1]
}

export type Kind = 'scattered' | 'discs'

/** Some 5 % of the roads: small squares all over, or large discs. Their number goes with the map's size. */
export function riskAreas(graph: Graph, kind: Kind, random: () => number, share = 1): Polygon[] {
  const perMap = kind === 'scattered' ? 3000 : 12
  const count = Math.max(1, Math.round((perMap * share * graph.nodeCount) / 62_000))
  return Array.from({ length: count }, () =>
    kind === 'scattered' ? circle(graph, random, 40, 4) : circle(graph, random, 900, 48),
  )
}

/** A regular polygon around a random junction. */
export function circle(graph: Graph, random: () => number, radiusM: number, corners: number): Polygon {
  const junction = Math.floor(random() * graph.junctionCount)
  const [x, y] = [graph.junctionLngE7[junction]!, graph.junctionLatE7[junction]!]
  const { lngM, latM } = localScale(y)
  const ring = Array.from({ length: corners + 1 }, (_, i): Position => {
    const angle = ((i % corners) / corners) * 2 * Math.PI
    return [(x + (Math.cos(angle) * radiusM) / lngM) / 1e7, (y + (Math.sin(angle) * radiusM) / latM) / 1e7]
  })
  return { type: 'Polygon', coordinates: [ring] }
}

/** A random node, and a point some metres beside it, so that routes begin and end inside links. */
export function randomPoint(graph: Graph, random: () => number): { node: number; lonlat: Lonlat } {
  const node = Math.floor(random() * graph.nodeCount)
  const junction = graph.nodeJunction[node]!
  const lng = graph.junctionLngE7[junction]! / 1e7 + (random() - 0.5) * 0.0006
  const lat = graph.junctionLatE7[junction]! / 1e7 + (random() - 0.5) * 0.0004
  return { node, lonlat: [lng, lat] }
}

/** Numbers in [0, 1) from a seed. @see G. Marsaglia, "Xorshift RNGs", 2003 */
export function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
}

/** Where the bench keeps a map's file. */
export function mapPath(dataDir: string, name: string): string {
  return path.join(layoutOf(dataDir).mapsDir, `${name}.graph`)
}
