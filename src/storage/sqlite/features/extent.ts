import { reprojectBox, SRID_WGS84 } from '../../../geo/reproject.js'
import type { Bbox } from '../../../geo/types.js'
import type { FeatureExtent } from '../../features.js'
import type { LoaderTable } from '../../tables.js'
import { type Db, identifier, statement } from '../connection/database.js'
import { indexSql } from '../tables/ddl.js'
import { NOWHERE, readPacked, UNBOUNDED_DAY } from '../tables/entries.js'
import type { TableState } from '../versions/versioned-table.js'

const US_PER_DAY = 86_400_000_000n
/** Beyond every coordinate: only the box of rows without a location lies there. */
const FAR = NOWHERE / 2

/** Returns the extent of a loader table from the boxes of its index, one for about 250 rows. */
export function extentOfTable(db: Db, table: LoaderTable): FeatureExtent {
  type Run = [id: number, west: number, east: number, south: number, north: number, from: number, to: number]
  const runs = statement<Run>(
    db,
    `SELECT run_id, min_lng, max_lng, min_lat, max_lat, start_day, end_day FROM ${indexSql(table)}`,
  ).raw()
  const box = emptyBox()
  let [from, to] = [Infinity, -Infinity]
  const mixed: number[] = []
  for (const [run, west, east, south, north, fromDay, toDay] of runs.iterate()) {
    from = Math.min(from, fromDay)
    to = Math.max(to, toDay)
    if (east < FAR) grow(box, west, south, east, north)
    else if (west < FAR) mixed.push(run) // no test: cutRuns gives rows without a location runs of their own
  }
  const read = statement<Uint8Array>(db, `SELECT entries FROM ${indexSql(table)} WHERE run_id = ?`).pluck()
  // no test: see `mixed` above
  for (const run of mixed) growByEntries(box, read.get(run))
  return {
    bbox: box[0] <= box[2] ? box : undefined,
    interval: from <= to ? [startOf(from), endOf(to)] : undefined,
  }
}

/**
 * Returns the extent of a state, in WGS 84. For a dataset it is read from the root of the R*Tree, whose boxes contain
 * all others: one page, whatever the size.
 *
 * @param slot position of the geometry column, undefined for none
 */
export function extentOfState(db: Db, state: TableState, slot: number | undefined): FeatureExtent {
  const { table } = state
  if (table.loader !== undefined) return extentOfTable(db, table.loader)
  if (slot === undefined) return { bbox: undefined, interval: undefined }
  const box = emptyBox()
  const trees = state.tx === 'current' ? ['rtree'] : ['rtree', 'past']
  for (const tree of trees) {
    const node = identifier(`${table.tableName}_${tree}_${slot}_node`)
    growByRoot(box, statement<Uint8Array>(db, `SELECT data FROM ${node} WHERE nodeno = 1`).pluck().get())
  }
  const srid = state.columns[slot]?.srid ?? SRID_WGS84 // no test: every geometry column has a system
  return {
    bbox: box[0] <= box[2] ? reprojectBox(box, srid, SRID_WGS84) : undefined,
    interval: undefined,
  }
}

/**
 * Extends a box by the cells of an R*Tree node. A node is its depth and its number of cells (2 bytes each,
 * big endian), then the cells: an id (8 bytes) and four floats.
 *
 * @see https://sqlite.org/rtree.html#the_on_disk_format
 */
function growByRoot(box: Bbox, node: Uint8Array | undefined): void {
  if (node === undefined) return // no test: every R*Tree has a root
  const view = new DataView(node.buffer, node.byteOffset, node.byteLength)
  const count = view.getUint16(2)
  for (let cell = 0; cell < count; cell++) {
    const at = 4 + cell * 24 + 8
    grow(box, view.getFloat32(at), view.getFloat32(at + 8), view.getFloat32(at + 4), view.getFloat32(at + 12))
  }
}

/** Extends a box by the rows of a run that holds rows with and without a location. */
function growByEntries(box: Bbox, packed: Uint8Array | undefined): void {
  if (packed === undefined) return
  const { boxes, count } = readPacked(packed)
  const at = (part: number, row: number) => boxes[part * count + row] as number
  for (let row = 0; row < count; row++) {
    if (at(1, row) < FAR) grow(box, at(0, row), at(2, row), at(1, row), at(3, row))
  }
}

function emptyBox(): Bbox {
  return [Infinity, Infinity, -Infinity, -Infinity]
}

function grow(box: Bbox, west: number, south: number, east: number, north: number): void {
  box[0] = Math.min(box[0], west)
  box[1] = Math.min(box[1], south)
  box[2] = Math.max(box[2], east)
  box[3] = Math.max(box[3], north)
}

/** The index counts days in single precision, so the bounds are whole days. */
function startOf(day: number): bigint | null {
  return day <= -UNBOUNDED_DAY ? null : BigInt(Math.floor(day)) * US_PER_DAY
}

function endOf(day: number): bigint | null {
  return day >= UNBOUNDED_DAY ? null : BigInt(Math.ceil(day)) * US_PER_DAY
}
