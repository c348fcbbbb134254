import type { Config } from '../config/config.js'
import { overlayBytes } from '../risk/build-overlay.js'
import { addCellWkb, type CellSet, createCellSet } from '../risk/cell-set.js'
import { createLayer } from '../risk/layer.js'
import type { LayHelpers } from '../risk/shared-lay.js'
import { addTimedCell, createTimedCells, type TimedCells } from '../risk/timed-cells.js'
import { unknownTheme } from '../route-answer/errors.js'
import type { Overlay } from '../routing/search/overlay.js'
import type { SlicedTask } from '../routing/search/sliced-task.js'
import type { LoaderTable, Span } from '../storage/tables.js'
import { holdsLevels, themesOf, themeTableNames } from '../storage/themes.js'
import { throwIfCancelled, type Work } from '../worker/host.js'
import { createByteCache } from './byte-cache.js'
import type { LoadedMap } from './maps.js'
import type { ProfileRequest } from './requests.js'
import { createSharedTasks } from './shared-tasks.js'
import { type Slot, slotAt } from './slots.js'
import type { ThemeReader } from './theme-reader.js'

/** Share of `routing.overlayCacheBytes` for the last overlay of each theme, which updates start from. */
const LAYER_SHARE = 1 / 4

/** A theme in the present state of its table. */
export interface Theme {
  readonly table: LoaderTable
  readonly version: number
  /**
   * instants at which cells begin or end, ascending; undefined = too many to list: a slot is one instant then
   */
  readonly changes: readonly bigint[] | undefined
}

/** Overlay of a theme on a map, and the slot in which it is valid. */
export interface ThemeOverlay {
  readonly overlay: Overlay
  /** equal keys mean equal overlays */
  readonly key: string
  readonly slot: Slot
}

/** Key of an overlay in the cache, and the slot in which it is valid. */
type OverlayPlace = Pick<ThemeOverlay, 'key' | 'slot'>

/** Overlays of risk themes on maps, cached up to `routing.overlayCacheBytes`. */
export interface Themes {
  /** Runs a function in one read transaction, so that all it reads is of one state of the tables. */
  inSnapshot<T>(work: () => T): T
  /** Runs work that reads some themes, as `ThemeReader.withRows` does; without themes no database is opened. */
  withRows<T>(themes: readonly string[], work: () => Promise<T>): Promise<T>
  /** Announces instants at which the work reads themes, as `ThemeReader.expectInstants` does. */
  expectInstants(instantsUs: readonly bigint[]): void
  /** @throws AppError UNKNOWN_THEME */
  find(theme: string): Theme
  /** @param owner who asked, and whose share of the cache the overlay takes */
  overlayOf(theme: Theme, map: LoadedMap, instantUs: bigint, owner: string): ThemeOverlay
  /** Returns true when `overlayOf` would find the overlay in the cache. @throws AppError UNKNOWN_THEME */
  isReady(name: string, map: LoadedMap, instantUs: bigint): boolean
  /**
   * Makes the overlay that `overlayOf` will return, unless it is there. Other calls are answered meanwhile: a
   * theme may have ten thousand cells.
   *
   * @throws AppError UNKNOWN_THEME, CANCELLED
   */
  prepare(
    name: string,
    map: LoadedMap,
    instantUs: bigint,
    work: Pick<Work, 'cancel' | 'owner'>,
  ): Promise<void>
  /** Returns the cells of a theme that are valid at some time of a span, with their times. */
  timedCellsOf(theme: Theme, span: Span): TimedCells
  /** Forgets every overlay on a map. @param generation of the map */
  forget(generation: number): void
  /** Returns figures for metrics. */
  stats(): { overlayBytes: number; overlayCount: number; clampedLevels: number; unreadableCells: number }
}

/**
 * @param openReader called at the first use: a gateway without risk opens no database. Undefined = no data
 *   yet
 * @param helpers other threads that share the laying of many cells
 */
