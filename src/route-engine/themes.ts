import type { Config } from '../config.js'
import { AppError } from '../errors.js'
import { overlayBytes } from '../risk/build-overlay.js'
import { addCellWkb, type CellSet, createCellSet } from '../risk/cell-set.js'
import { createLayer } from '../risk/layer.js'
import { addTimedCell, createTimedCells, type TimedCells } from '../risk/timed-cells.js'
import { type ByteCache, createByteCache } from '../routing/search/byte-cache.js'
import type { Overlay } from '../routing/search/overlay.js'
import { type Slot, slotAt } from '../routing/search/slots.js'
import type { Db } from '../storage/sqlite/connection/database.js'
import { dataVersionOf, findTable } from '../storage/sqlite/tables/catalog.js'
import { readCells } from '../storage/sqlite/tables/cells.js'
import { changeTimes } from '../storage/sqlite/tables/changes.js'
import { readTimedCells } from '../storage/sqlite/tables/timed-cells.js'
import type { LoaderTable } from '../storage/tables.js'
import { findThemeTable } from '../storage/themes.js'
import type { LoadedMap } from './maps.js'

/** Part of `routing.overlayCacheBytes` for what was laid last of each theme, to lay changes on it. */
const LAYER_SHARE = 1 / 4

/** A theme as its table stands now. */
export interface Theme {
  readonly table: LoaderTable
  readonly version: number
  /** instants at which cells begin or end, ascending; undefined when there are too many: a slot is a single
   * instant then */
  readonly changes: readonly bigint[] | undefined
}

export interface ThemeOverlay {
  readonly overlay: Overlay
  /** equal keys mean equal overlays */
  readonly key: string
  readonly slot: Slot
}

/** Risk themes laid on maps, kept while they fit `routing.overlayCacheBytes`. */
export interface Themes {
  /**
   * Runs `work` in one read transaction, so that all it reads is of one moment.
   */
  reading<T>(work: () => T): T
  /** @throws AppError UNKNOWN_THEME */
  find(theme: string): Theme
  overlayOf(theme: Theme, map: LoadedMap, instantUs: bigint): ThemeOverlay
  /** cells of a theme that are valid at some time of a span, with their times */
  timedCellsOf(theme: Theme, span: { fromUs: bigint; untilUs: bigint }): TimedCells
  /** for metrics */
  stats(): { overlayBytes: number; overlayCount: number; clampedLevels: number; unreadableCells: number }
}

/** @param db opened at the first use: a gateway without risk never needs it. Undefined = there is no data yet */
export function openThemes(config: Config, openDb: () => Db | undefined): Themes {
  const { overlayCacheBytes } = config.routing
  const overlays: ByteCache<ThemeOverlay> = createByteCache(overlayCacheBytes * (1 - LAYER_SHARE))
  const layer = createLayer(overlayCacheBytes * LAYER_SHARE)
  const changesOf = new Map<number, { version: number; changes: bigint[] | undefined }>()
  const counts = { clampedLevels: 0, unreadableCells: 0 }
  let db: Db | undefined
  const reader = (): Db | undefined => {
    db ??= openDb()
    return db
  }

  /** What was read of an older version of a table is dropped as soon as a newer one is seen. */
  const changesNow = (handle: Db, table: LoaderTable, version: number): bigint[] | undefined => {
    const known = changesOf.get(table.tableId)
    if (known?.version === version) return known.changes
    overlays.deletePrefix(`${table.tableId}:`)
    const changes = changeTimes(handle, table)
    changesOf.set(table.tableId, { version, changes })
    return changes
  }

  const count = (cells: CellSet): void => {
    counts.clampedLevels += cells.clampedCount
    counts.unreadableCells += cells.unreadableCount
  }

  const cellsOf = (theme: Theme, instantUs: bigint): CellSet => {
    const cells = createCellSet()
    const handle = reader()
    if (handle === undefined) return cells
    readCells(handle, theme.table, config.riskmap.levelColumn, instantUs, (wkb, level) => {
      addCellWkb(cells, wkb, level)
    })
    count(cells)
    return cells
  }

  return {
    reading: (work) => {
      const handle = reader()
      return handle === undefined ? work() : handle.transaction(work).deferred()
    },
    find(name) {
      const handle = reader()
      const find = (dataName: string) => (handle === undefined ? undefined : findTable(handle, dataName))
      const table = findThemeTable(find, config.riskmap, name)
      const version = handle === undefined || table === undefined ? undefined : dataVersionOf(handle, table)
      if (handle === undefined || table === undefined || version === undefined) {
        throw unknownTheme(name, find(name) === undefined ? undefined : config.riskmap.levelColumn)
      }
      return { table, version, changes: changesNow(handle, table, version) }
    },
    overlayOf(theme, map, instantUs) {
      const { table, version, changes } = theme
      const slot =
        changes === undefined ? { fromUs: instantUs, untilUs: instantUs + 1n } : slotAt(changes, instantUs)
      const key = `${table.tableId}:${version}:${slot.fromUs ?? ''}:${map.generation}`
      const known = overlays.get(key)
      if (known !== undefined) return known
      const overlay = layer.lay(`${table.tableId}:${map.generation}`, map.graph, cellsOf(theme, instantUs))
      const made = { overlay, key, slot }
      overlays.set(key, made, overlayBytes(overlay))
      return made
    },
    timedCellsOf(theme, span) {
      const timed = createTimedCells(span.fromUs)
      const handle = reader()
      if (handle === undefined) return timed
      const { levelColumn } = config.riskmap
      readTimedCells(handle, theme.table, levelColumn, span, (wkb, level, startUs, endUs) => {
        addTimedCell(timed, wkb, level, startUs, endUs)
      })
      count(timed.cells)
      return timed
    },
    stats: () => ({ overlayBytes: overlays.bytes(), overlayCount: overlays.size(), ...counts }),
  }
}

/** @param missing the column that the theme's table ought to have, undefined = there is no table */
function unknownTheme(name: string, missing: string | undefined): AppError {
  const theme = name.slice(0, 100)
  const found =
    missing === undefined ? 'which no table holds' : `whose table has no integer column ${missing}`
  return new AppError(
    'UNKNOWN_THEME',
    { theme },
    { message: `Found theme ${JSON.stringify(theme)}, ${found}` },
  )
}
