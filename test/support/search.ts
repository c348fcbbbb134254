import path from 'node:path'
import type { RoutingContext } from '../../src/api/routing/index.js'
import { loadConfig, type Settings } from '../../src/config/config.js'
import { layoutOf, makeDirectories } from '../../src/files/layout.js'
import { createThemeReader } from '../../src/gateway/workers/theme-reader.js'
import { writeGraphFile } from '../../src/mapbuild/graph/write-graph.js'
import { searchCalls } from '../../src/route-engine/calls.js'
import { createEngine } from '../../src/route-engine/engine.js'
import { openMaps } from '../../src/route-engine/maps.js'
import { createPrefetcher } from '../../src/route-engine/prefetch.js'
import { createProfiles } from '../../src/route-engine/profiles.js'
import type { SearchParts } from '../../src/route-engine/search-parts.js'
import type { ThemeReader } from '../../src/route-engine/theme-reader.js'
import { openThemes } from '../../src/route-engine/themes.js'
import { coordinatesOf, rankNodes } from '../../src/routing/cch/order.js'
import type { Method } from '../../src/rpc/define-method.js'
import type { RawJson } from '../../src/rpc/result.js'
import { openDataReader } from '../../src/storage/sqlite/connection/data-db.js'
import type { LoaderTable } from '../../src/storage/tables.js'
import { adminCaller } from './caller.js'
import { makeGraph, type Network } from './make-graph.js'
import { rawText } from './read-stream.js'
import { openTables, type Tables } from './tables.js'
import { workOf } from './work.js'

type TestLike = { testdir(): string; teardown(work: () => unknown): unknown }

/** The search worker without its thread, over a data directory of the test. */
export interface TestSearch {
  readonly parts: SearchParts
  readonly tables: Tables
  readonly mapsDir: string
  /** answers a call as the thread does, with the JSON parsed */
  call(name: string, request: unknown, cancel?: Int32Array): unknown
  /** runs a method of `api/routing` on top of it. @returns JSON text of its result */
  askText(method: Method<RoutingContext>, params: unknown): Promise<string>
  /** the same, parsed */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  ask(method: Method<RoutingContext>, params: unknown): Promise<any>
  addMap(name: string, network: Network): void
  /** registers a theme's table with a column `risk` */
  addTheme(dataName: string): LoaderTable
  putCells(table: LoaderTable, cells: readonly Cell[]): Promise<void>
}

/** A rectangle of a level, valid for a span of time. */
export interface Cell {
  /** west, south, east, north */
  box: [number, number, number, number]
  risk: number | null
  start?: string
  end?: string
}

/**
 * @param isOrdered false = maps without the order that fast searches need
 * @param reader of themes; that of the tables of this search unless given
 */
export function openSearch(
  t: TestLike,
  maps: Record<string, Network>,
  settings: Settings = {},
  isOrdered = true,
  reader?: ThemeReader,
): TestSearch {
  const dataDir = path.join(t.testdir(), 'data')
  const loaded = loadConfig(null, {}, { ...settings, dataDir })
  if ('faults' in loaded) throw new Error(JSON.stringify(loaded.faults))
  const { config } = loaded
  const layout = layoutOf(dataDir)
  makeDirectories(layout)
  const addMap = (name: string, network: Network) => {
    const graph = makeGraph(network)
    const nodeRank = isOrdered ? rankNodes(graph, coordinatesOf(graph, graph.meta.bbox)) : undefined
    writeGraphFile(path.join(layout.mapsDir, `${name}.graph`), { ...graph, nodeRank })
  }
  for (const [name, network] of Object.entries(maps)) addMap(name, network)
  const tables = openTables(layout.dataDb)
  const shelf = openMaps(config, layout)
  const db = openDataReader(layout.dataDb)
  const themes = openThemes(config, () => reader ?? createThemeReader(db))
  const prefetcher = createPrefetcher({
    maps: shelf,
    themes,
    slotS: config.routing.riskSlotS,
    onFault: (error) => {
      throw error
    },
  })
  const engine = createEngine()
  const profiles = createProfiles(config, { themes, engine, prefetcher })
  const parts = { config, maps: shelf, themes, engine, profiles }
  profiles.serve(shelf)
  const calls = searchCalls(parts)
  t.teardown(() => {
    prefetcher.stop()
    db.close()
    tables.data.close()
  })
  const answer = (
    name: string,
    request: unknown,
    cancel: Int32Array = new Int32Array(new SharedArrayBuffer(4)),
  ) => calls[name]?.(structuredClone(request), workOf({ cancel }))
  const askText = async (method: Method<RoutingContext>, params: unknown) => {
    const signal = new AbortController().signal
    const searcher = { call: async (name: string, request: unknown) => answer(name, request) }
    const context = {
      caller: adminCaller,
      signal,
      config,
      timeZoneMin: 540,
      searcher,
    } as unknown as RoutingContext
    return rawText((await method.call(params, context)) as RawJson)
  }
  return {
    parts,
    tables,
    askText,
    mapsDir: layout.mapsDir,
    addMap,
    call(name, request, cancel) {
      const result = answer(name, request, cancel)
      return typeof result === 'string' ? JSON.parse(result) : result
    },
    async ask(method, params) {
      const value: unknown = JSON.parse(await askText(method, params))
      method.result.parse(value)
      return value
    },
    addTheme: (dataName) =>
      tables.register(
        dataName,
        [
          { name: 'id', udtName: 'int4' },
          { name: 'risk', udtName: 'int4' },
        ],
        ['id'],
      ),
    async putCells(table, cells) {
      const first = (await tables.read(table)).length
      await tables.put(
        table,
        cells.map(({ box: [west, south, east, north], risk, start, end }, i) => ({
          type: 'Feature',
          geometry: {
            type: 'Polygon',
            coordinates: [[[west, south], [east, south], [east, north], [west, north], [west, south]]], // biome-ignore format: ring
          },
          properties: { id: first + i, risk, start_datetime: start ?? null, end_datetime: end ?? null },
        })),
      )
    },
  }
}