export function openThemes(
  config: Config,
  openReader: () => ThemeReader | undefined,
  helpers?: LayHelpers,
): Themes {
  const { overlayCacheBytes } = config.routing
  const { levelColumn } = config.riskmap
  const overlays = createByteCache<ThemeOverlay>(overlayCacheBytes * (1 - LAYER_SHARE))
  const layers: Parameters<typeof createLayer>[0] & { deleteSuffix(suffix: string): void } = createByteCache(
    overlayCacheBytes * LAYER_SHARE,
  )
  const layer = createLayer(layers, helpers)
  const counts = { clampedLevels: 0, unreadableCells: 0 }
  let opened: ThemeReader | undefined
  const reader = (): ThemeReader | undefined => {
    opened ??= openReader()
    return opened
  }
  const changesNow = createChangeCache((tableId) => overlays.deletePrefix(`${tableId}:`))

  const count = (cells: CellSet): void => {
    counts.clampedLevels += cells.clampedCount
    counts.unreadableCells += cells.unreadableCount
  }
  const cellsOf = ({ table }: Theme, instantUs: bigint): CellSet => {
    const cells = createCellSet()
    reader()?.readCells(table, levelColumn, instantUs, (wkb, level) => addCellWkb(cells, wkb, level))
    count(cells)
    return cells
  }

  const reads = createSnapshots(reader, config.riskmap, changesNow)
  const keep = (overlay: Overlay, { key, slot }: OverlayPlace, owner: string): ThemeOverlay => {
    const made = { overlay, key, slot }
    overlays.set(key, made, overlayBytes(overlay), owner)
    return made
  }
  const runShared = createSharedTasks()

  return {
    ...reads,
    overlayOf(theme, map, instantUs, owner) {
      const place = placeOf(theme, map, instantUs)
      const known = overlays.get(place.key)
      if (known !== undefined) return known
      return keep(layer.lay(layerKey(theme, map), map.graph, cellsOf(theme, instantUs)), place, owner)
    },
    isReady: (name, map, instantUs) =>
      overlays.get(placeOf(reads.find(name), map, instantUs).key) !== undefined,
    prepare(name, map, instantUs, work) {
      function* make(theme: Theme, place: OverlayPlace, cells: CellSet): SlicedTask<void> {
        const isEnded = () => throwIfCancelled(work)
        keep(yield* layer.laySliced(layerKey(theme, map), map.graph, cells, isEnded), place, work.owner)
      }
      const begin = (isRunning: (key: string) => boolean) =>
        reads.inSnapshot(() => {
          const theme = reads.find(name)
          const place = placeOf(theme, map, instantUs)
          const { key } = place
          if (overlays.get(key) !== undefined) return undefined
          return { key, task: isRunning(key) ? undefined : make(theme, place, cellsOf(theme, instantUs)) }
        })
      return runShared(begin, work)
    },
    timedCellsOf({ table }, span) {
      const timed = createTimedCells(span.fromUs)
      reader()?.readTimedCells(table, levelColumn, span, (wkb, level, startUs, endUs) =>
        addTimedCell(timed, wkb, level, startUs, endUs),
      )
      count(timed.cells)
      return timed
    },
    forget(generation) {
      overlays.deleteSuffix(`:${generation}`)
      layers.deleteSuffix(`:${generation}`)
    },
    stats: () => ({ overlayBytes: overlays.bytes(), overlayCount: overlays.size(), ...counts }),
  }
}

/** Creates the functions that read themes. Within a snapshot a theme is looked up once: its state cannot change. */
function createSnapshots(
  reader: () => ThemeReader | undefined,
  riskmap: Config['riskmap'],
  changesOf: (source: ThemeReader, table: LoaderTable, version: number) => bigint[] | undefined,
): Pick<Themes, 'inSnapshot' | 'withRows' | 'expectInstants' | 'find'> {
  // of the snapshot that is being read: name → theme
  let found: Map<string, Theme> | undefined
  return {
    inSnapshot(work) {
      const source = reader()
      if (source === undefined || found !== undefined) return work()
      found = new Map()
      try {
        return source.inSnapshot(work)
      } finally {
        found = undefined
      }
    },
    withRows(names, work) {
      const source = names.length === 0 ? undefined : reader()
      if (source === undefined) return work()
      const tables = names.flatMap((name) => themeTableNames(riskmap, name))
      return source.withRows(tables, work)
    },
    expectInstants: (instantsUs) => reader()?.expectInstants(instantsUs),
    find(name) {
      const theme = found?.get(name) ?? findTheme(reader(), riskmap, name, changesOf)
      found?.set(name, theme)
      return theme
    },
  }
}

/**
 * Runs a function on one state of all themes of a request, so that an answer never mixes two states of the
 * tables. A request without themes opens no database.
 */
export function inSnapshot<T>(
  themes: Pick<Themes, 'inSnapshot'>,
  request: { readonly themes: readonly unknown[] },
  work: () => T,
): T {
  return request.themes.length === 0 ? work() : themes.inSnapshot(work)
}

/** Runs work that reads the themes of a request, as `ThemeReader.withRows` does. */
export function withRowsOf<T>(
  { withRows }: Pick<Themes, 'withRows'>,
  { themes }: Pick<ProfileRequest, 'themes'>,
  work: () => Promise<T>,
): Promise<T> {
  return withRows(
    themes.map(([name]) => name),
    work,
  )
}

/**
 * Makes the overlays of all themes of a request, as `Themes.prepare` does.
 *
 * @throws AppError UNKNOWN_THEME, CANCELLED
 */
export async function prepareThemes(
  { prepare }: Pick<Themes, 'prepare'>,
  map: LoadedMap,
  { themes, startUs = 0n }: Pick<ProfileRequest, 'themes' | 'startUs'>,
  work: Pick<Work, 'cancel' | 'owner'>,
): Promise<void> {
  for (const [name] of themes) await prepare(name, map, startUs, work)
}

/**
 * Runs a function on one state of all themes of a request when their overlays are made, which most requests find
 * in the cache.
 *
 * @throws AppError UNKNOWN_THEME, CANCELLED
 */
export async function readPrepared<T>(
  themes: Pick<Themes, 'inSnapshot' | 'isReady' | 'prepare'>,
  map: LoadedMap,
  request: Pick<ProfileRequest, 'themes' | 'startUs'>,
  work: Pick<Work, 'cancel' | 'owner'>,
  read: () => T,
): Promise<T> {
  const { startUs = 0n } = request
  const now = inSnapshot(themes, request, () => {
    const isReady = request.themes.every(([name]) => themes.isReady(name, map, startUs))
    return isReady ? { value: read() } : undefined
  })
  if (now !== undefined) return now.value
  await prepareThemes(themes, map, request, work)
  return inSnapshot(themes, request, read)
}

/** @throws AppError UNKNOWN_THEME */
function findTheme(
  source: ThemeReader | undefined,
  riskmap: Config['riskmap'],
  name: string,
  changesOf: (source: ThemeReader, table: LoaderTable, version: number) => bigint[] | undefined,
): Theme {
  const { levelColumn } = riskmap
  const table = themeTableNames(riskmap, name)
    .map((dataName) => source?.findTable(dataName))
    .find((one) => one !== undefined && holdsLevels(one, levelColumn))
  const version = table && source?.versionOf(table)
  if (source === undefined || table === undefined || version === undefined) {
    const missing = source?.findTable(name) === undefined ? undefined : levelColumn
    throw unknownTheme(name, missing, themesOf(source?.listTables() ?? [], riskmap))
  }
  return { table, version, changes: changesOf(source, table, version) }
}

/** Returns the slot of an instant, and the key of the overlay in it. */
function placeOf({ table, version, changes }: Theme, map: LoadedMap, instantUs: bigint): OverlayPlace {
  const slot =
    changes === undefined ? { fromUs: instantUs, untilUs: instantUs + 1n } : slotAt(changes, instantUs)
  return { slot, key: `${table.tableId}:${version}:${slot.fromUs ?? ''}:${map.generation}` }
}

function layerKey({ table }: Theme, { generation }: LoadedMap): string {
  return `${table.tableId}:${generation}`
}

/**
 * Creates a cache of the change times of tables, one version each.
 *
 * @param onNewVersion called when a newer version of a table is seen: what was computed from older ones is
 *   outdated
 */
function createChangeCache(onNewVersion: (tableId: number) => void) {
  const cached = new Map<number, { version: number; changes: bigint[] | undefined }>()
  return (reader: ThemeReader, table: LoaderTable, version: number): bigint[] | undefined => {
    const known = cached.get(table.tableId)
    if (known?.version === version) return known.changes
    onNewVersion(table.tableId)
    const changes = reader.changeTimes(table)
    cached.set(table.tableId, { version, changes })
    return changes
  }
}
